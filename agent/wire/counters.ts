// The counters of a rule, listed once. Schemas, columns, sums and conversions derive from this list.

/** Each counter's name in TypeScript, and its name as SQL column and wire field. */
const columnOf = {
  bytesIn: 'bytes_in',
  bytesOut: 'bytes_out',
  datagramsIn: 'datagrams_in',
  datagramsOut: 'datagrams_out',
  connections: 'connections',
  dnsFailures: 'dns_failures',
  failovers: 'failovers',
  overflows: 'overflows',
  rejected: 'rejected'
} as const

export type Counter = keyof typeof columnOf
export type Counts = Readonly<Record<Counter, number>>

/** The same counts under the names of their columns. */
export type ColumnCounts = { readonly [C in Counter as (typeof columnOf)[C]]: number }

export const counters: readonly Counter[] = Object.keys(columnOf) as Counter[] // its own keys
export const columns: readonly string[] = Object.values(columnOf)

/** The columns of a select, under the names of the counters. */
export const selectedCounts = counters.map(counter => `${columnOf[counter]} as "${counter}"`).join(', ')

/** The sums of the columns, for a select with `group by`. */
export const summedCounts = counters.map(counter => `sum(${columnOf[counter]}) as "${counter}"`).join(', ')

export const eachCounter = <T>(value: (counter: Counter) => T): Record<Counter, T> =>
  Object.fromEntries(counters.map(counter => [counter, value(counter)])) as Record<Counter, T> // of all keys

export const noCounts: Counts = eachCounter(() => 0)

function counts(value: (counter: Counter) => number): Counts {
  const result = { ...noCounts }
  for (const counter of counters) result[counter] = value(counter)
  return result
}

/** Sums stop here: a JSON number beyond it is not exact, and 64 bits of SQL could overflow. */
export const maxCount = Number.MAX_SAFE_INTEGER

export const plus = (a: Counts, b: Counts): Counts =>
  counts(counter => Math.min(maxCount, a[counter] + b[counter]))
export const minus = (a: Counts, b: Counts): Counts => counts(counter => a[counter] - b[counter])
export const isSame = (a: Counts, b: Counts): boolean => counters.every(counter => a[counter] === b[counter])

/** True if any counter of `a` is lower than in `b`. */
export const isLower = (a: Counts, b: Counts): boolean => counters.some(counter => a[counter] < b[counter])

/** Counts in the order of `columns`. */
export const valuesOf = (of: Counts): number[] => counters.map(counter => of[counter])

export const fromColumns = (row: ColumnCounts): Counts => counts(counter => row[columnOf[counter]])
export const toColumns = (of: Counts): ColumnCounts =>
  Object.fromEntries(counters.map(counter => [columnOf[counter], of[counter]])) as ColumnCounts // of all columns
