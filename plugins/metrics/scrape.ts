// Collects the metrics of all plugins and of this process, and writes them as pages of text.
import { Readable } from 'node:stream'
import type { Registry } from 'prom-client'
import { withTimeout } from '../../kernel/base/attribution.ts'
import type { Clock } from '../../kernel/base/clock.ts'
import type { Log } from '../../kernel/base/log.ts'
import type { Metric, Metrics } from '../../kernel/metrics.ts'
import type { Filled } from '../../kernel/slot.ts'
import { render } from './format.ts'

/** Returns a page that is rendered while it is read. A reader that stops early must destroy it. */
export type Scrape = () => Promise<Readable>

interface Options {
  readonly metrics: () => readonly Filled<Metrics>[]
  readonly clock: Pick<Clock, 'after'>
  readonly log: Log
}

/** Metrics collected at one time, and the pages of them that are being read. */
interface Collected {
  readonly metrics: readonly Metric[]
  readonly processText: string
  readonly pages: Set<Readable>
}

const maxCollected = 4 // with open pages; beyond it, the pages of the oldest are cut
const maxReadMs = 60_000

/** Concurrent calls share one collection. */
export function openScrape({ metrics, clock, log }: Options): Scrape {
  let processMetrics: Registry | null = null
  let running: Promise<Collected> | null = null
  const beingRead = new Set<Collected>() // the oldest first

  async function collect(): Promise<Collected> {
    const byName = new Map<string, Metric[]>()
    for (const { by, value: collect } of metrics())
      try {
        for (const metric of await withTimeout(5, 'collecting them', collect)) add(metric, byName)
      } catch (error) {
        log.error('metrics.collect_failed', `the metrics of ${by} are missing: ${String(error)}`, {
          plugin: by
        })
      }
    processMetrics ??= await openRegistry()
    const processText = (await processMetrics.metrics()).replaceAll(/ Nan$/gm, ' NaN') // as the format requires
    return { metrics: [...byName.values()].flat(), processText, pages: new Set() }
  }

  function pageOf(collected: Collected): Readable {
    const page = Readable.from(renderChunks(collected))
    const { pages } = collected
    pages.add(page)
    beingRead.add(collected)
    const [oldest] = beingRead
    if (oldest && beingRead.size > maxCollected) {
      beingRead.delete(oldest)
      for (const old of oldest.pages) old.destroy(new Error(`${maxCollected} newer pages are being read`))
    }
    const late = new Error(`the page was not read within ${maxReadMs / 1000} s`)
    const cancel = clock.after(maxReadMs, () => void page.destroy(late))
    return page.once('close', () => {
      void cancel()
      pages.delete(page)
      if (pages.size === 0) beingRead.delete(collected)
    })
  }

  return async () => {
    running ??= collect().finally(() => {
      running = null
    })
    return pageOf(await running)
  }
}

async function* renderChunks({ metrics, processText }: Collected): AsyncIterable<Buffer> {
  yield* render(metrics)
  yield Buffer.from(processText)
}

/** Copies one-shot iterators, because several pages may read the samples. */
const makeReusable = ({ samples, ...metric }: Metric): Metric => {
  const iterator: unknown = samples[Symbol.iterator]()
  return { ...metric, samples: iterator === samples ? [...samples] : samples }
}

/** Throws for a metric that would make a scraper refuse the page. Plugins may share the name of a metric. */
function add(metric: Metric, byName: Map<string, Metric[]>): void {
  const { name, type, labels } = metric
  if (![name, ...labels].every(text => /^[a-zA-Z_]\w*$/.test(text)))
    throw new TypeError(`${name} {${labels}} is not a valid name with labels`)
  const known = byName.get(name) ?? []
  const [first] = known
  if (first && (first.type !== type || String(first.labels) !== String(labels)))
    throw new TypeError(`${name} is already a ${first.type} with the labels ${first.labels}`)
  byName.set(name, [...known, makeReusable(metric)])
}

/** Gauges that prom-client names like counters. Each is the sum of another metric. */
const sumGauges = ['handles', 'requests', 'resources'].map(what => `nodejs_active_${what}_total`)

/** Runs at the first scrape. From then on the registry measures the event loop and garbage collection. */
async function openRegistry(): Promise<Registry> {
  const { collectDefaultMetrics, Registry } = await import('prom-client')
  const register = new Registry()
  collectDefaultMetrics({ register })
  for (const name of sumGauges) register.removeSingleMetric(name)
  return register
}
