import { isIPv4, isIPv6, SocketAddress } from 'node:net'
import { networkInterfaces } from 'node:os'
import { addressForms } from '../../kernel/platform/address-forms.ts'

export type Family = 'ipv4' | 'ipv6'

export const familyOf = (address: string): Family => (isIPv4(address) ? 'ipv4' : 'ipv6')

/** Returns the canonical form of an address: no zone, IPv6 compressed, IPv4-mapped as IPv4. */
export function canonicalAddress(address: string): string {
  const [bare = address] = address.split('%')
  if (!isIPv6(bare)) return bare
  const short = new SocketAddress({ address: bare, family: 'ipv6' }).address
  return short.startsWith('::ffff:') && short.includes('.') ? short.slice('::ffff:'.length) : short
}

/** Returns the canonical form of an IPv6 address with all bits after the first `bits` set to 0. */
export function ipv6Network(address: string, bits: number): string {
  const groups = (text: string): number[] =>
    text === '' ? [] : text.split(':').map(one => parseInt(one, 16))
  const [head = '', tail] = canonicalAddress(address).split('::')
  const left = groups(head)
  const right = groups(tail ?? '')
  const all = [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right]
  const kept = all.map((group, at) => {
    const cleared = Math.min(16, Math.max(0, 16 * (at + 1) - bits))
    return (group >> cleared) << cleared
  })
  return canonicalAddress(kept.map(group => group.toString(16)).join(':'))
}

export const isUnspecified = (address: string): boolean => address === '0.0.0.0' || address === '::'

/** Returns true for an address of this machine. Reads the interfaces each time, since they change. */
function isLocalAddress(address: string): boolean {
  if (isUnspecified(address) || address === '::1' || address.startsWith('127.')) return true
  const all = Object.values(networkInterfaces()).flat()
  return all.some(local => local !== undefined && canonicalAddress(local.address) === address)
}

/** Returns true if a dial to a canonical address reaches listeners that are bound to `bound`. */
export const isOwnAddress = (bound: readonly string[], address: string): boolean =>
  addressForms(address).some(form => isBound(bound, dialedAddress(form)))

function isBound(bound: readonly string[], dialed: string): boolean {
  if (bound.includes(dialed)) return true
  const family = familyOf(dialed)
  return bound.some(own => isUnspecified(own) && familyOf(own) === family) && isLocalAddress(dialed)
}

/** Returns the address that a dial connects to: the loopback for the unspecified address. */
export const dialedAddress = (address: string): string =>
  isUnspecified(address) ? loopbackOf[familyOf(address)] : address

const loopbackOf = { ipv4: '127.0.0.1', ipv6: '::1' } as const

/** Orders addresses as in RFC 8305: families alternate, starting with IPv6 or the family of the first address. */
export function interleave(addresses: readonly string[], prefers: 'ipv6' | 'answer'): string[] {
  const [first = ''] = addresses
  const leading = prefers === 'ipv6' ? 'ipv6' : familyOf(first)
  const lead = addresses.filter(address => familyOf(address) === leading)
  const follow = addresses.filter(address => familyOf(address) !== leading)
  return Array.from({ length: Math.max(lead.length, follow.length) }, (_, i) => [lead[i], follow[i]])
    .flat()
    .filter(address => address !== undefined)
}
