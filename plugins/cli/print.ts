import { escapeControlChars } from '../../kernel/base/log.ts'
import type { Column, Print } from '../../kernel/cli/command.ts'
import { cut, fit, pad, widthOf } from './width.ts'

type Row = Readonly<Record<string, unknown>>
type Cell = Column<never>

/** Prints results as tables or JSON. `out`: standard output; `err`: standard error; `width`: of the terminal. */
export function openPrint(
  output: 'table' | 'json',
  out: (text: string) => void,
  err: (text: string) => void,
  width = Number.POSITIVE_INFINITY
): Print {
  return {
    data(value, columns, last) {
      if (output === 'json') return out(JSON.stringify(value, null, 2))
      out(
        Array.isArray(value) ? table(value as readonly Row[], columns, width) : record(value as Row, columns)
      ) // rows of the API
      if (last !== undefined) out(last)
    },
    value: (name, text) => out(output === 'json' ? JSON.stringify({ [name]: text }, null, 2) : text),
    line: text => (output === 'json' ? err(text) : out(text))
  }
}

function record(row: Row, columns: readonly Cell[] = Object.keys(row)): string {
  const shown = columns.filter(column => typeof column !== 'string' || column in row)
  return align(shown.map(column => [nameOf(column), cellOf(row, column)]))
}

function table(rows: readonly Row[], given: readonly Cell[] | undefined, width: number): string {
  if (rows.length === 0) return 'none'
  const columns = given ?? scalars(rows)
  const names = columns.map(nameOf)
  return align(
    [names.map(name => name.toUpperCase()), ...rows.map(row => columns.map(column => cellOf(row, column)))],
    { width, isId: names.map(name => name.endsWith('_id')) }
  )
}

const nameOf = (column: Cell): string => (typeof column === 'string' ? column : column[0])

const cellOf = (row: Row, column: Cell): string =>
  text(typeof column === 'string' ? row[column] : column[1](row as never)) // the row that the command passed

const scalars = (rows: readonly Row[]): string[] =>
  Object.entries(rows[0] ?? {})
    .filter(([, value]) => value === null || typeof value !== 'object')
    .map(([key]) => key)

interface Layout {
  readonly width: number
  readonly isId: readonly boolean[]
}

/** For a single record, which is never cut. */
const unlimited: Layout = { width: Number.POSITIVE_INFINITY, isId: [] }

function align(rows: readonly (readonly string[])[], { width, isId }: Layout = unlimited): string {
  const natural = rows[0]?.map((_, at) => rows.reduce((max, row) => Math.max(max, widthOf(row[at] ?? '')), 0))
  const widths = fit(natural ?? [], isId, width)
  const line = (row: readonly string[]): string =>
    row.map((cell, at) => pad(cut(cell, widths[at] ?? 0), widths[at] ?? 0)).join('  ')
  return rows.map(row => line(row).trimEnd()).join('\n')
}

/** Returns the text of a cell on one line; control characters are escaped. */
const text = (value: unknown): string => {
  if (value === null || value === undefined) return '-'
  if (Array.isArray(value)) return value.map(text).join(', ')
  return escapeControlChars(typeof value === 'object' ? JSON.stringify(value) : String(value))
}
