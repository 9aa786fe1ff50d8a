import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * Returns a function that returns true for addresses in one of the networks: '192.0.2.7', '192.0.2.0/24', '2001:db8::/32'.
 * IPv4-mapped addresses count as IPv4. Throws TypeError for malformed networks.
 */
export function openNetworks(networks: readonly string[]): (address: string) => boolean {
  const ranges = networks.map(text => {
    const isExact = isIP(text.split('/', 1)[0] ?? '') !== 0 // ipaddr also accepts 127.1
    if (isExact && ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text)
    if (isIP(text) === 0) throw new TypeError(`${text} is not an address or a network such as 192.0.2.0/24`)
    const address = ipaddr.process(text)
    return [address, address.kind() === 'ipv4' ? 32 : 128] as const
  })
  return text => {
    const address = ipaddr.process(text)
    return ranges.some(
      ([range, bits]) => range.kind() === address.kind() && address.match(range as never, bits)
    )
  }
}
