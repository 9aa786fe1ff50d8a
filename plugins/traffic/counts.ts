// The counts of a sample, listed once. Columns, sums and the API derive from this list.

export const columns = [
  'bytes_in',
  'bytes_out',
  'connections',
  'refused',
  'datagrams_in',
  'datagrams_out'
] as const

export type Counts = Readonly<Record<(typeof columns)[number], number>>

/** Counts in the order of `columns`. */
export type CountValues = readonly number[]

/** Sums stop here, because JSON numbers beyond it are not exact. */
export const maxCount = Number.MAX_SAFE_INTEGER

const each = (value: (column: keyof Counts) => number): Counts =>
  Object.fromEntries(columns.map(column => [column, value(column)])) as Counts // of all columns

export const noCounts: Counts = each(() => 0)

export const plus = (a: Counts, b: Counts): Counts =>
  each(column => Math.min(maxCount, a[column] + b[column]))

/** Adds `values` to `sums`, in place: folding calls it for each saved count. */
export function addTo(sums: number[], values: CountValues): void {
  for (const [i, value] of values.entries()) sums[i] = Math.min(maxCount, (sums[i] ?? 0) + value)
}

/** The sums of the columns, for a select. As doubles, because integers could overflow. */
export const summedColumns = columns
  .map(column => `sum(cast(${column} as double precision)) as ${column}`)
  .join(', ')

/** Reads the columns of a row. PostgreSQL may return strings. */
export const fromRow = (row: Readonly<Record<keyof Counts, number | string>>): Counts =>
  each(column => Math.min(maxCount, Number(row[column])))
