import { timeoutMs } from './timeout-ms.ts'

/** Calls `end` after a time that a later call can only bring forward. */
export class Drain {
  readonly #end: () => void
  #endsAt = Number.POSITIVE_INFINITY // ms, by performance.now()
  #timer: NodeJS.Timeout | undefined

  constructor(end: () => void) {
    this.#end = end
  }

  /** 0: at once; null: never, unless another call sets a time. */
  endAfter(ms: number | null): void {
    const endsAt = performance.now() + (ms ?? Number.POSITIVE_INFINITY)
    if (ms === null || endsAt >= this.#endsAt) return
    this.#endsAt = endsAt
    clearTimeout(this.#timer)
    if (ms > 0) this.#timer = setTimeout(this.#end, timeoutMs(ms))
    else this.#end()
  }

  cancel(): void {
    clearTimeout(this.#timer)
  }
}
