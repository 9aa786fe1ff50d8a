import { isIPv4, isIPv6 } from 'node:net'
import { type DialFrom, engineFault } from '../engine/engine.ts'

/** Throws EngineFault EINVAL for what is no address of its family, or has a zone. */
export function checkDialFrom({ ipv4, ipv6 }: DialFrom): void {
  if (ipv4 !== null && !isIPv4(ipv4)) throw engineFault('EINVAL', `dialFrom.ipv4 ${ipv4} is no IPv4 address`)
  if (ipv6 !== null && (!isIPv6(ipv6) || ipv6.includes('%')))
    throw engineFault('EINVAL', `dialFrom.ipv6 ${ipv6} is no IPv6 address without a zone`)
}
