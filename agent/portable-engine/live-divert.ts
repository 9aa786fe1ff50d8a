// A divert of an open rule: the callers that it takes, and how many it has.
import { addressForms } from '../../kernel/platform/address-forms.ts'
import type { Divert } from '../engine/divert.ts'
import type { AddressSet } from '../net/address-set.ts'
import type { TargetGroup } from './target-group.ts'

/** A refusal, or the targets of the caller and a function that releases its place. */
export type Diverted =
  | { readonly refusal: string }
  | { readonly targets: TargetGroup; readonly leave: () => void }

export class LiveDivert {
  readonly targets: TargetGroup
  readonly #limit: Divert['refusalBeyond']
  readonly #sets: readonly AddressSet[]
  /** Its connections and flows, those of replaced rules included. */
  #open = { count: 0 }

  constructor({ from, refusalBeyond }: Divert, targets: TargetGroup, setOf: (name: string) => AddressSet) {
    this.targets = targets
    this.#limit = refusalBeyond
    this.#sets = from.map(setOf)
  }

  continueFrom(other: LiveDivert): void {
    this.#open = other.#open
    this.targets.continueFrom(other.targets)
  }

  /** Takes a canonical address. */
  matches(address: string): boolean {
    return addressForms(address).some(form => this.#sets.some(set => set.contains(form)))
  }

  enter(): Diverted {
    const open = this.#open
    if (this.#limit && open.count >= this.#limit.max) return { refusal: this.#limit.reason }
    open.count++
    return { targets: this.targets, leave: () => void open.count-- }
  }
}
