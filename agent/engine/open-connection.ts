import type { SocketAddress } from './ended-connection.ts'

/** The sort keys of `OpenConnections.rows`. Their order must match `ConnectionQuery::Sort` in native/src. */
export const connectionSorts = ['age', 'bytes', 'rate', 'idle'] as const
export type ConnectionSort = (typeof connectionSorts)[number]

/** Selects open connections and flows; null: all. All members must match. */
export interface ConnectionSelection {
  readonly ids: readonly number[] | null
  readonly rules: readonly number[] | null // `EngineRule.id`
  readonly sources: readonly string[] | null // prefixes such as '10.0.0.0/8', or addresses; one must match
  readonly target: { readonly address: string; readonly port: number | null } | null // connected address; null: any port
  readonly ruleTargets?: readonly RuleTarget[] | null // one must match; connections of diverts match none
}

/** One of the own targets of a rule. */
export interface RuleTarget {
  readonly rule: number // `EngineRule.id`
  readonly target: number // index in `EngineRule.targets`
}

/** A page of a selection: the rows with the largest keys that follow the row `after`. */
export interface ConnectionQuery extends ConnectionSelection {
  readonly sort: ConnectionSort
  readonly after: { readonly key: number; readonly id: number } | null
  readonly limit: number
}

export interface OpenConnections {
  readonly matched: number // on all pages, like the sums
  readonly bytesIn: number
  readonly bytesOut: number
  readonly rows: readonly OpenConnection[]
}

/** A TCP connection or UDP flow that is open now. */
export interface OpenConnection {
  readonly id: number // unique for the engine's lifetime
  readonly key: number // sort key, at least 0; ties are sorted by id. The keys of age and idle do not change with time
  readonly ruleId: number
  readonly source: SocketAddress // from the header, if there is a first read
  readonly listen: SocketAddress
  /** `index`: among the targets of its rule, or of its divert. null: still dialing. */
  readonly target: (SocketAddress & { readonly index: number }) | null
  readonly divert: string | null // name of the divert that took the caller; null: the rule's own targets
  readonly ageMs: number
  readonly idleMs: number // since a byte was delivered, or a datagram seen
  readonly bytesIn: number // delivered, as in Counters
  readonly bytesOut: number
  readonly heldBy: number | null // the meter that it waits for
  /** TCP figures of the system for each leg; null: unknown, or UDP. */
  readonly caller: TcpFigures | null
  readonly targetLeg: TcpFigures | null
}

interface TcpFigures {
  readonly rttMs: number
  readonly retransmits: number // segments, since it was opened
}
