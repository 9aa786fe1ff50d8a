import type { Row } from './wire.ts'

const names = [
  'bytes_in',
  'bytes_out',
  'datagrams_in',
  'datagrams_out',
  'connections',
  'dns_failures',
  'failovers',
  'overflows',
  'rejected'
] as const
export const countNames: readonly CountName[] = names
type CountName = (typeof names)[number]
export type Counts = Pick<Row, CountName>

const each = (make: (name: CountName) => number): Counts => ({
  bytes_in: make('bytes_in'),
  bytes_out: make('bytes_out'),
  datagrams_in: make('datagrams_in'),
  datagrams_out: make('datagrams_out'),
  connections: make('connections'),
  dns_failures: make('dns_failures'),
  failovers: make('failovers'),
  overflows: make('overflows'),
  rejected: make('rejected')
})

export const noCounts: Counts = each(() => 0)
export const plus = (a: Counts, b: Counts): Counts => each(name => a[name] + b[name])
export const minus = (a: Counts, b: Counts): Counts => each(name => a[name] - b[name])
export const isLower = (a: Counts, b: Counts): boolean => names.some(name => a[name] < b[name])
export const isSame = (a: Counts, b: Counts): boolean => names.every(name => a[name] === b[name])

/** Minutes and hours are one sum in the end. */
export const isSpan = (kind: string): kind is 'minute' | 'hour' => kind === 'minute' || kind === 'hour'

export const keyOf = ({ rule_id, kind, key }: Pick<Row, 'rule_id' | 'kind' | 'key'>): string =>
  `${rule_id} ${kind} ${key}`
