// Packs prefixes into bytes: the length of each (IPv6: plus 64), then the address bytes that the length covers.
import ipaddr from 'ipaddr.js'

const v6 = 64

const bytesFor = (bits: number): number => Math.ceil(bits / 8)

/** Packs normalized prefixes. */
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

interface Packed {
  readonly size: 4 | 16 // of a whole address, in bytes
  readonly bits: number
  readonly bytes: Uint8Array // the address bytes that the length covers
}

/** Ignores a truncated prefix at the end. */
function* prefixesIn(bytes: Uint8Array): Generator<Packed> {
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at] ?? 0
    const size = first >= v6 ? 16 : 4
    const bits = first >= v6 ? first - v6 : first
    const end = at + 1 + bytesFor(bits)
    if (bits > size * 8 || end > bytes.length) return
    yield { size, bits, bytes: bytes.subarray(at + 1, end) }
    at = end
  }
}

/** Returns the prefixes in normal form. */
export const unpack = (packed: Uint8Array): string[] =>
  [...prefixesIn(packed)].map(({ size, bits, bytes }) => {
    const address = ipaddr.fromByteArray([...bytes, ...zeros].slice(0, size)).toString()
    return bits === size * 8 ? address : `${address}/${bits}`
  })

/** Returns true if a packed prefix contains the address. */
export function includes(packed: Uint8Array, address: string): boolean {
  const host = ipaddr.process(address).toByteArray()
  for (const { size, bits, bytes } of prefixesIn(packed))
    if (size === host.length && isUnder(bytes, bits, host)) return true
  return false
}

const isUnder = (prefix: Uint8Array, bits: number, host: readonly number[]): boolean =>
  prefix.every((byte, at) => {
    const ignored = Math.max(0, 8 * (at + 1) - bits) // bits of the last byte
    return byte >> ignored === (host[at] ?? 0) >> ignored
  })

const zeros = Array<number>(16).fill(0)
