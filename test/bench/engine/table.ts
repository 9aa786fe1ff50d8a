// The rounds' figures as tables: medians, how far they lie apart, ratios against the gates.
import { type Forwarder, type Gate, gates, modes, ours } from './modes.ts'

export type Figures = Readonly<Record<string, number>>
/** Mode, forwarder, round; a round in which the forwarder failed is undefined. */
export type Runs = Readonly<Record<string, Partial<Record<Forwarder, readonly (Figures | undefined)[]>>>>

interface Summary {
  readonly median: number
  readonly least: number
  readonly most: number
}

export function summary(values: readonly number[]): Summary | undefined {
  const sorted = values.toSorted((a, b) => a - b)
  const [least, most] = [sorted[0], sorted.at(-1)]
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]]
  if (least === undefined || most === undefined || low === undefined || high === undefined) return undefined
  return { median: (low + high) / 2, least, most }
}

const valuesOf = (runs: Runs, mode: string, forwarder: Forwarder, figure: string) =>
  (runs[mode]?.[forwarder] ?? []).map(figures => figures?.[figure])

/** Ours by the other's in the same round: what disturbs one round disturbs both. */
export function ratios(runs: Runs, { mode, figure, by }: Gate, forwarder: Forwarder): number[] {
  const own = valuesOf(runs, mode, forwarder, figure)
  if (by === null) return own.filter(value => value !== undefined)
  const base = valuesOf(
    runs,
    'mode' in by ? by.mode : mode,
    'forwarder' in by ? by.forwarder : forwarder,
    'figure' in by ? by.figure : figure
  )
  return own.flatMap((value, round) => {
    const other = base[round]
    return value === undefined || !other ? [] : [value / other]
  })
}

const holds = ({ atMost, atLeast }: Gate, value: number): boolean =>
  value <= (atMost ?? Number.POSITIVE_INFINITY) && value >= (atLeast ?? Number.NEGATIVE_INFINITY)

export function shown(value: number): string {
  if (value === 0) return '0'
  if (Math.abs(value) >= 1_000) return Math.round(value).toLocaleString('en')
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3)
}

const spread = ({ median, least, most }: Summary): string =>
  least === most ? shown(median) : `${shown(median)} (${shown(least)} to ${shown(most)})`

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n')

function against({ by }: Gate): string {
  if (by === null) return 'none'
  return Object.values(by)[0] ?? 'none'
}

export function gateTable(runs: Runs): string {
  const rows = gates.flatMap(gate => {
    const cells = ours.map(forwarder => {
      const found = summary(ratios(runs, gate, forwarder))
      return found ? `${holds(gate, found.median) ? 'holds' : '**missed**'}: ${spread(found)}` : '-'
    })
    if (cells.every(cell => cell === '-')) return []
    const limit = gate.atMost === undefined ? `>= ${gate.atLeast}` : `<= ${gate.atMost}`
    return [[gate.work, against(gate), limit, ...cells]]
  })
  return table(['work', 'divided by', 'gate', ...ours], rows)
}

export function modeTables(runs: Runs): string {
  return Object.entries(runs)
    .map(([mode, found]) => {
      const figures = modes[mode]?.figures ?? []
      const rows = (Object.keys(found) as Forwarder[]).map(forwarder => [
        // the keys that Runs has
        forwarder,
        ...figures.map(figure => {
          const values = valuesOf(runs, mode, forwarder, figure).filter(value => value !== undefined)
          const over = summary(values)
          return over ? spread(over) : 'failed'
        })
      ])
      return `### ${mode}\n\`load ${modes[mode]?.load}\`\n\n${table(['forwarder', ...figures], rows)}`
    })
    .join('\n\n')
}
