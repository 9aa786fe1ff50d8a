import type { SocketAddress } from './ended-connection.ts'

/** The order of `OpenConnections.rows`; that of the names is the one of `ConnectionQuery::Sort` in native/src. */
export const connectionSorts = ['age', 'bytes', 'rate', 'idle'] as const
export type ConnectionSort = (typeof connectionSorts)[number]

/** Which open connections and flows are meant; null: all. All members must match. */
export interface ConnectionSelection {
  readonly ids: readonly number[] | null
  readonly rules: readonly number[] | null // `EngineRule.id`
  readonly source: string | null // prefix: '10.0.0.0/8', or an address
  readonly target: { readonly address: string; readonly port: number | null } | null // as connected; null: any port
}

/** A page of a selection: the rows with the largest keys, behind the row `after`. */
export interface ConnectionQuery extends ConnectionSelection {
  readonly sort: ConnectionSort
  readonly after: { readonly key: number; readonly id: number } | null
  readonly limit: number
}

export interface OpenConnections {
  readonly matched: number // of the selection, on all pages, as the sums
  readonly bytesIn: number
  readonly bytesOut: number
  readonly rows: readonly OpenConnection[]
}

/** A TCP connection or UDP flow that is open now. */
export interface OpenConnection {
  readonly id: number // of no other one in the life of the engine
  readonly key: number // by which it is sorted, at least 0; ties by id. Of age and idle it stays while time passes
  readonly ruleId: number
  readonly source: SocketAddress // as a first read says it
  readonly listen: SocketAddress
  readonly target: (SocketAddress & { readonly index: number }) | null // null: it is being dialed
  readonly ageMs: number
  readonly idleMs: number // since a byte was delivered, or a datagram seen
  readonly bytesIn: number // delivered, as in Counters
  readonly bytesOut: number
  readonly heldBy: number | null // the meter for which it waits
  /** What the system has measured of both legs; null: unknown, or no TCP. */
  readonly caller: TcpFigures | null
  readonly targetLeg: TcpFigures | null
}

export interface TcpFigures {
  readonly rttMs: number
  readonly retransmits: number // segments, since it was opened
}
