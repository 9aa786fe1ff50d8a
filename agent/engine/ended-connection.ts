/**
 * A TCP connection or UDP flow that has ended, or a TCP caller that was refused: by its rule, or before it had one, as on a
 * port of TLS names. Such callers belong to the rule that counts them, see `Counters.rejected`.
 */
export interface EndedConnection {
  readonly ruleId: number
  readonly source: SocketAddress // as a first read says it
  readonly listen: SocketAddress // where the caller has connected, or a flow's last datagram has arrived
  readonly target: (SocketAddress & { readonly index: number }) | null // null: none was connected
  readonly serverName: string | null // for which the caller's TLS has asked, where the engine has read it
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

/** Why a connection or flow has ended. The order is that of `ConnectionEnd` in native/src/engine-events.h. */
export const connectionEnds = [
  'caller_closed', // the caller sent its FIN first
  'target_closed',
  'caller_reset', // by RST or a network error
  'target_reset',
  'idle',
  'rule_closed', // cut, or still open after the drain time
  'budget_spent', // and not raised within `Budget.holdMs`
  'dial_failed', // no target could be connected
  'target_unreachable', // a flow: ICMP
  'refused', // by a filter, a meter, 'loop' or 'descriptors', also while it was open
  'operator_closed' // by `endConnections`
] as const
export type ConnectionEnd = (typeof connectionEnds)[number]
