const least = 4
const most = 32
const queueMs = 50
const fastestForMs = 60_000 // then the way to the agent may have become longer

/**
 * The number of unanswered messages of one lane. An agent applies them one after another, so a change of another lane waits
 * for all of them. The limit grows with each answer while a lane uses it, and shrinks while answers take 50 ms longer
 * than the fastest one. This keeps the agent busy and the queue short, whatever the round trip and the cost of a change.
 */
export class LaneLimit {
  #limit = least
  #fastestMs = Number.POSITIVE_INFINITY
  #fastestAt = 0

  get max(): number {
    return this.#limit
  }

  /** Called with the time from a message to its answer, and the number of messages of its lane, which it is one of. */
  answered(tookMs: number, ofLane: number, nowMs: number): void {
    if (tookMs <= this.#fastestMs || nowMs - this.#fastestAt >= fastestForMs) {
      this.#fastestMs = tookMs
      this.#fastestAt = nowMs
    }
    const waitedMs = tookMs - this.#fastestMs
    if (waitedMs > queueMs) this.#limit = Math.max(least, this.#limit - 1)
    else if (waitedMs < queueMs / 2 && ofLane >= this.#limit / 2)
      this.#limit = Math.min(most, this.#limit + 1)
  }
}
