import { escapeControlChars } from '../../../kernel/base/log.ts'
import type { Column, Print } from '../../../kernel/cli/command.ts'
import { formatQuantity, unitOf } from '../../http/command-exports.ts'
import { type ColumnSize, cut, fit, pad, widthOf } from './column-width.ts'

type Row = Readonly<Record<string, unknown>>
type Cell = Column<never>

/** The terminal to print on. Without one, tables are complete, with exact times and without colors. */
export interface Terminal {
  readonly width: number // 0 if unknown, as on a serial console: tables are complete
  readonly now: number // ms since 1970
  readonly paint: (style: Style, text: string) => string
}
type Style = 'bold' | 'green' | 'yellow' | 'red'

/** Numbers of bytes and bits in tables: '1.5 MB', or all digits. */
type Numbers = 'short' | 'exact'

// Line breaks, tabs, and the colors of Print.paint.
const csi = '\u001b\\['
const kept = new RegExp(`(\n|\t|${csi}(?:1|22|31|32|33|39)m)`)

/**
 * Escapes control and bidirectional characters except line breaks, tabs and our colors, so that text of a server cannot
 * manipulate the terminal. JSON and TOML keep their meaning: these characters are only in strings, where the escape is valid.
 */
export const printable = (text: string): string =>
  text
    .split(kept)
    .map((part, at) => (at % 2 === 1 ? part : escapeControlChars(part)))
    .join('')

/** Prints results as tables or JSON. `writeOut` writes to standard output, `writeErr` to standard error. */
export function openPrint(
  output: 'table' | 'json',
  writeOut: (text: string) => void,
  writeErr: (text: string) => void,
  terminal?: Terminal,
  numbers: Numbers = 'short'
): Print {
  const out = (text: string): void => writeOut(printable(text))
  const err = (text: string): void => writeErr(printable(text))
  const json = (value: object): void => out(JSON.stringify(value, null, 2))
  return {
    format: output,
    data(value, columns, last) {
      if (output === 'json') return json(value)
      if (!Array.isArray(value)) out(record(value as Row, columns, { terminal, numbers }))
      else {
        const { text, omitted } = table(value as readonly Row[], columns, { terminal, numbers }) // rows of the API
        out(text)
        if (omitted.length > 0) err(`omitted: ${omitted.join(', ')}; use a wider terminal or --output json`)
      }
      if (last !== undefined) out(last)
    },
    done: (text, result) => (output === 'json' ? json(result) : out(text)),
    value: (name, text) => (output === 'json' ? json({ [name]: text }) : out(text)),
    text: out,
    note: err,
    paint: word => (output === 'json' ? word : painted(word, terminal))
  }
}

interface Format {
  readonly terminal: Terminal | undefined
  readonly numbers: Numbers
}

function record(
  row: Row,
  columns: readonly Cell[] = Object.keys(row),
  { terminal, numbers }: Format
): string {
  const shown = columns.filter(column => typeof column !== 'string' || column in row).map(nameOf)
  const width = Math.max(0, ...shown.map(widthOf))
  return columns
    .filter(column => typeof column !== 'string' || column in row)
    .map(column => {
      const name = nameOf(column)
      const cell = cellOf(row, column, numbers)
      const age = terminal && isTime(cell) ? ` (${ageOf(Date.parse(cell), terminal.now)})` : ''
      return `${pad(name, width)}  ${paintedCell(name, cell, terminal)}${age}`.trimEnd()
    })
    .join('\n')
}

