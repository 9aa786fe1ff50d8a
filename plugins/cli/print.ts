import { visible } from '../../kernel/base/log.ts'
import type { Column, Print } from '../../kernel/cli/command.ts'

type Row = Readonly<Record<string, unknown>>
type Cell = Column<never>

/** Results on standard output: a table for people, JSON for programs. */
export function openPrint(
  output: 'table' | 'json',
  out: (text: string) => void,
  aside: (text: string) => void
): Print {
  return {
    data(value, columns) {
      if (output === 'json') return out(JSON.stringify(value, null, 2))
      if (Array.isArray(value)) return out(table(value as readonly Row[], columns)) // rows of the API
      const row = value as Row // a record of the API
      const shown = (columns ?? Object.keys(row)).filter(
        column => typeof column !== 'string' || column in row
      )
      out(align(shown.map(column => [nameOf(column), cellOf(row, column)])))
    },
    line: text => (output === 'json' ? aside(text) : out(text))
  }
}

function table(rows: readonly Row[], columns: readonly Cell[] = scalars(rows)): string {
  if (rows.length === 0) return 'none'
  return align([
    columns.map(column => nameOf(column).toUpperCase()),
    ...rows.map(row => columns.map(column => cellOf(row, column)))
  ])
}

const nameOf = (column: Cell): string => (typeof column === 'string' ? column : column[0])

const cellOf = (row: Row, column: Cell): string =>
  text(typeof column === 'string' ? row[column] : column[1](row as never)) // the row that its command handed over

const scalars = (rows: readonly Row[]): string[] =>
  Object.entries(rows[0] ?? {})
    .filter(([, value]) => value === null || typeof value !== 'object')
    .map(([key]) => key)

function align(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]?.map((_, at) => Math.max(...rows.map(row => row[at]?.length ?? 0))) ?? []
  return rows
    .map(row =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd()
    )
    .join('\n')
}

/** One line a cell; what could move the cursor is escaped. */
const text = (value: unknown): string => {
  if (value === null || value === undefined) return '-'
  if (Array.isArray(value)) return value.map(text).join(', ')
  return visible(typeof value === 'object' ? JSON.stringify(value) : String(value))
}
