/**
 * What a sender in front of the callers, such as a load balancer, writes before a caller's first byte. The address that it
 * gives is the caller's from then on: for filters, balances, records and preambles. Its bytes count nowhere.
 */
export interface FirstRead {
  /**
   * The PROXY protocol of HAProxy (proxy-protocol.txt), version 1 or 2, in at most 536 bytes within 3 s. `UNKNOWN`, LOCAL
   * and an unspecified family stand for the sender's own address; what else HAProxy refuses is wrong. UDP: version 2 in
   * the first datagram of a flow; where later ones have it, too, it is taken off.
   */
  readonly form: 'proxy_protocol'
  /** Address prefixes of the senders that must write it, such as '10.0.0.0/8'. Connections of others are refused. */
  readonly from: readonly string[]
  /**
   * The reasons under which `Counters.rejected` counts refusals. 'header': wrong, missing, too long or late, or 1,024 are
   * awaited on the port; of UDP, datagrams. 'untrusted': not from these senders.
   */
  readonly refusals: Readonly<Record<'header' | 'untrusted', string>>
}
