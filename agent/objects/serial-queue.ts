/** Runs one piece of work after another, whoever asks. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve()
  #isClosed = false

  /** The promise of work that has not begun when the queue closes never settles. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(() => (this.#isClosed ? new Promise<T>(() => {}) : work()))
    this.#last = done.catch(() => {})
    return done
  }

  close(): void {
    this.#isClosed = true
  }
}
