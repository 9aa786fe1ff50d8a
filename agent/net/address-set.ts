// Sets of address prefixes. A lookup costs one step for each prefix length in the set.
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { addressForms } from '../../kernel/platform/address-forms.ts'
import { engineFault } from '../engine/engine-fault.ts'
import { canonicalAddress } from './address.ts'

interface Prefix {
  readonly length: string // family and bits
  readonly base: string
}

export class AddressSet {
  readonly #bases = new Map<string, Set<string>>() // by length; none is empty

  change(add: readonly string[], remove: readonly string[]): void {
    const added = add.map(parse)
    const removed = remove.map(parse)
    for (const { length, base } of removed) {
      this.#bases.get(length)?.delete(base)
      if (this.#bases.get(length)?.size === 0) this.#bases.delete(length)
    }
    for (const { length, base } of added) {
      const bases = this.#bases.get(length) ?? new Set()
      this.#bases.set(length, bases.add(base))
    }
  }

  /** Takes a canonical address. */
  contains(address: string): boolean {
    if (this.#bases.size === 0) return false
    const bytes = ipaddr.parse(address).toByteArray()
    for (const [length, bases] of this.#bases) {
      const [size, bits] = length.split('/').map(Number)
      if (size === bytes.length && bases.has(masked(bytes, bits ?? 0))) return true
    }
    return false
  }
}

/** Throws EngineFault EINVAL. The length of an IPv4-mapped prefix includes the 96 bits before the IPv4 address. */
function parse(text: string): Prefix {
  const [, address = '', length] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  if (isIP(address) === 0) throw engineFault('EINVAL', `${text} is not an address prefix`)
  const bytes = ipaddr.parse(canonicalAddress(address)).toByteArray()
  const skipped = bytes.length === 4 && address.includes(':') ? 96 : 0
  const bits = length === undefined ? bytes.length * 8 : Number(length) - skipped
  if (bits < 0 || bits > bytes.length * 8) throw engineFault('EINVAL', `${text} is not an address prefix`)
  return { length: `${bytes.length}/${bits}`, base: masked(bytes, bits) }
}

const masked = (bytes: readonly number[], bits: number): string =>
  String.fromCharCode(...bytes.map((byte, i) => byte & (0xff00 >> Math.min(8, Math.max(0, bits - 8 * i)))))

/** Returns the source of a canonical address: the IPv4 address that it is or stands for, else 'addr/64'. */
export function sourceOf(address: string): string {
  const ipv4 = addressForms(address).find(form => isIP(form) === 4)
  if (ipv4 !== undefined) return ipv4
  const { parts } = ipaddr.IPv6.parse(address)
  return `${new ipaddr.IPv6([...parts.slice(0, 4), 0, 0, 0, 0])}/64`
}
