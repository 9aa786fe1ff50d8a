import { parsePrefixes } from '../net/address-prefix.ts'
import { type EngineFault, engineFault } from './engine-fault.ts'

/**
 * A header that a sender in front of the callers, such as a load balancer, writes before a caller's first byte. The
 * engine uses the address in it as the caller's: for filters, balances, records and preambles. Its bytes are not counted.
 */
export interface FirstRead {
  /**
   * The PROXY protocol of HAProxy (proxy-protocol.txt), version 1 or 2, in at most 536 bytes within 3 s. `UNKNOWN`, LOCAL
   * and an unspecified family mean the sender's own address. Headers that HAProxy refuses are wrong. UDP: version 2 in
   * the first datagram of a flow; the engine also removes it from later datagrams that have it.
   */
  readonly form: 'proxy_protocol'
  /** Address prefixes of the senders that must write it, such as '10.0.0.0/8'. Connections of others are refused. */
  readonly from: readonly string[]
  /**
   * The reasons under which `Counters.rejected` counts refusals. 'header': the header is wrong, missing, too long or too
   * late, or its place is taken back: 1,024 wait at a port. 'untrusted': the sender is not one of `from`. UDP counts datagrams.
   */
  readonly refusals: Readonly<Record<'header' | 'untrusted', string>>
}

/** Throws EngineFault EINVAL for an unknown form, or if there are no senders or reasons. */
export function checkFirstRead({ form, from, refusals }: FirstRead): void {
  if (form !== 'proxy_protocol') throw invalid(`firstRead.form must be 'proxy_protocol', got ${form}`)
  if (from.length === 0) throw invalid('firstRead.from is empty: give the prefixes of the senders')
  parsePrefixes(from)
  for (const key of ['header', 'untrusted'] as const)
    if (!refusals[key]) throw invalid(`firstRead.refusals.${key} is empty: give a reason to count under`)
}

const invalid = (message: string): EngineFault => engineFault('EINVAL', message)
