// Prometheus' text format, 0.0.4.
import { setImmediate } from 'node:timers/promises'
import type { Histogram, Metric, MetricSample } from '../../kernel/metrics.ts'

export const contentType = 'text/plain; version=0.0.4; charset=utf-8'

const linesPerChunk = 2000 // some 2 ms

/** Yields complete lines in chunks, and yields to the event loop after each. Metrics of one name must be adjacent. */
export async function* render(metrics: readonly Metric[]): AsyncIterable<Buffer> {
  let text = ''
  let lines = 0
  let last = ''
  for (const metric of metrics) {
    const { name, labels, samples } = metric
    if (name !== last) text += formatHead(metric)
    last = name
    for (const sample of samples) {
      text += formatSample(name, sample.text ?? formatLabels(labels, sample), sample)
      if (++lines % linesPerChunk !== 0) continue
      yield Buffer.from(text) // flushed here, because a longer string would be a rope of a million parts
      text = ''
      await setImmediate()
    }
  }
  yield Buffer.from(text)
}

const formatHead = ({ name, type, help }: Metric): string =>
  `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${type}\n`

function formatLabels(labels: readonly string[], { labelValues }: MetricSample): string {
  let set = ''
  for (let at = 0; at < labels.length; at++)
    set += `${at > 0 ? ',' : ''}${labels[at]}="${escapeLabel(labelValues[at] ?? '')}"`
  return set
}

function formatSample(name: string, set: string, { value }: MetricSample): string {
  if (typeof value !== 'number') return formatHistogram(name, set, value)
  return `${name}${set === '' ? '' : `{${set}}`} ${value}\n`
}

function formatHistogram(name: string, set: string, { bounds, counts, sum }: Histogram): string {
  const before = set === '' ? '' : `${set},`
  const own = set === '' ? '' : `{${set}}`
  let total = 0
  let text = ''
  for (const [at, count] of counts.entries()) {
    total += count
    text += `${name}_bucket{${before}le="${bounds[at] ?? '+Inf'}"} ${total}\n`
  }
  return `${text}${name}_sum${own} ${sum}\n${name}_count${own} ${total}\n`
}

const special = /["\\\n]/

const escapeLabel = (text: string): string =>
  special.test(text) ? text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n') : text
