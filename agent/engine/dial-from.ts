import { isIPv4, isIPv6 } from 'node:net'
import { engineFault } from './engine-fault.ts'

/**
 * The local addresses for dials and probes of targets, by the family of the target's address. null: the system
 * chooses. If the host does not have the address, each dial fails with 'source_unavailable'.
 */
export interface DialFrom {
  readonly ipv4: string | null
  readonly ipv6: string | null
}

/** Throws EngineFault EINVAL for an address that is not of its family, or has a zone. */
export function checkDialFrom({ ipv4, ipv6 }: DialFrom): void {
  if (ipv4 !== null && !isIPv4(ipv4))
    throw engineFault('EINVAL', `dialFrom.ipv4 must be an IPv4 address, got ${ipv4}`)
  if (ipv6 !== null && (!isIPv6(ipv6) || ipv6.includes('%')))
    throw engineFault('EINVAL', `dialFrom.ipv6 must be an IPv6 address without a zone, got ${ipv6}`)
}
