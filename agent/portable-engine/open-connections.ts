// Queries of open connections and flows.
import type {
  ConnectionQuery,
  ConnectionSelection,
  ConnectionSort,
  OpenConnection,
  OpenConnections
} from '../engine/open-connection.ts'
import { canonicalAddress, familyOf } from '../net/address.ts'
import { parsePrefixes } from '../net/address-prefix.ts'
import type { ConnectionRecord } from './connection-record.ts'

/** An open connection or flow, for a query. */
export interface Live {
  readonly record: ConnectionRecord
  readonly listen: OpenConnection['listen']
  readonly activeAt: number // performance.now() of the last delivered byte, or datagram
  readonly heldBy: number | null
  end(): void
}

/** Throws an EngineFault for an invalid prefix. */
export function selectConnections(
  all: Iterable<Live>,
  { ids, rules, sources, target, ruleTargets }: ConnectionSelection
): Live[] {
  const wanted = {
    ids: ids && new Set(ids),
    rules: rules && new Set(rules),
    targets: ruleTargets && new Set(ruleTargets.map(one => `${one.rule} ${one.target}`))
  }
  const prefixes = sources && parsePrefixes(sources)
  const address = target && canonicalAddress(target.address)
  return [...all].filter(({ record }) => {
    const { address: from } = record.source
    if (wanted.ids && !wanted.ids.has(record.id)) return false
    if (wanted.rules && !wanted.rules.has(record.ruleId)) return false
    if (prefixes && !prefixes.check(from, familyOf(from))) return false
    if (wanted.targets && !wanted.targets.has(ownTargetOf(record))) return false
    if (!target) return true
    return record.target?.address === address && (target.port === null || target.port === record.target.port)
  })
}

/** Returns the rule and the index of its own target; '': none yet, or that of a divert. */
const ownTargetOf = ({ ruleId, target, divert }: ConnectionRecord): string =>
  target && divert === null ? `${ruleId} ${target.index}` : ''

export function pageOf(
  all: Iterable<Live>,
  { sort, after, limit, ...selection }: ConnectionQuery
): OpenConnections {
  const now = performance.now()
  const keyOf = keys[sort]
  const { key, id } = after ?? { key: Number.POSITIVE_INFINITY, id: 0 }
  const found = selectConnections(all, selection)
  const sums = { bytesIn: 0, bytesOut: 0 }
  const keyed: Keyed[] = []
  for (const live of found) {
    sums.bytesIn += live.record.bytes.in
    sums.bytesOut += live.record.bytes.out
    const one = { live, key: keyOf(live, now) }
    if (one.key < key || (one.key === key && live.record.id < id)) keyed.push(one)
  }
  keyed.sort((a, b) => b.key - a.key || b.live.record.id - a.live.record.id)
  return { matched: found.length, ...sums, rows: keyed.slice(0, limit).map(one => rowOf(one, now)) }
}

interface Keyed {
  readonly live: Live
  readonly key: number
}

const endOfTime = 9e15 // above every time in ms since 1970

/** Earlier times have larger keys. Keys do not change with time, so that a page continues where the last one ended. */
const keyOfTime = (ms: number): number => endOfTime - Math.floor(performance.timeOrigin + ms)

const bytesOf = ({ record: { bytes } }: Live): number => bytes.in + bytes.out
const ageOf = ({ record }: Live, now: number): number => Math.floor(now - record.openedAt)

const keys: Readonly<Record<ConnectionSort, (live: Live, now: number) => number>> = {
  age: ({ record }) => keyOfTime(record.openedAt),
  bytes: bytesOf,
  rate: (live, now) => (bytesOf(live) * 1000) / Math.max(ageOf(live, now), 1),
  idle: ({ activeAt }) => keyOfTime(activeAt)
}

function rowOf({ live, key }: Keyed, now: number): OpenConnection {
  const { record, listen, activeAt, heldBy } = live
  const { id, ruleId, source, target, divert, bytes } = record
  return {
    id,
    key,
    ruleId,
    source,
    listen,
    target,
    divert,
    heldBy,
    ageMs: ageOf(live, now),
    idleMs: Math.max(0, Math.floor(now - activeAt)),
    bytesIn: bytes.in,
    bytesOut: bytes.out,
    caller: null, // Node has no TCP figures
    targetLeg: null
  }
}
