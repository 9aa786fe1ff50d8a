/** The answers of a flow's target, and the datagrams that have none. */
export class AnswerWatch {
  hasReplied = false // since the target was connected, or since its silence was counted
  /** When the first datagram was sent that has no answer; null: none. */
  unansweredSince: number | null = null
  #hasResumed = false

  sent(): void {
    this.unansweredSince ??= performance.now()
  }

  answered(): void {
    this.unansweredSince = null
    this.#hasResumed = false
  }

  /** Gives the target the whole time again. */
  restart(): void {
    this.unansweredSince = performance.now()
  }

  /**
   * Returns true if the target has been silent for `patienceMs` (0: never). The last datagram of an exchange may need no
   * answer: when the caller resumes after a pause, the target has the same time once more.
   */
  isSilent(patienceMs: number, lastSeenAt: number): boolean {
    const now = performance.now()
    if (this.unansweredSince === null || patienceMs === 0 || now - this.unansweredSince < patienceMs)
      return false
    if (!this.hasReplied || this.#hasResumed || now - lastSeenAt < patienceMs) return true
    this.#hasResumed = true
    this.unansweredSince = now
    return false
  }
}
