// Prometheus' text format, 0.0.4.
import { setImmediate } from 'node:timers/promises'
import type { Histogram, Metric, MetricSample } from '../../kernel/metrics.ts'

export const contentType = 'text/plain; version=0.0.4; charset=utf-8'

const linesPerTurn = 2000 // some 2 ms

/** Whole lines, piece by piece; between two pieces the thread is free for others. Figures of one name stand together. */
export async function* render(figures: readonly Metric[]): AsyncIterable<Buffer> {
  let text = ''
  let lines = 0
  let last = ''
  for (const figure of figures) {
    const { name, labels, samples } = figure
    if (name !== last) text += headOf(figure)
    last = name
    for (const reading of samples) {
      text += linesOf(name, labels, reading)
      if (++lines % linesPerTurn !== 0) continue
      yield Buffer.from(text) // at once: what is kept would be a string of a million pieces
      text = ''
      await setImmediate()
    }
  }
  yield Buffer.from(text)
}

const headOf = ({ name, type, help }: Metric): string =>
  `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${type}\n`

function linesOf(name: string, labels: readonly string[], { labelValues, value }: MetricSample): string {
  let set = ''
  for (let at = 0; at < labels.length; at++)
    set += `${at > 0 ? ',' : ''}${labels[at]}="${escaped(labelValues[at] ?? '')}"`
  if (typeof value !== 'number') return spreadLines(name, set, value)
  return `${name}${set === '' ? '' : `{${set}}`} ${value}\n`
}

function spreadLines(name: string, set: string, { bounds, counts, sum }: Histogram): string {
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

const escaped = (text: string): string =>
  special.test(text) ? text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n') : text
