// How many bans the rules of an owner can make: a flood of sources must not keep the agent from its other work.

const perSec = 50
const burst = 100

interface Allowance {
  readonly left: number
  readonly at: number // ms
}

export class BanRate {
  readonly #allowances = new Map<string, Allowance>() // by owner

  /** Returns false if rules of the owner have made too many bans just now. A source that stays over its limit is banned later. */
  take(owner: string, now: number): boolean {
    const { left, at } = this.#allowances.get(owner) ?? { left: burst, at: now }
    const refilled = Math.min(burst, left + (Math.max(0, now - at) * perSec) / 1_000)
    const isTaken = refilled >= 1
    this.#allowances.set(owner, { left: isTaken ? refilled - 1 : refilled, at: now })
    return isTaken
  }

  forget(owner: string): void {
    this.#allowances.delete(owner)
  }
}
