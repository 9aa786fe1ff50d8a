/**
 * Counts lines of owners up to `max`. An owner holds at most three times as many as are free: three quarters of them
 * when it is alone. Some are therefore free for an owner that has none.
 */
export class LineShares {
  readonly #max: number
  readonly #counts = new Map<string, number>() // by owner
  #total = 0

  constructor(max: number) {
    this.#max = max
  }

  /** Counts a line, or returns false. */
  add(owner: string): boolean {
    const own = this.#counts.get(owner) ?? 0
    if (own >= 3 * (this.#max - this.#total)) return false
    this.#counts.set(owner, own + 1)
    this.#total++
    return true
  }

  remove(owner: string): void {
    const own = this.#counts.get(owner) ?? 0
    if (own > 1) this.#counts.set(owner, own - 1)
    else this.#counts.delete(owner)
    this.#total--
  }
}
