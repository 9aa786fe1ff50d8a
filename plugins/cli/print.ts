import { visible } from '../../kernel/base/log.ts'
import type { Print } from '../../kernel/cli/command.ts'

type Row = Readonly<Record<string, unknown>>

/** Results on standard output: a table for people, JSON for programs. */
export function openPrint(
  output: 'table' | 'json',
  out: (text: string) => void,
  aside: (text: string) => void
): Print {
  return {
    data(value, columns) {
      if (output === 'json') return out(JSON.stringify(value, null, 2))
      if (Array.isArray(value)) return out(table(value, columns))
      const rows = Object.entries(value).filter(([key]) => columns?.includes(key) ?? true)
      out(align(rows.map(([key, cell]) => [key, text(cell)])))
    },
    line: text => (output === 'json' ? aside(text) : out(text))
  }
}

function table(rows: readonly Row[], columns: readonly string[] = scalars(rows)): string {
  if (rows.length === 0) return 'none'
  return align([
    columns.map(column => column.toUpperCase()),
    ...rows.map(row => columns.map(column => text(row[column])))
  ])
}

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
