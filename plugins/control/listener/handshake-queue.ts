// Handshakes in order: who has begun is finished before newcomers are begun, as long as it takes no longer than it should.
// Who has not sent its ClientHello takes no place here.
import type { Clock } from '../../../kernel/base/clock.ts'
import { FairEviction } from './fair-eviction.ts'

const maxBegun = 256
const maxBegunOfNetwork = 16
const maxWaiting = 8_192
const maxSilent = 8_192
const begunInATurn = 4 // each is about a millisecond of work: what else the server does has its turn in between
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
  readonly #silent = new FairEviction<Newcomer>(maxSilent)
  readonly #waiting = new FairEviction<Newcomer>(maxWaiting)
  readonly #begun = new Map<Newcomer, number>() // to the time; the oldest first
  readonly #ofNetwork = new Map<string, number>() // begun ones
  #stopChecks: (() => unknown) | null = null
  #willBegin = false

  constructor(clock: Pick<Clock, 'monotonic' | 'every'>) {
    this.#clock = clock
  }

  /** Those that want to be let in: whoever comes now waits for them. */
  get size(): number {
    return this.#waiting.size + this.#begun.size
  }

  /** It is connected and has sent nothing. When too many have, the oldest of the network that has most goes. */
  arrive(newcomer: Newcomer): void {
    this.#silent.add(newcomer)
    this.#silent.surplus(newcomer, 'oldest')?.drop()
  }

  /** It has sent its ClientHello, and gets a place in order. When too many wait, the last of the network that has most goes. */
  enter(newcomer: Newcomer): void {
    this.#silent.delete(newcomer)
    this.#waiting.add(newcomer)
    this.#waiting.surplus(newcomer, 'newest')?.drop()
    this.#beginSoon()
  }

  /** Its handshake is over, or it is closed. */
  leave(newcomer: Newcomer): void {
    this.#silent.delete(newcomer)
    this.#waiting.delete(newcomer)
    if (this.#begun.delete(newcomer)) {
      const left = this.#begunOf(newcomer.network) - 1
      if (left > 0) this.#ofNetwork.set(newcomer.network, left)
      else this.#ofNetwork.delete(newcomer.network)
    }
    if (this.#waiting.size > 0) this.#beginSoon()
    else this.#endChecks()
  }

  #begunOf = (network: string): number => this.#ofNetwork.get(network) ?? 0

  #endChecks(): void {
    void this.#stopChecks?.()
    this.#stopChecks = null
  }

  /** In the next turn of the event loop, after the messages of those that have begun. */
  #beginSoon(): void {
    if (this.#willBegin) return
    this.#willBegin = true
    setImmediate(() => {
      this.#willBegin = false
      this.#beginNext()
    })
  }

  #beginNext(): void {
    for (let count = 0; count < begunInATurn && this.#begun.size < maxBegun; count++) {
      const next = this.#next()
      if (!next) break
      this.#waiting.delete(next)
      this.#begun.set(next, this.#clock.monotonic())
      this.#ofNetwork.set(next.network, this.#begunOf(next.network) + 1)
      next.begin()
    }
    if (this.#waiting.size === 0) return
    this.#stopChecks ??= this.#clock.every(checkMs, () => this.#makeRoom())
    if (this.#begun.size < maxBegun && this.#next()) this.#beginSoon()
  }

  /** The first in order, of the networks that have least: many streams of one network do not hold up another. */
  #next(): Newcomer | null {
    let found: Newcomer | null = null
    let least = maxBegunOfNetwork
    for (const one of this.#waiting.heads()) {
      const begun = this.#begunOf(one.network)
      if (begun >= least) continue
      found = one
      least = begun
      if (begun === 0) break // at most 256 networks have begun ones: it is found soon
    }
    return found
  }

  /** Those that have had their time give way to others that wait for their places. */
  #makeRoom(): void {
    const since = this.#clock.monotonic() - giveWayMs
    let dropped = 0
    for (const [one, begunAt] of this.#begun) {
      if (begunAt > since || dropped >= this.#waiting.size) return
      if (this.#begun.size + dropped < maxBegun && !this.#waiting.has(one.network)) continue
      dropped += 1
      one.drop()
    }
  }
}
