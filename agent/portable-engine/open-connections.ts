// What is open now, for those who look.

import { canonicalAddress, familyOf } from '../net/address.ts'
import { parsePrefix } from '../net/filter.ts'
import type {
  ConnectionQuery,
  ConnectionSelection,
  ConnectionSort,
  OpenConnection,
  OpenConnections
} from '../open-connection.ts'
import type { ConnectionRecord } from './connection-record.ts'

/** A connection or flow as it is looked at. */
export interface Live {
  readonly record: ConnectionRecord
  readonly listen: OpenConnection['listen']
  readonly activeAt: number // performance.now() of the last delivered byte, or datagram
  readonly heldBy: number | null
  end(): void
}

/** Returns those that are selected. Throws an EngineFault for an invalid prefix. */
export function selected(all: Iterable<Live>, { ids, rules, source, target }: ConnectionSelection): Live[] {
  const wanted = { ids: ids && new Set(ids), rules: rules && new Set(rules) }
  const prefix = source === null ? null : parsePrefix(source)
  const address = target && canonicalAddress(target.address)
  return [...all].filter(({ record }) => {
    const { address: from } = record.source
    if (wanted.ids && !wanted.ids.has(record.id)) return false
    if (wanted.rules && !wanted.rules.has(record.ruleId)) return false
    if (prefix && !prefix.check(from, familyOf(from))) return false
    if (!target) return true
    return record.target?.address === address && (target.port === null || target.port === record.target.port)
  })
}

export function pageOf(all: Iterable<Live>, query: ConnectionQuery): OpenConnections {
  const found = selected(all, query).map(live => rowOf(live, query.sort))
  const { key, id } = query.after ?? { key: Number.POSITIVE_INFINITY, id: 0 }
  const rows = found
    .filter(row => row.key < key || (row.key === key && row.id < id))
    .sort((a, b) => b.key - a.key || b.id - a.id)
    .slice(0, query.limit)
  return { matched: found.length, rows }
}

const endOfTime = 9e15 // above every time in ms since 1970

/** The earlier, the larger. It stays as it is while time passes: pages go on where the one before has ended. */
const keyOfTime = (ms: number): number => endOfTime - Math.floor(performance.timeOrigin + ms)

const keys: Readonly<Record<ConnectionSort, (row: Omit<OpenConnection, 'key'>, live: Live) => number>> = {
  age: (_, { record }) => keyOfTime(record.openedAt),
  bytes: ({ bytesIn, bytesOut }) => bytesIn + bytesOut,
  rate: ({ bytesIn, bytesOut, ageMs }) => ((bytesIn + bytesOut) * 1000) / Math.max(ageMs, 1),
  idle: (_, { activeAt }) => keyOfTime(activeAt)
}

function rowOf(live: Live, sort: ConnectionSort): OpenConnection {
  const { record, listen, activeAt, heldBy } = live
  const now = performance.now()
  const { id, ruleId, source, target, bytes } = record
  const row = {
    ...{ id, ruleId, source, listen, target, heldBy },
    ageMs: Math.floor(now - record.openedAt),
    idleMs: Math.floor(now - activeAt),
    bytesIn: bytes.in,
    bytesOut: bytes.out,
    caller: null, // Node does not tell
    targetLeg: null
  }
  return { ...row, key: keys[sort](row, live) }
}
