// Formats the results of all rounds as tables: medians with intervals, and ratios compared with the gates.
import { type Forwarder, floors, type Gate, gates, modes, ours } from './modes.ts'

export type Metrics = Readonly<Record<string, number>>
/** Results by mode, forwarder and round. Undefined: the forwarder failed. */
export type Runs = Readonly<Record<string, Partial<Record<Forwarder, readonly (Metrics | undefined)[]>>>>

/** Counts of one round, by mode and forwarder. */
export type Counted = Readonly<Record<string, Partial<Record<Forwarder, Metrics>>>>

interface Summary {
  readonly median: number
  readonly low: number
  readonly high: number
}

/** Returns the median and its 90 % confidence interval, or the range of few values. */
export function summary(values: readonly number[]): Summary | undefined {
  const sorted = values.toSorted((a, b) => a - b)
  const [low, high] = intervalOfMedian(sorted, 0.1)
  const below = sorted[(sorted.length - 1) >> 1]
  const above = sorted[sorted.length >> 1]
  if (low === undefined || high === undefined || below === undefined || above === undefined) return undefined
  return { median: (below + above) / 2, low, high }
}

/** Cuts off the values at both ends that together have a probability below `error` (binomial distribution). */
export function intervalOfMedian(values: readonly number[], error: number): (number | undefined)[] {
  const sorted = values.toSorted((a, b) => a - b)
  const count = sorted.length
  let cut = 0
  let odds = 0.5 ** count
  for (let tail = odds; tail <= error / 2; tail += odds) odds *= (count - cut) / ++cut
  return [sorted[Math.max(cut - 1, 0)], sorted[count - Math.max(cut, 1)]]
}

const valuesOf = (runs: Runs, mode: string, forwarder: Forwarder, metric: string) =>
  (runs[mode]?.[forwarder] ?? []).map(metrics => metrics?.[metric])

/** Divides our value by the baseline of the same round: a disturbance affects both. */
export function ratios(runs: Runs, { mode, metric, baseline }: Gate, forwarder: Forwarder): number[] {
  const own = valuesOf(runs, mode, forwarder, metric)
  if (baseline === null) return own.filter(value => value !== undefined)
  const base = valuesOf(
    runs,
    'mode' in baseline ? baseline.mode : mode,
    'forwarder' in baseline ? baseline.forwarder : forwarder,
    'metric' in baseline ? baseline.metric : metric
  )
  return own.flatMap((value, round) => {
    const other = base[round]
    return value === undefined || !other ? [] : [value / other]
  })
}

/** A gate is missed if the whole interval misses it. */
function verdict(gate: Gate, { median, low, high }: Summary): string {
  if (meetsLimit(gate, median)) return 'holds'
  return meetsLimit(gate, low) || meetsLimit(gate, high) ? 'open' : '**missed**'
}

const meetsLimit = ({ atMost, atLeast }: Gate, value: number): boolean =>
  value <= (atMost ?? Number.POSITIVE_INFINITY) && value >= (atLeast ?? Number.NEGATIVE_INFINITY)

export function formatNumber(value: number): string {
  if (value === 0) return '0'
  if (Math.abs(value) >= 1_000) return Math.round(value).toLocaleString('en')
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3)
}

const formatSummary = ({ median, low, high }: Summary): string =>
  low === high
    ? formatNumber(median)
    : `${formatNumber(median)} [${formatNumber(low)}, ${formatNumber(high)}]`

const tableRow = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`

export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [tableRow(head), tableRow(head.map(() => '---')), ...rows.map(tableRow)].join('\n')

function baselineName({ baseline }: Gate): string {
  if (baseline === null) return 'none'
  return Object.values(baseline)[0] ?? 'none'
}

export function gateTable(runs: Runs): string {
  const rows = gates.flatMap(gate => {
    const cells = ours.map(forwarder => {
      const found = summary(ratios(runs, gate, forwarder))
      return found ? `${verdict(gate, found)}: ${formatSummary(found)}` : '-'
    })
    if (cells.every(cell => cell === '-')) return []
    return [[gate.title, baselineName(gate), limitOf(gate), ...cells]]
  })
  return table(['metric', 'divided by', 'gate', ...ours], rows)
}

const limitOf = ({ atMost, atLeast }: Gate): string =>
  atMost === undefined ? `>= ${atLeast}` : `<= ${atMost}`

/** Results of the bare relays for each gate. No engine with the same system calls can be faster. */
export function floorTable(runs: Runs): string {
  const rows = gates.flatMap(gate => {
    const cells = ['native' as const, ...floors].map(forwarder => {
      const found = summary(ratios(runs, gate, forwarder))
      return found ? formatSummary(found) : '-'
    })
    if (cells.slice(1).every(cell => cell === '-')) return []
    return [[gate.title, baselineName(gate), limitOf(gate), ...cells]]
  })
  return table(['metric', 'divided by', 'gate', 'native', ...floors], rows)
}

export const countedMetrics = ['calls_each', 'instructions_each'] as const

export function modeTables(runs: Runs, counted: Counted): string {
  return Object.entries(runs)
    .map(([mode, found]) => {
      const metrics = modes[mode]?.metrics ?? []
      const counts = counted[mode] === undefined ? [] : countedMetrics
      const forwarders = Object.keys(found) as Forwarder[] // Object.keys loses the key type
      const rows = forwarders.map(forwarder => [
        forwarder,
        ...metrics.map(metric => {
          const values = valuesOf(runs, mode, forwarder, metric).filter(value => value !== undefined)
          const found = summary(values)
          return found ? formatSummary(found) : 'failed'
        }),
        ...counts.map(metric => {
          const value = counted[mode]?.[forwarder]?.[metric]
          return value === undefined ? '-' : formatNumber(value)
        })
      ])
      const head = ['forwarder', ...metrics, ...counts]
      return `### ${mode}\n\`load ${modes[mode]?.load}\`\n\n${table(head, rows)}`
    })
    .join('\n\n')
}
