// Handshakes in order: who has begun is finished before newcomers are begun, as long as it takes no longer than it should.
import type { Clock } from '../../kernel/base/clock.ts'

const maxBegun = 256
const maxBegunOfNetwork = 16
const maxWaiting = 2_048
const giveWayMs = 3_000 // several round trips, and the work for all others
const checkMs = 250

/** A stream that has not shown who it is. */
export interface Newcomer {
  readonly network: string
  begin(): void
  /** Closes it; `leave` follows. */
  drop(): void
}

export class HandshakeQueue {
  readonly #clock: Pick<Clock, 'monotonic' | 'every'>
  readonly #waiting = new Set<Newcomer>() // in order
  readonly #begun = new Map<Newcomer, number>() // to the time; the oldest first
  readonly #ofNetwork = new Map<string, number>() // begun ones
  #stopChecks: (() => unknown) | null = null

  constructor(clock: Pick<Clock, 'monotonic' | 'every'>) {
    this.#clock = clock
  }

  /** Begins the handshake, or lets it wait for a place. When too many wait, one of the network that has most goes. */
  enter(newcomer: Newcomer): void {
    this.#waiting.add(newcomer)
    this.#beginNext()
    if (this.#waiting.size > maxWaiting) this.#dropSurplus()
    if (this.#waiting.size > 0) this.#stopChecks ??= this.#clock.every(checkMs, () => this.#makeRoom())
  }

  /** Its handshake is over, or it is closed. */
  leave(newcomer: Newcomer): void {
    this.#waiting.delete(newcomer)
    if (this.#begun.delete(newcomer)) {
      const left = this.#begunOf(newcomer.network) - 1
      if (left > 0) this.#ofNetwork.set(newcomer.network, left)
      else this.#ofNetwork.delete(newcomer.network)
    }
    this.#beginNext()
    if (this.#waiting.size > 0) return
    void this.#stopChecks?.()
    this.#stopChecks = null
  }

  #begunOf = (network: string): number => this.#ofNetwork.get(network) ?? 0

  #beginNext(): void {
    while (this.#waiting.size > 0 && this.#begun.size < maxBegun) {
      const next = this.#next()
      if (!next) return
      this.#waiting.delete(next)
      this.#begun.set(next, this.#clock.monotonic())
      this.#ofNetwork.set(next.network, this.#begunOf(next.network) + 1)
      next.begin()
    }
  }

  /** The first in order, of the networks that have least: many streams of one network do not hold up another. */
  #next(): Newcomer | null {
    let found: Newcomer | null = null
    let least = maxBegunOfNetwork
    for (const one of this.#waiting) {
      const begun = this.#begunOf(one.network)
      if (begun >= least) continue
      found = one
      least = begun
      if (begun === 0) break
    }
    return found
  }

  /** Those that have had their time give way to others that wait for their places. */
  #makeRoom(): void {
    const since = this.#clock.monotonic() - giveWayMs
    for (const [one, begunAt] of this.#begun) {
      if (begunAt > since || this.#waiting.size === 0) return
      const isFull = this.#begun.size >= maxBegun
      if (isFull || this.#waiting.values().some(({ network }) => network === one.network)) one.drop()
    }
  }

  #dropSurplus(): void {
    const counts = new Map<string, number>()
    for (const { network } of this.#waiting) counts.set(network, (counts.get(network) ?? 0) + 1)
    const most = Math.max(...counts.values())
    const last = [...this.#waiting].findLast(({ network }) => counts.get(network) === most)
    last?.drop()
  }
}
