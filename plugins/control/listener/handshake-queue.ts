// Runs handshakes in order: a started one finishes before others start, unless it takes too long. A stream without its
// ClientHello does not count.
import { FairEviction } from '../../../agent/net/fair-eviction.ts'
import type { Clock } from '../../../kernel/base/clock.ts'

const maxBegun = 256
const maxBegunOfNetwork = 16
const maxWaiting = 8_192
const maxSilent = 8_192
const startsPerTurn = 4 // each is about 1 ms of work; the event loop runs other work in between
const giveWayMs = 3_000 // several round trips, and the work for other streams
const checkMs = 250

/** A stream before authentication. */
export interface Newcomer {
  readonly network: string
  begin(): void
  /** Closes it; `leave` follows. */
  drop(): void
}

const networkOf = ({ network }: Newcomer): string => network

export class HandshakeQueue {
  readonly #clock: Pick<Clock, 'monotonic' | 'every'>
  readonly #silent = new FairEviction(maxSilent, networkOf)
  readonly #waiting = new FairEviction(maxWaiting, networkOf)
  readonly #begun = new Map<Newcomer, number>() // to the time; the oldest first
  readonly #ofNetwork = new Map<string, number>() // begun ones
  #stopChecks: (() => unknown) | null = null
  #willBegin = false

  constructor(clock: Pick<Clock, 'monotonic' | 'every'>) {
    this.#clock = clock
  }

  /** The number of waiting and running handshakes: a newcomer waits for them. */
  get size(): number {
    return this.#waiting.size + this.#begun.size
  }

  /** Adds a stream that has sent nothing. Beyond the limit, the oldest of a network with the most is dropped. */
  arrive(newcomer: Newcomer): void {
    this.#silent.add(newcomer)
    this.#silent.surplus(newcomer, 'oldest')?.drop()
  }

  /** Queues a stream with its ClientHello. Beyond the limit, the newest of a network with the most is dropped. */
  enter(newcomer: Newcomer): void {
    this.#silent.delete(newcomer)
    this.#waiting.add(newcomer)
    this.#waiting.surplus(newcomer, 'newest')?.drop()
    this.#beginSoon()
  }

  /** Call it when the handshake is over or the stream is closed. */
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

  /** Starts handshakes in the next turn of the event loop, after the messages of running ones. */
  #beginSoon(): void {
    if (this.#willBegin) return
    this.#willBegin = true
    setImmediate(() => {
      this.#willBegin = false
      this.#beginNext()
    })
  }

  #beginNext(): void {
    for (let count = 0; count < startsPerTurn && this.#begun.size < maxBegun; count++) {
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

  /** Returns the first of the network with the fewest running handshakes, so that no network blocks another. */
  #next(): Newcomer | null {
    let found: Newcomer | null = null
    let least = maxBegunOfNetwork
    for (const one of this.#waiting.heads()) {
      const begun = this.#begunOf(one.network)
      if (begun >= least) continue
      found = one
      least = begun
      if (begun === 0) break // at most 256 networks have running handshakes, so this comes soon
    }
    return found
  }

  /** Drops handshakes that run too long, one for each stream that waits for a place. */
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
