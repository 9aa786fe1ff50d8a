import type { ReplyCap } from '../../engine/source-guard.ts'

/** The bytes of one flow from and to its caller. */
export class ReplyAccount {
  readonly #cap: ReplyCap
  #asked = 0
  #replied = 0
  #exchanges = 0 // datagrams of the caller that came after a reply
  #hasReplied = false // since the caller's last datagram
  #isProven = false

  constructor(cap: ReplyCap) {
    this.#cap = cap
  }

  ask(bytes: number): void {
    this.#asked += bytes
    if (!this.#hasReplied) return
    this.#hasReplied = false
    this.#exchanges++
    if (this.#cap.provenAfter > 0 && this.#exchanges >= this.#cap.provenAfter) this.#isProven = true
  }

  /** Returns the reason why a reply is too large for what was asked, or null. */
  refusalOf(bytes: number): string | null {
    if (!this.#isProven && this.#replied + bytes > this.#cap.ratio * this.#asked) return this.#cap.refusal
    this.#replied += bytes
    this.#hasReplied = true
    return null
  }
}
