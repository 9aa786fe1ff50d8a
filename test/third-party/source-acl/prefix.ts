import { isIP, SocketAddress } from 'node:net'

/** Normalizes an address or a prefix ('2001:db8::/32'). Returns null for other text, zones and mapped IPv4. */
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

/** True for a prefix with host bits, like 10.0.0.1/8, which may mean either the address or the network. */
export function hasHostBits(prefix: string): boolean {
  const [address = '', bits] = prefix.split('/')
  if (bits === undefined) return false
  const parts = partsOf(address)
  const width = isIP(address) === 4 ? 8 : 16
  return parts.some(
    (part, i) => part % 2 ** Math.min(width, Math.max(0, (i + 1) * width - Number(bits))) !== 0
  )
}

/** Returns the 4 bytes, or the 8 groups of 16 bits. */
function partsOf(address: string): number[] {
  if (isIP(address) === 4) return address.split('.').map(Number)
  const hex = new URL(`http://[${address}]`).hostname.slice(1, -1) // replaces a dotted end, as in ::1.2.3.4
  const [head = [], tail = []] = hex.split('::').map(half => half.split(':').filter(group => group !== ''))
  const zeros = Array<string>(8 - head.length - tail.length).fill('0')
  return [...head, ...zeros, ...tail].map(group => Number.parseInt(group, 16))
}
