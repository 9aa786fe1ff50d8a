import { isIP, SocketAddress } from 'node:net'

/** Returns the normal form of an address or a prefix ('2001:db8::/32'); null for other text, zones and mapped IPv4. */
export function parsePrefix(text: string): string | null {
  const [address = '', bits, ...rest] = text.trim().split('/')
  const family = isIP(address)
  if (family === 0 || address.includes('%') || rest.length > 0) return null
  const full = family === 4 ? 32 : 128
  const length = bits === undefined ? full : /^\d{1,3}$/.test(bits) ? Number(bits) : full + 1
  if (length > full || (family === 6 && /^::ffff:/i.test(address))) return null
  const normal = new SocketAddress({ address, family: family === 4 ? 'ipv4' : 'ipv6' }).address
  return length === full ? normal : `${normal}/${length}`
}
