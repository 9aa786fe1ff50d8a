import { isIPv4, isIPv6, SocketAddress } from 'node:net'
import { networkInterfaces } from 'node:os'

export type Family = 'ipv4' | 'ipv6'

export const familyOf = (address: string): Family => (isIPv4(address) ? 'ipv4' : 'ipv6')

/** One spelling for each address: no zone, IPv6 in its short form, IPv4-mapped as IPv4. */
export function canonicalAddress(address: string): string {
  const [bare = address] = address.split('%')
  if (!isIPv6(bare)) return bare
  const short = new SocketAddress({ address: bare, family: 'ipv6' }).address
  return short.startsWith('::ffff:') && short.includes('.') ? short.slice('::ffff:'.length) : short
}

export const isUnspecified = (address: string): boolean => address === '0.0.0.0' || address === '::'

/** Does this machine answer there? Interfaces come and go, so they are asked each time. */
export function isLocalAddress(address: string): boolean {
  if (isUnspecified(address) || address === '::1' || address.startsWith('127.')) return true
  const all = Object.values(networkInterfaces()).flat()
  return all.some(own => own !== undefined && canonicalAddress(own.address) === address)
}

/** The order of RFC 8305: families take turns, the preferred or the first answer's leads. */
export function interleave(addresses: readonly string[], prefers: 'ipv6' | 'answer'): string[] {
  const [first = ''] = addresses
  const leading = prefers === 'ipv6' ? 'ipv6' : familyOf(first)
  const lead = addresses.filter(address => familyOf(address) === leading)
  const follow = addresses.filter(address => familyOf(address) !== leading)
  return Array.from({ length: Math.max(lead.length, follow.length) }, (_, i) => [lead[i], follow[i]])
    .flat()
    .filter(address => address !== undefined)
}
