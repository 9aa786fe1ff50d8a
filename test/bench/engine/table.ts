// Formats the rounds' results as tables: medians, ranges, and ratios against the gates.
import { type Forwarder, type Gate, gates, modes, ours } from './modes.ts'

export type Metrics = Readonly<Record<string, number>>
/** Results by mode, forwarder and round; undefined where the forwarder failed. */
export type Runs = Readonly<Record<string, Partial<Record<Forwarder, readonly (Metrics | undefined)[]>>>>

interface Summary {
  readonly median: number
  readonly min: number
  readonly max: number
}

export function summary(values: readonly number[]): Summary | undefined {
  const sorted = values.toSorted((a, b) => a - b)
  const [min, max] = [sorted[0], sorted.at(-1)]
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]]
  if (min === undefined || max === undefined || low === undefined || high === undefined) return undefined
  return { median: (low + high) / 2, min, max }
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

const meetsLimit = ({ atMost, atLeast }: Gate, value: number): boolean =>
  value <= (atMost ?? Number.POSITIVE_INFINITY) && value >= (atLeast ?? Number.NEGATIVE_INFINITY)

export function formatNumber(value: number): string {
  if (value === 0) return '0'
  if (Math.abs(value) >= 1_000) return Math.round(value).toLocaleString('en')
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3)
}

const formatSummary = ({ median, min, max }: Summary): string =>
  min === max
    ? formatNumber(median)
    : `${formatNumber(median)} (${formatNumber(min)} to ${formatNumber(max)})`

const tableRow = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [tableRow(head), tableRow(head.map(() => '---')), ...rows.map(tableRow)].join('\n')

function baselineName({ baseline }: Gate): string {
  if (baseline === null) return 'none'
  return Object.values(baseline)[0] ?? 'none'
}

export function gateTable(runs: Runs): string {
  const rows = gates.flatMap(gate => {
    const cells = ours.map(forwarder => {
      const found = summary(ratios(runs, gate, forwarder))
      return found
        ? `${meetsLimit(gate, found.median) ? 'holds' : '**missed**'}: ${formatSummary(found)}`
        : '-'
    })
    if (cells.every(cell => cell === '-')) return []
    const limit = gate.atMost === undefined ? `>= ${gate.atLeast}` : `<= ${gate.atMost}`
    return [[gate.title, baselineName(gate), limit, ...cells]]
  })
  return table(['metric', 'divided by', 'gate', ...ours], rows)
}

export function modeTables(runs: Runs): string {
  return Object.entries(runs)
    .map(([mode, found]) => {
      const metrics = modes[mode]?.metrics ?? []
      const forwarders = Object.keys(found) as Forwarder[] // Object.keys loses the key type
      const rows = forwarders.map(forwarder => [
        forwarder,
        ...metrics.map(metric => {
          const values = valuesOf(runs, mode, forwarder, metric).filter(value => value !== undefined)
          const found = summary(values)
          return found ? formatSummary(found) : 'failed'
        })
      ])
      return `### ${mode}\n\`load ${modes[mode]?.load}\`\n\n${table(['forwarder', ...metrics], rows)}`
    })
    .join('\n\n')
}
