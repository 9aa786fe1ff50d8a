import { isIP, SocketAddress } from 'node:net'

/** '192.0.2.0/24', '2001:db8::/32', or a bare address, in one spelling; null: it is none of them. */
export function parsePrefix(text: string): string | null {
  const [address = '', bits, ...rest] = text.trim().split('/')
  const family = isIP(address)
  if (family === 0 || address.includes('%') || rest.length > 0) return null
  const full = family === 4 ? 32 : 128
  const length = bits === undefined ? full : /^\d{1,3}$/.test(bits) ? Number(bits) : full + 1
  if (length > full || (family === 6 && /^::ffff:/i.test(address))) return null
  const spelled = new SocketAddress({ address, family: family === 4 ? 'ipv4' : 'ipv6' }).address
  return length === full ? spelled : `${spelled}/${length}`
}
