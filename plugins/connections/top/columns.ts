// The columns of `sluice top`. A wider terminal shows more of them, in this order.
import { formatSize } from '../../http/command-exports.ts'
import type { ConnectionRow } from '../schema.ts'
import type { Sort } from '../wire.ts'
import type { ColumnName } from './column-names.ts'

/** A row with its rates since the previous event, in bytes per second; null: it is new. */
export interface RatedRow extends ConnectionRow {
  readonly in_rate: number | null
  readonly out_rate: number | null
}

interface Cells {
  readonly at: number // ms since 1970, of the server
  clientName(id: string): string
}

export interface Column {
  readonly key: string // the key that sorts by this column
  readonly name: ColumnName
  readonly width: number
  readonly isNumber?: true
  /** The server's sort key, which decides which rows an event contains. */
  readonly first: Sort
  cell(row: RatedRow, cells: Cells): string
  /** The sort value: numbers descending, texts ascending. */
  value(row: RatedRow, cells: Cells): number | string
}

/** Formats a rate per second: '1.2 Mbit'. */
export const rate = (bytesPerSec: number | null): string =>
  bytesPerSec === null ? '-' : formatSize(Math.round(bytesPerSec * 8)).replace('B', 'bit')

const units = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60]
] as const

/** Formats a duration in four characters at most: '12s', '5m'. */
export function duration(secs: number): string {
  const [unit, length] = units.find(([, length]) => secs >= length) ?? ['s', 1]
  return `${Math.max(0, Math.floor(secs / length))}${unit}`
}

const ageSecs = ({ opened_at }: RatedRow, { at }: Cells): number => (at - Date.parse(opened_at)) / 1000
const sumOf = (legs: ConnectionRow['rtt_ms']): number => (legs?.caller ?? 0) + (legs?.target ?? 0)
const legs = (both: ConnectionRow['rtt_ms']): string =>
  both ? [both.caller, both.target].map(one => (one === null ? '-' : String(Math.round(one)))).join('/') : '-'

type Text = 'source' | 'listen' | 'target' | 'divert' | 'owner' | 'held_by' | 'protocol' | 'rule_id'
const text = (key: string, name: ColumnName, width: number, field: Text): Column => ({
  key,
  name,
  width,
  first: 'rate',
  cell: row => row[field] ?? '-',
  value: row => row[field] ?? ''
})

type Amount = Omit<Column, 'first' | 'isNumber' | 'key' | 'name' | 'width'>
const amount = (key: string, name: ColumnName, width: number, first: Sort, more: Amount): Column => ({
  key,
  name,
  width,
  first,
  isNumber: true,
  ...more
})

export const columns: readonly Column[] = [
  text('s', 'source', 21, 'source'),
  { ...text('t', 'target', 18, 'target'), cell: ({ target }) => target ?? 'connecting' },
  text('o', 'owner', 8, 'owner'),
  amount('i', 'in/s', 8, 'rate', { cell: row => rate(row.in_rate), value: row => row.in_rate ?? 0 }),
  amount('u', 'out/s', 8, 'rate', { cell: row => rate(row.out_rate), value: row => row.out_rate ?? 0 }),
  amount('a', 'age', 4, 'age', { cell: (row, cells) => duration(ageSecs(row, cells)), value: ageSecs }),
  amount('d', 'idle', 4, 'idle', { cell: row => duration(row.idle_secs), value: row => row.idle_secs }),
  {
    key: 'c',
    name: 'client',
    width: 10,
    first: 'rate',
    cell: (row, { clientName }) => clientName(row.client_id),
    value: (row, { clientName }) => clientName(row.client_id)
  },
  amount('b', 'bytes', 7, 'bytes', {
    cell: row => formatSize(row.bytes_in + row.bytes_out),
    value: row => row.bytes_in + row.bytes_out
  }),
  text('w', 'held_by', 12, 'held_by'),
  text('v', 'divert', 12, 'divert'),
  amount('m', 'rtt', 9, 'rate', { cell: row => legs(row.rtt_ms), value: row => sumOf(row.rtt_ms) }),
  amount('x', 'resent', 7, 'rate', {
    cell: row => legs(row.retransmits),
    value: row => sumOf(row.retransmits)
  }),
  text('p', 'proto', 5, 'protocol'),
  text('l', 'listen', 21, 'listen'),
  { ...text('r', 'rule', 26, 'rule_id'), cell: ({ rule_id, rule_name }) => rule_name ?? rule_id }
]

export function columnNamed(name: ColumnName): Column {
  const found = columns.find(column => column.name === name)
  if (!found) throw new TypeError(`there is no column ${name}`)
  return found
}

export function sorted(
  rows: readonly RatedRow[],
  { value }: Column,
  isReversed: boolean,
  cells: Cells
): RatedRow[] {
  const compare = (a: RatedRow, b: RatedRow): number => {
    const left = value(a, cells)
    const right = value(b, cells)
    return typeof left === 'number' && typeof right === 'number'
      ? right - left
      : String(left).localeCompare(String(right), 'en', { numeric: true })
  }
  return rows.toSorted(isReversed ? (a, b) => compare(b, a) : compare)
}

/** Returns the columns that fit, with their widths. Source and target get the remaining width. */
export function fitting(width: number): readonly { readonly column: Column; readonly width: number }[] {
  const fitted: { column: Column; width: number }[] = []
  let left = width
  for (const column of columns) {
    if (column.width + 1 > left) break
    left -= column.width + 1
    fitted.push({ column, width: column.width })
  }
  for (const [place, most] of [
    [1, 21],
    [0, 47],
    [1, 47]
  ] as const) {
    const wide = fitted[place]
    if (!wide || fitted.length === 1) continue
    const more = Math.min(left, Math.max(0, most - wide.width))
    wide.width += more
    left -= more
  }
  return fitted
}
