/**
 * A TCP connection or UDP flow that has ended, or a TCP caller that was refused. A caller that was refused before it
 * matched a rule, as on a port of TLS names, belongs to the rule that counts it: see `Counters.rejected`.
 */
export interface EndedConnection {
  readonly ruleId: number
  readonly source: SocketAddress // from the header, if there is a first read
  readonly listen: SocketAddress // where the caller connected, or a flow's last datagram arrived
  /** `index`: among the targets of its rule, or of its divert. null: none was connected. */
  readonly target: (SocketAddress & { readonly index: number }) | null
  readonly divert: string | null // name of the divert that took the caller; null: the rule's own targets
  readonly serverName: string | null // the TLS name that the caller asks for, if the engine has read it
  readonly openedAt: number // ms since 1970, by the wall clock at the end
  readonly durationMs: number
  readonly bytesIn: number // delivered, as in Counters
  readonly bytesOut: number
  readonly end: ConnectionEnd
  readonly refusal: string | null // for 'refused', as in `Counters.rejected`
}

export interface SocketAddress {
  readonly address: string // canonical: no zone, IPv6 compressed, IPv4-mapped as IPv4
  readonly port: number
}

/** Why a connection or flow has ended. The order must match `ConnectionEnd` in native/src/engine-events.h. */
export const connectionEnds = [
  'caller_closed', // the caller sent its FIN first
  'target_closed',
  'caller_reset', // by RST or a network error, or nothing acknowledged for `deadPeerMs`
  'target_reset',
  'idle',
  'rule_closed', // cut, or still open after the drain time
  'budget_spent', // for longer than `Budget.holdMs`
  'dial_failed', // no target connected
  'target_unreachable', // a flow: ICMP
  'refused', // by a filter, a meter, 'loop', 'descriptors' or 'owner_share'; filters and shares can also end an open one
  'operator_closed' // by `endConnections`
] as const
export type ConnectionEnd = (typeof connectionEnds)[number]
