// A token bucket with a queue: in t seconds it gives at most perSec * t + burst tokens, to waiters in turn.
import type { Rate } from '../../engine/engine.ts'
import { timeoutMs } from '../timeout-ms.ts'
import type { Retry } from './waiter.ts'

/** While several wait, each gets one slice in turn. Smaller slices would cost more CPU than they are worth. */
const sliceMs = 10
const maxSliceTokens = 64 * 1024

export class TokenBucket {
  readonly #now: () => number
  readonly #queue = new Map<Retry, number>() // with the time of entry, by #now
  #rate: Rate | null = null // null: unlimited
  #tokens = 0
  #refilledAt = 0
  #waitedMs = 0 // of all that have left the queue
  #serving: Retry | null = null
  #timer: NodeJS.Timeout | undefined

  constructor(now = () => performance.now()) {
    this.#now = now
  }

  /** Ignores the queue: for datagrams and new connections, which cannot wait. */
  has(count: number): boolean {
    this.#refill()
    return this.#rate === null || this.#tokens >= count
  }

  take(count: number): void {
    if (this.#rate) this.#tokens -= count
  }

  giveBack(count: number): void {
    if (this.#rate) this.#tokens = Math.min(burstOf(this.#rate), this.#tokens + count)
  }

  /** Returns how many of `want` may be taken now. 0: `retry` is queued and will be called. */
  offer(want: number, retry: Retry): number {
    if (!this.#rate) return want
    const isNext = this.#serving === retry || this.#queue.size === 0
    const slice = Math.min(want, sliceOf(this.#rate))
    if (isNext && this.has(slice)) {
      this.#serving = null
      return this.#queue.size > 0 ? slice : Math.min(want, maxSliceTokens, Math.floor(this.#tokens))
    }
    if (!this.#queue.has(retry)) this.#queue.set(retry, this.#now())
    if (this.#serving === null && this.#queue.size === 1) this.#schedule()
    return 0
  }

  dequeue(retry: Retry): void {
    const since = this.#queue.get(retry)
    if (since === undefined) return
    this.#queue.delete(retry)
    this.#waitedMs += this.#now() - since
    if (this.#queue.size === 0) clearTimeout(this.#timer)
  }

  /** A bucket starts full; one that had a rate keeps the tokens that fit. */
  setRate(rate: Rate | null): void {
    this.#refill()
    this.#tokens = rate ? Math.min(this.#rate ? this.#tokens : Number.POSITIVE_INFINITY, burstOf(rate)) : 0
    this.#rate = rate
    this.#serveQueue()
  }

  /** Returns the time spent in the queue so far, summed over all waiters. */
  waitedMs(): number {
    const now = this.#now()
    return [...this.#queue.values()].reduce((sum, since) => sum + now - since, this.#waitedMs)
  }

  #refill(): void {
    const now = this.#now()
    const rate = this.#rate
    if (rate)
      this.#tokens = Math.min(burstOf(rate), this.#tokens + ((now - this.#refilledAt) * rate.perSec) / 1000)
    this.#refilledAt = now
  }

  /** Calls waiters while there is a slice for the next one. One that wants more goes to the end of the queue. */
  #serveQueue(): void {
    for (const retry of [...this.#queue.keys()]) {
      if (this.#rate && !this.has(sliceOf(this.#rate))) break
      if (!this.#queue.has(retry)) continue
      this.dequeue(retry)
      this.#serving = retry
      retry()
      this.#serving = null
    }
    this.#schedule()
  }

  #schedule(): void {
    clearTimeout(this.#timer)
    if (!this.#rate || this.#queue.size === 0 || this.#rate.perSec <= 0) return
    const missingMs = ((sliceOf(this.#rate) - this.#tokens) * 1000) / this.#rate.perSec
    this.#timer = setTimeout(() => this.#serveQueue(), timeoutMs(Math.max(1, missingMs)))
  }
}

/** At least one token: with less, nothing would ever pass. */
const burstOf = ({ burst }: Rate): number => Math.max(1, burst)

/** At most half a burst, so that the bucket does not overflow before a late timer fires. */
const sliceOf = (rate: Rate): number =>
  Math.max(
    1,
    Math.min(Math.floor(burstOf(rate) / 2), Math.ceil((rate.perSec * sliceMs) / 1000), maxSliceTokens)
  )
