// Counts and limits traffic: rates delay or drop, counts refuse, a spent budget holds connections.
import type { MeterCounters, Meter as MeterLimits } from '../../engine/engine.ts'
import { BudgetState } from './budget-state.ts'
import { TokenBucket } from './token-bucket.ts'
import type { Direction, Retry, Waiter } from './waiter.ts'

export class Meter {
  readonly budget: BudgetState
  readonly id: number
  readonly #rates = { in: new TokenBucket(), out: new TokenBucket() }
  readonly #newConnections = new TokenBucket()
  readonly #delivered = { in: 0, out: 0 }
  readonly #waiters = new Set<Waiter>()
  #limits: MeterLimits
  #active = 0

  constructor(id: number, limits: MeterLimits, onSpent: () => void) {
    const total = () => this.#delivered.in + this.#delivered.out
    this.id = id
    this.budget = new BudgetState({ total, onSpent, waiters: this.#waiters })
    this.#limits = limits
    this.setLimits(limits)
  }

  setLimits(limits: MeterLimits): void {
    this.#limits = limits
    this.#rates.in.setRate(limits.bytesIn)
    this.#rates.out.setRate(limits.bytesOut)
    this.#newConnections.setRate(limits.newConnections)
  }

  /** Returns the reason why one more connection is refused, or null. Takes nothing. */
  connectionRefusal(): string | null {
    const { connections, refusals } = this.#limits
    if (this.budget.isSpent()) return refusals.budget
    if (connections !== null && this.#active >= connections) return refusals.connections
    return this.#newConnections.has(1) ? null : refusals.newConnections
  }

  /** Returns the reason why a datagram is dropped, or null. Takes nothing. One that crosses the mark passes whole. */
  datagramRefusal(direction: Direction, bytes: number): string | null {
    if (this.budget.remaining() === 0) return this.#limits.refusals.budget
    return this.#rates[direction].has(bytes) ? null : this.#limits.refusals.bytes
  }

  /** Adds a connection, or a flow: it never waits, and `waiter` is null. */
  enter(waiter: Waiter | null): void {
    this.#active++
    this.#newConnections.take(1)
    if (waiter) this.#waiters.add(waiter)
  }

  leave(waiter: Waiter | null): void {
    this.#active--
    if (waiter) this.#waiters.delete(waiter)
  }

  /** Returns how many of `want` bytes may be reserved. 0: `retry` is queued and will be called. Takes nothing. */
  offer(direction: Direction, want: number, retry: Retry): number {
    const offered = this.budget.offer(want, retry)
    return offered === 0 ? 0 : this.#rates[direction].offer(offered, retry)
  }

  dequeue(retry: Retry): void {
    this.#rates.in.dequeue(retry)
    this.#rates.out.dequeue(retry)
    this.budget.dequeue(retry)
  }

  reserve(direction: Direction, bytes: number): void {
    this.#rates[direction].take(bytes)
    this.budget.reserve(bytes)
  }

  delivered(direction: Direction, bytes: number): void {
    this.#delivered[direction] += bytes
    this.budget.delivered(bytes)
  }

  /** Gives back reserved bytes that were not delivered. */
  release(direction: Direction, bytes: number): void {
    this.#rates[direction].giveBack(bytes)
    this.budget.release(bytes)
  }

  sample(): MeterCounters {
    return {
      id: this.id,
      bytesIn: this.#delivered.in,
      bytesOut: this.#delivered.out,
      active: this.#active,
      throttledMs: this.#rates.in.waitedMs() + this.#rates.out.waitedMs()
    }
  }
}
