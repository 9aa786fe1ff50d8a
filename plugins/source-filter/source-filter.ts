// Prefixes as bytes: of each its length (IPv6: plus 64) and the bytes of its address that the length covers.
import ipaddr from 'ipaddr.js'

const v6 = 64

const bytesFor = (bits: number): number => Math.ceil(bits / 8)

/** Takes prefixes in their normal form. */
export function pack(prefixes: readonly string[]): Uint8Array {
  const bytes: number[] = []
  for (const prefix of prefixes) {
    const [address = '', length] = prefix.split('/')
    const all = ipaddr.parse(address).toByteArray()
    const bits = length === undefined ? all.length * 8 : Number(length)
    bytes.push(all.length === 16 ? v6 + bits : bits, ...all.slice(0, bytesFor(bits)))
  }
  return Uint8Array.from(bytes)
}

/** Returns the prefixes in their normal form; what is left of a cut one is left out. */
export function unpack(bytes: Uint8Array): string[] {
  const prefixes: string[] = []
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at] ?? 0
    const full = first >= v6 ? 128 : 32
    const bits = first >= v6 ? first - v6 : first
    const end = at + 1 + bytesFor(bits)
    if (bits > full || end > bytes.length) break
    const address = ipaddr
      .fromByteArray([...bytes.subarray(at + 1, end), ...zeros].slice(0, full / 8))
      .toString()
    prefixes.push(bits === full ? address : `${address}/${bits}`)
    at = end
  }
  return prefixes
}

const zeros = Array<number>(16).fill(0)
