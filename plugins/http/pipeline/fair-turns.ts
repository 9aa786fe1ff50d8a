// Requests take turns on the event loop. One turn runs per loop iteration, so the control stream and health checks are
// served in between. Payers within their CPU budget go first; those beyond it share the rest.
import type { ServerResponse } from 'node:http'
import type { Clock } from '../../../kernel/base/clock.ts'
import { Fault, rateLimited } from '../../../kernel/base/errors.ts'
import { onceClosed } from '../request/request-context.ts'

const share = 0.1 // of a processor
const burstMs = 1_000
const exceededEvery = 8 // turns: at least one of them is for a payer beyond its budget
const maxWaitMs = 15_000 // the whole request must arrive within 30 s
const checkMs = 1_000
const retryAfterSecs = 5
const sweepAt = 1_000

type Clocked = Pick<Clock, 'monotonic' | 'after'>

interface Payer {
  readonly key: string // 'user ann', 'address 192.0.2.7'
  readonly bodies: Lanes // wait to read a body
  readonly requests: Lanes
  spentMs: number // not regained yet
  totalMs: number
  at: number
}

interface Waiter {
  readonly since: number
  readonly othersMs: number // total of others at `since`
  readonly run: () => void
  readonly refuse: (fault: Fault) => void
}

/** `lane`: default: one for all. Waiting bodies go before requests. */
interface Place {
  readonly what?: 'request' | 'body'
  readonly lane?: string
}

export class FairTurns {
  readonly #clock: Clocked
  readonly #onRefused: (payer: string) => void
  readonly #payers: Payers
  readonly #within = new Set<Payer>() // those with waiting requests, the next one first
  readonly #beyond = new Set<Payer>()
  #measuredMs = 0 // by all turns and meters since the start
  #turns = 0
  #isRunning = false
  #isChecking = false

  constructor(clock: Clocked, onRefused: (payer: string) => void) {
    this.#clock = clock
    this.#onRefused = onRefused
    this.#payers = new Payers(clock)
  }

