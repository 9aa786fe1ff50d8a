// The meters of one rule, in the order that traffic passes them.
import type { Meter } from './meter.ts'
import type { Direction, Waiter } from './waiter.ts'

export class MeterChain {
  readonly #meters: readonly Meter[]

  constructor(meters: readonly Meter[]) {
    this.#meters = meters
  }

  /**
   * Enters all meters, or returns the reason of the refusal. A flow never waits: its `waiter` is null. `onLeave` is called
   * when the admission ends, or at once if it is refused.
   */
  enter(waiter: Waiter | null, onLeave: () => void = () => {}): Admission | { readonly refusal: string } {
    for (const meter of this.#meters) {
      const refusal = meter.connectionRefusal()
      if (refusal === null) continue
      onLeave()
      return { refusal }
    }
    for (const meter of this.#meters) meter.enter(waiter)
    return new Admission(this.#meters, waiter, onLeave)
  }
}

/** The admission of one connection or flow. Reserved bytes and admitted datagrams are delivered or released. */
export class Admission {
  readonly #meters: readonly Meter[]
  readonly #waiter: Waiter | null
  readonly #retries = { in: () => this.#waiter?.resume('in'), out: () => this.#waiter?.resume('out') }
  readonly #onLeave: () => void
  #hasLeft = false
  heldBy: number | null = null // id of the meter that refused the last reservation

  constructor(meters: readonly Meter[], waiter: Waiter | null, onLeave: () => void) {
    this.#meters = meters
    this.#waiter = waiter
    this.#onLeave = onLeave
  }

  /** Returns how many of `want` bytes may be read now. 0: the waiter is resumed when asking again may succeed. */
  reserve(direction: Direction, want: number): number {
    let bytes = want
    for (const meter of this.#meters) {
      bytes = meter.offer(direction, bytes, this.#retries[direction])
      if (bytes > 0) continue
      this.heldBy = meter.id
      return 0
    }
    for (const meter of this.#meters) meter.reserve(direction, bytes)
    return bytes
  }

  /** Admits a whole datagram, or returns the reason why it is dropped. */
  admitDatagram(direction: Direction, bytes: number): string | null {
    for (const meter of this.#meters) {
      const refusal = meter.datagramRefusal(direction, bytes)
      if (refusal !== null) return refusal
    }
    for (const meter of this.#meters) meter.reserve(direction, bytes)
    return null
  }

  delivered(direction: Direction, bytes: number): void {
    for (const meter of this.#meters) meter.delivered(direction, bytes)
  }

  release(direction: Direction, bytes: number): void {
    for (const meter of this.#meters) meter.release(direction, bytes)
  }

  /** Idempotent. */
  leave(): void {
    if (this.#hasLeft) return
    this.#hasLeft = true
    this.#onLeave()
    for (const meter of this.#meters) {
      for (const retry of Object.values(this.#retries)) meter.dequeue(retry)
      meter.leave(this.#waiter)
    }
  }
}