function table(rows: readonly Row[], given: readonly Cell[] | undefined, { terminal, numbers }: Format) {
  if (rows.length === 0) return { text: 'none', omitted: [] }
  const columns = given ?? scalars(rows)
  const names = columns.map(nameOf)
  const cells = rows.map(row => columns.map(column => shortened(cellOf(row, column, numbers), terminal)))
  const measured = names.map((name, at): ColumnSize => {
    const texts = cells.map(row => row[at] ?? '')
    const width = texts.reduce((max, cell) => Math.max(max, widthOf(cell)), widthOf(name))
    return { width, isRigid: name.endsWith('_id') || texts.every(isExact) }
  })
  const widths = fit(measured, terminal?.width || Number.POSITIVE_INFINITY)
  const line = (row: readonly string[], paint: (name: string, cell: string) => string): string =>
    widths
      .map((width, at) => {
        const cell = cut(row[at] ?? '', width)
        return paint(names[at] ?? '', cell) + pad('', width - widthOf(cell))
      })
      .join('  ')
      .trimEnd()
  const head = line(
    names.map(name => name.toUpperCase()),
    (_, name) => terminal?.paint('bold', name) ?? name
  )
  const body = cells.map(row => line(row, (name, cell) => paintedCell(name, cell, terminal)))
  return { text: [head, ...body].join('\n'), omitted: names.slice(widths.length) }
}

/** Short cells, numbers, times and addresses must not be cut: a part would be a different value. */
const isExact = (cell: string): boolean =>
  cell.length <= 16 || /^\d+$/.test(cell) || isTime(cell) || isAddress(cell)

const isAddress = (cell: string): boolean => cell.length <= 32 && /^\S+:\d+$/.test(cell)

const isTime = (cell: string): boolean => /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(cell)

const shortened = (cell: string, terminal: Terminal | undefined): string =>
  terminal && isTime(cell) ? ageOf(Date.parse(cell), terminal.now) : cell

const styles: Readonly<Record<string, Style>> = {
  active: 'green',
  connected: 'green',
  healthy: 'green',
  ok: 'green',
  pass: 'green',
  forwarded: 'green',
  pending: 'yellow',
  draining: 'yellow',
  unknown: 'yellow',
  warning: 'yellow',
  warn: 'yellow',
  disconnected: 'yellow',
  paused: 'yellow',
  outside_schedule: 'yellow',
  expired: 'yellow',
  failed: 'red',
  fail: 'red',
  stop: 'red',
  refused: 'red',
  'no rule': 'red',
  revoked: 'red',
  down: 'red',
  error: 'red'
}

function paintedCell(name: string, cell: string, terminal: Terminal | undefined): string {
  return /(^|_)(state|status|health)$/.test(name) ? painted(cell, terminal) : cell
}

function painted(text: string, terminal: Terminal | undefined): string {
  const style = styles[text.replace(/: .*/, '')]
  return style && terminal ? terminal.paint(style, text) : text
}

const nameOf = (column: Cell): string => (typeof column === 'string' ? column : column[0])

function cellOf(row: Row, column: Cell, numbers: Numbers): string {
  const value = typeof column === 'string' ? row[column] : column[1](row as never) // the command passed the row
  const unit = numbers === 'short' && typeof value === 'number' ? unitOf(nameOf(column)) : null
  return unit === null ? text(value) : formatQuantity(Number(value), unit)
}

const scalars = (rows: readonly Row[]): string[] =>
  Object.entries(rows[0] ?? {})
    .filter(([, value]) => value === null || typeof value !== 'object')
    .map(([key]) => key)

/** Returns the text of a cell on one line, with control characters escaped. */
const text = (value: unknown): string => {
  if (value === null || value === undefined) return '-'
  if (Array.isArray(value)) return value.map(text).join(', ')
  return escapeControlChars(typeof value === 'object' ? JSON.stringify(value) : String(value))
}

const ageUnits = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1]
] as const

/** Returns the time relative to `now`, in the largest unit that fits: '5 min ago', 'in 3 h'. */
function ageOf(ms: number, now: number): string {
  const secs = Math.round((now - ms) / 1000)
  const [unit, size] = ageUnits.find(([, size]) => Math.abs(secs) >= size) ?? ['s', 1]
  const count = `${Math.floor(Math.abs(secs) / size)} ${unit}`
  return secs < 0 ? `in ${count}` : `${count} ago`
}
