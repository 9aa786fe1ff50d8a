// What all plugins tell, and what Node tells of this process, as one page of text.
import type { Registry } from 'prom-client'
import { withTimeout } from '../../kernel/base/attribution.ts'
import type { Log } from '../../kernel/base/log.ts'
import type { Metric, Metrics } from '../../kernel/metrics.ts'
import type { Filled } from '../../kernel/slot.ts'
import { render } from './format.ts'

export type Scrape = () => Promise<readonly Buffer[]>

interface Options {
  readonly metrics: () => readonly Filled<Metrics>[]
  readonly log: Log
}

/** Who comes while one scrape runs gets its page: a loop of callers costs no more than one. */
export function openScrape({ metrics, log }: Options): Scrape {
  let own: Registry | null = null
  let running: Promise<readonly Buffer[]> | null = null

  async function scrape(): Promise<readonly Buffer[]> {
    const told = new Map<string, Metric[]>()
    for (const { by, value: tell } of metrics())
      try {
        for (const figure of await withTimeout(5, 'telling them', tell)) admit(figure, told)
      } catch (error) {
        log.error('metrics.not_told', `the figures of ${by} are missing: ${String(error)}`, { plugin: by })
      }
    const pieces: Buffer[] = []
    for await (const piece of render([...told.values()].flat())) pieces.push(piece)
    own ??= await openRegistry()
    const process = (await own.metrics()).replaceAll(/ Nan$/gm, ' NaN') // as the format spells it
    return [...pieces, Buffer.from(process)]
  }

  return () => {
    running ??= scrape().finally(() => {
      running = null
    })
    return running
  }
}

/** What a scraper would refuse would cost it the whole page. Two may tell of one figure, and then mean the same. */
function admit(figure: Metric, told: Map<string, Metric[]>): void {
  const { name, type, labels } = figure
  if (![name, ...labels].every(word => /^[a-zA-Z_]\w*$/.test(word)))
    throw new TypeError(`${name} {${labels}} is no name with labels`)
  const known = told.get(name) ?? []
  const [first] = known
  if (first && (first.type !== type || String(first.labels) !== String(labels)))
    throw new TypeError(`${name} is told as ${first.type} of ${first.labels}, too`)
  told.set(name, [...known, figure])
}

/** It watches the event loop and the collector: what nobody scrapes does not begin to. */
async function openRegistry(): Promise<Registry> {
  const { collectDefaultMetrics, Registry } = await import('prom-client')
  const register = new Registry()
  collectDefaultMetrics({ register })
  return register
}