  /**
   * Resolves when it is the payer's turn; CPU time is then charged until the event loop runs others. Never resolves if
   * the caller disconnects. Rejects with `rate_limited` after 15 s if others used most of that time. The lanes of a payer
   * take its turns in rotation, so that one credential does not delay another from the same address.
   */
  take(key: string, response: ServerResponse, { what = 'request', lane = '' }: Place = {}): Promise<void> {
    const payer = this.#payers.of(key)
    const waiting = what === 'body' ? payer.bodies : payer.requests
    return new Promise((run, refuse) => {
      const othersMs = this.#payers.othersMs(payer)
      const waiter: Waiter = { since: this.#clock.monotonic(), othersMs, run, refuse }
      waiting.add(lane, waiter)
      onceClosed(response, () => waiting.remove(lane, waiter))
      if (!this.#within.has(payer) && !this.#beyond.has(payer)) this.#enqueue(payer)
    })
  }

  /** Charges work that nothing measures. */
  charge(key: string, ms: number): void {
    this.#payers.charge(this.#payers.of(key), ms)
  }

  /** Returns a function that charges the CPU time from now on, without the time of turns and meters that end meanwhile. */
  meter(key: string): () => void {
    const before = process.threadCpuUsage()
    const measuredMs = this.#measuredMs
    return () => {
      const { user, system } = process.threadCpuUsage(before)
      const ms = Math.max(0, (user + system) / 1000 - (this.#measuredMs - measuredMs))
      this.#measuredMs += ms
      this.charge(key, ms)
    }
  }

  isExceeded(key: string): boolean {
    return this.#payers.isExceeded(this.#payers.of(key))
  }

  /** True if the payer is beyond its budget and others wait. */
  isCrowdedOut(key: string): boolean {
    const payer = this.#payers.of(key)
    const isWaiting = this.#within.has(payer) || this.#beyond.has(payer)
    return this.#payers.isExceeded(payer) && this.#within.size + this.#beyond.size > (isWaiting ? 1 : 0)
  }

  /** Puts the payer last in its queue, or in none if it has no waiting requests. */
  #enqueue(payer: Payer): void {
    this.#within.delete(payer)
    this.#beyond.delete(payer)
    if (!isWaiting(payer)) return
    if (this.#payers.isExceeded(payer)) this.#beyond.add(payer)
    else this.#within.add(payer)
    if (this.#beyond.size > 0 && !this.#isChecking) this.#checkLater()
    if (this.#isRunning) return
    this.#isRunning = true
    this.#startTurn()
  }

  /** Immediates run in order, each after the microtasks of the one before: the second sees the cost of the first. */
  #startTurn(): void {
    let payer: Payer | undefined
    let charge: (() => void) | undefined
    setImmediate(() => {
      payer = this.#nextPayer()
      charge = payer && this.meter(payer.key)
      if (payer) runFirst(payer)
    })
    setImmediate(() => {
      charge?.()
      if (payer) this.#enqueue(payer)
      this.#isRunning = this.#within.size + this.#beyond.size > 0
      if (this.#isRunning) this.#startTurn()
    })
  }

  #nextPayer(): Payer | undefined {
    this.#turns++
    const isForExceeded =
      this.#within.size === 0 || (this.#turns % exceededEvery === 0 && this.#beyond.size > 0)
    const [payer] = isForExceeded ? this.#beyond : this.#within
    return payer
  }

  #checkLater(): void {
    this.#isChecking = true
    this.#clock.after(checkMs, () => {
      this.#isChecking = false
      for (const payer of this.#beyond) this.#refuseLate(payer)
      if (this.#beyond.size > 0) this.#checkLater()
    })
  }

  #refuseLate(payer: Payer): void {
    const now = this.#clock.monotonic()
    const isLate = ({ since, othersMs }: Waiter): boolean =>
      now - since >= maxWaitMs && this.#payers.othersMs(payer) - othersMs >= (now - since) / 2
    for (const waiter of [...payer.bodies.removeWhile(isLate), ...payer.requests.removeWhile(isLate)]) {
      waiter.refuse(busy())
      this.#onRefused(payer.key)
    }
  }
}

/** Does nothing if the callers have disconnected. */
const runFirst = ({ bodies, requests }: Payer): void => (bodies.shift() ?? requests.shift())?.run()

const isWaiting = ({ bodies, requests }: Payer): boolean => !bodies.isEmpty || !requests.isEmpty

/** The waiting requests of a payer, in lanes that take turns. */
class Lanes {
  readonly #lanes = new Map<string, Set<Waiter>>() // none is empty; the next one first

  get isEmpty(): boolean {
    return this.#lanes.size === 0
  }

  add(lane: string, waiter: Waiter): void {
    const waiting = this.#lanes.get(lane)
    if (waiting) waiting.add(waiter)
    else this.#lanes.set(lane, new Set([waiter]))
  }

  remove(lane: string, waiter: Waiter): void {
    const waiting = this.#lanes.get(lane)
    waiting?.delete(waiter)
    if (waiting?.size === 0) this.#lanes.delete(lane)
  }

  shift(): Waiter | undefined {
    const [first] = this.#lanes
    if (!first) return undefined
    const [lane, waiting] = first
    const [waiter] = waiting
    this.#lanes.delete(lane)
    if (waiter) waiting.delete(waiter)
    if (waiting.size > 0) this.#lanes.set(lane, waiting)
    return waiter
  }

  /** Removes the oldest of each lane that match, and returns them. */
  removeWhile(matches: (waiter: Waiter) => boolean): Waiter[] {
    const removed: Waiter[] = []
    for (const [lane, waiting] of this.#lanes)
      for (const waiter of waiting) {
        if (!matches(waiter)) break
        this.remove(lane, waiter)
        removed.push(waiter)
      }
    return removed
  }
}

const busy = (): Fault =>
  new Fault(
    rateLimited,
    `the server is busy, and your requests have used more than their share of it; repeat in ${retryAfterSecs} s`,
    { details: { retry_after_secs: retryAfterSecs } }
  )

class Payers {
  readonly #clock: Clocked
  readonly #byKey = new Map<string, Payer>()
  #maxKnown = sweepAt
  #totalMs = 0

  constructor(clock: Clocked) {
    this.#clock = clock
  }

  of(key: string): Payer {
    const known = this.#byKey.get(key)
    if (known) return known
    if (this.#byKey.size >= this.#maxKnown) this.#sweep()
    const at = this.#clock.monotonic()
    const payer: Payer = { key, bodies: new Lanes(), requests: new Lanes(), spentMs: 0, totalMs: 0, at }
    this.#byKey.set(key, payer)
    return payer
  }

  charge(payer: Payer, ms: number): void {
    this.#regain(payer)
    payer.spentMs += ms
    payer.totalMs += ms
    this.#totalMs += ms
  }

  isExceeded(payer: Payer): boolean {
    this.#regain(payer)
    return payer.spentMs > burstMs
  }

  /** Returns the time that all others have used since the start. */
  othersMs = (payer: Payer): number => this.#totalMs - payer.totalMs

  /** Forgets payers that have regained all and do not wait. */
  #sweep(): void {
    for (const payer of this.#byKey.values()) {
      this.#regain(payer)
      if (payer.spentMs === 0 && !isWaiting(payer)) this.#byKey.delete(payer.key)
    }
    this.#maxKnown = Math.max(sweepAt, 2 * this.#byKey.size)
  }

  #regain(payer: Payer): void {
    const now = this.#clock.monotonic()
    payer.spentMs = Math.max(0, payer.spentMs - (now - payer.at) * share)
    payer.at = now
  }
}
