// The byte budget of a meter. When it is spent, live connections are put on hold, and reset after `holdMs`.
import type { Budget } from '../../engine/engine.ts'
import { timeoutMs } from '../timeout-ms.ts'
import type { Retry, Waiter } from './waiter.ts'

/** The budget's view of its meter. */
interface Metered {
  /** Bytes delivered so far. */
  total(): number
  onSpent(): void
  readonly waiters: ReadonlySet<Waiter>
}

export class BudgetState {
  readonly #meter: Metered
  readonly #queue = new Set<Retry>()
  #budget: Budget | null = null // null: unlimited
  #reservedBytes = 0
  #hold: NodeJS.Timeout | null = null // set while the budget is spent, also after it has fired

  constructor(meter: Metered) {
    this.#meter = meter
  }

  set(budget: Budget | null): void {
    this.#budget = budget
    if (this.#hold && (!budget || this.#meter.total() < budget.mark)) {
      clearTimeout(this.#hold)
      this.#hold = null
    }
    this.#holdWhenSpent()
    this.#serveQueue()
  }

  isSpent(): boolean {
    return this.#hold !== null
  }

  /** Returns the bytes that are neither delivered nor reserved. */
  remaining(): number {
    if (!this.#budget) return Number.POSITIVE_INFINITY
    return Math.max(0, Math.floor(this.#budget.mark - this.#meter.total() - this.#reservedBytes))
  }

  /** Returns how many of `want` bytes may be reserved. 0: `retry` is queued and will be called. */
  offer(want: number, retry: Retry): number {
    const offered = Math.min(want, this.remaining())
    if (offered === 0) this.#queue.add(retry)
    return offered
  }

  dequeue(retry: Retry): void {
    this.#queue.delete(retry)
  }

  reserve(bytes: number): void {
    this.#reservedBytes += bytes
  }

  /** Ends a reservation of bytes that were delivered; `total` includes them already. */
  delivered(bytes: number): void {
    this.#reservedBytes -= bytes
    this.#holdWhenSpent()
  }

  /** Gives back reserved bytes that were not delivered. */
  release(bytes: number): void {
    this.#reservedBytes -= bytes
    this.#serveQueue()
  }

  #serveQueue(): void {
    for (const retry of [...this.#queue]) {
      if (this.remaining() === 0) return
      if (this.#queue.delete(retry)) retry()
    }
  }

  #holdWhenSpent(): void {
    if (!this.#budget || this.#hold || this.#meter.total() < this.#budget.mark) return
    this.#hold = setTimeout(() => this.#resetAll(), timeoutMs(this.#budget.holdMs))
    this.#meter.onSpent()
  }

  #resetAll(): void {
    for (const waiter of [...this.#meter.waiters]) waiter.reset('budget_spent')
  }
}
