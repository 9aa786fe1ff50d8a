import type { FirstRead } from '../engine/first-read.ts'
import { canonicalAddress, familyOf } from '../net/address.ts'
import { parsePrefixes } from '../net/address-prefix.ts'

export interface SenderCheck extends Pick<FirstRead, 'refusals'> {
  /** Returns true if the header of this sender is read. */
  trusts(address: string): boolean
}

export function compileSenderCheck({ from, refusals }: FirstRead): SenderCheck {
  const prefixes = parsePrefixes(from)
  return {
    refusals,
    trusts(sender) {
      const address = canonicalAddress(sender)
      return prefixes.check(address, familyOf(address))
    }
  }
}
