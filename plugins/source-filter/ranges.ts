// Converts address ranges to the fewest prefixes.
import ipaddr from 'ipaddr.js'

/** The addresses from `first` to `last`, both included and of one family. */
export interface Range {
  readonly bytes: 4 | 16 // of an address
  readonly first: bigint
  readonly last: bigint
}

/** Parses an address; returns null for other text. */
export function parseAddress(text: string): Pick<Range, 'bytes' | 'first'> | null {
  if (!ipaddr.IPv6.isValid(text) && !ipaddr.IPv4.isValidFourPartDecimal(text)) return null
  const bytes = ipaddr.process(text).toByteArray()
  return { bytes: bytes.length === 4 ? 4 : 16, first: BigInt(`0x${Buffer.from(bytes).toString('hex')}`) }
}

/** Returns the prefixes that cover exactly the ranges, sorted, IPv4 first. */
export const rangesToPrefixes = (ranges: readonly Range[]): string[] =>
  ([4, 16] as const).flatMap(bytes =>
    joined(ranges.filter(range => range.bytes === bytes)).flatMap(range => [...split(range)])
  )

/** Merges ranges that overlap or are adjacent. */
function joined(ranges: readonly Range[]): Range[] {
  const all: Range[] = []
  for (const range of ranges.toSorted((a, b) => (a.first < b.first ? -1 : a.first > b.first ? 1 : 0))) {
    const before = all.at(-1)
    if (!before || before.last + 1n < range.first) all.push(range)
    else if (before.last < range.last) all[all.length - 1] = { ...before, last: range.last }
  }
  return all
}

/** Splits a range into prefixes: each is the largest that starts after the previous one. */
function* split({ bytes, first, last }: Range): Generator<string> {
  const full = bytes * 8
  for (let at = first; at <= last; ) {
    let free = 0 // bits behind the prefix
    while (free < full && at % (2n << BigInt(free)) === 0n && at + (2n << BigInt(free)) - 1n <= last) free++
    const address = ipaddr.fromByteArray([...Buffer.from(at.toString(16).padStart(bytes * 2, '0'), 'hex')])
    yield free === 0 ? address.toString() : `${address}/${full - free}`
    at += 1n << BigInt(free)
  }
}
