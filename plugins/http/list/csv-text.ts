// Comma-separated values, for routes that answer `Accept: text/csv` and for commands.

export const csvType = 'text/csv; charset=utf-8'

type Value = string | number | null

/** A spreadsheet runs text that begins like this as a formula. */
const formula = /^[=+\-@\t\r]/

/** Returns a line with the names of the columns and a line for each row. Empty values stand for null. */
export function csvText<C extends string>(
  columns: readonly C[],
  rows: readonly Readonly<Record<C, Value>>[]
): string {
  const lines = [columns.join(','), ...rows.map(row => columns.map(column => field(row[column])).join(','))]
  return `${lines.join('\n')}\n`
}

function field(value: Value): string {
  if (typeof value !== 'string') return String(value ?? '')
  const text = formula.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** True if the header `Accept` names CSV and ranks it no lower than JSON. */
export function prefersCsv(accept: string | undefined): boolean {
  const weights = new Map<string, number>()
  for (const part of (accept ?? '').toLowerCase().split(',')) {
    const [type = '', ...parameters] = part.split(';').map(text => text.trim())
    const weight = parameters.find(parameter => parameter.startsWith('q='))
    weights.set(type, weight === undefined ? 1 : Number(weight.slice(2)))
  }
  const csv = weights.get('text/csv') ?? 0
  return csv > 0 && csv >= (weights.get('application/json') ?? 0)
}
