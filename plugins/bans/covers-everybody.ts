import ipaddr from 'ipaddr.js'
import { normalizePrefix } from '../rules/exports.ts'

/** True if the addresses and prefixes together cover all IPv4 or all IPv6 addresses. Ignores other texts. */
export function coversEverybody(texts: readonly string[]): boolean {
  const prefixes = texts.flatMap(text => {
    const normal = normalizePrefix(text)
    if (normal === null) return []
    const [base, bits] = normal.includes('/') ? ipaddr.parseCIDR(normal) : [ipaddr.parse(normal), null]
    return [{ base, bits: bits ?? base.toByteArray().length * 8 }]
  })
  return [...Map.groupBy(prefixes, ({ base }) => base.kind()).values()].some(
    ofFamily => shareOf(ofFamily) >= 1
  )
}

interface Prefix {
  readonly base: ipaddr.IPv4 | ipaddr.IPv6
  readonly bits: number
}

/** Returns the share of all addresses of one family that the prefixes cover, from 0 to 1. */
function shareOf(prefixes: readonly Prefix[]): number {
  let share = 0
  const counted: Prefix[] = [] // disjoint: the widest come first
  for (const one of prefixes.toSorted((a, b) => a.bits - b.bits)) {
    if (counted.some(({ base, bits }) => one.base.match(base as never, bits))) continue
    counted.push(one)
    share += 2 ** -one.bits
  }
  return share
}
