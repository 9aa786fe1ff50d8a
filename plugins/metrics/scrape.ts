// Collects the metrics of all plugins and of this process as one page of text.
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

/** Concurrent calls share one scrape, so that many scrapers cost no more than one. */
export function openScrape({ metrics, log }: Options): Scrape {
  let processMetrics: Registry | null = null
  let running: Promise<readonly Buffer[]> | null = null

  async function scrape(): Promise<readonly Buffer[]> {
    const byName = new Map<string, Metric[]>()
    for (const { by, value: collect } of metrics())
      try {
        for (const metric of await withTimeout(5, 'collecting them', collect)) add(metric, byName)
      } catch (error) {
        log.error('metrics.not_told', `the metrics of ${by} are missing: ${String(error)}`, { plugin: by })
      }
    const chunks: Buffer[] = []
    for await (const chunk of render([...byName.values()].flat())) chunks.push(chunk)
    processMetrics ??= await openRegistry()
    const process = (await processMetrics.metrics()).replaceAll(/ Nan$/gm, ' NaN') // as the format requires
    return [...chunks, Buffer.from(process)]
  }

  return () => {
    running ??= scrape().finally(() => {
      running = null
    })
    return running
  }
}

/** Throws for a metric because of which a scraper would refuse the whole page. Plugins may share a metric's name. */
function add(metric: Metric, byName: Map<string, Metric[]>): void {
  const { name, type, labels } = metric
  if (![name, ...labels].every(text => /^[a-zA-Z_]\w*$/.test(text)))
    throw new TypeError(`${name} {${labels}} is not a valid name with labels`)
  const known = byName.get(name) ?? []
  const [first] = known
  if (first && (first.type !== type || String(first.labels) !== String(labels)))
    throw new TypeError(`${name} is already a ${first.type} with the labels ${first.labels}`)
  byName.set(name, [...known, metric])
}

/** Gauges that are named like counters, each the sum of another metric of the library. */
const sums = ['handles', 'requests', 'resources'].map(what => `nodejs_active_${what}_total`)

/** Runs at the first scrape: the registry measures the event loop and garbage collection from then on. */
async function openRegistry(): Promise<Registry> {
  const { collectDefaultMetrics, Registry } = await import('prom-client')
  const register = new Registry()
  collectDefaultMetrics({ register })
  for (const name of sums) register.removeSingleMetric(name)
  return register
}
