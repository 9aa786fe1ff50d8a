import type { FirstRead } from '../engine/first-read.ts'
import { canonicalAddress, familyOf } from '../net/address.ts'
import { parsePrefix } from '../net/address-prefix.ts'

export interface SenderCheck extends Pick<FirstRead, 'refusals'> {
  /** Returns true if the header of this sender is read. */
  trusts(address: string): boolean
}

export function compileSenderCheck({ from, refusals }: FirstRead): SenderCheck {
  const prefixes = from.map(parsePrefix)
  return {
    refusals,
    trusts(sender) {
      const address = canonicalAddress(sender)
      return prefixes.some(prefix => prefix.check(address, familyOf(address)))
    }
  }
}
