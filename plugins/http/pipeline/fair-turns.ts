// Requests take turns on the event loop. Turns run for a few milliseconds per loop iteration, so the control stream and health
// checks are served in between. Users within their CPU budget go first, then addresses within theirs; those beyond share the rest.
import type { ServerResponse } from 'node:http'
import type { Clock } from '../../../kernel/base/clock.ts'
import { Fault, rateLimited } from '../../../kernel/base/errors.ts'
import { networkOf } from '../../../kernel/platform/network.ts'
import { onceClosed } from '../request/request-context.ts'

const share = 0.1 // of a processor
const burstMs = 1_000
const sliceMs = 3 // of a loop iteration: no turn starts later. The store may block the rest of it for a sync.
const maxTurns = 4 // of a loop iteration
const exceededEvery = 8 // turns: at least one of them is for a payer beyond its budget
const addressEvery = 4 // turns: at least one of them is for an address
const maxWaitMs = 15_000 // the whole request must arrive within 30 s
const checkMs = 1_000
const retryAfterSecs = 5
const sweepAt = 1_000

type Clocked = Pick<Clock, 'monotonic' | 'after'>

const addressPrefix = 'address '

/** Returns the key under which the work of an unauthenticated caller is counted: its address, or the /64 of IPv6. */
export const networkPayer = (address: string): string => addressPrefix + networkOf(address)

interface Payer {
  readonly key: string // 'user ann', 'address 192.0.2.7'
  readonly isAddress: boolean
  readonly bodies: Lanes // wait to read a body
  readonly requests: Lanes
  readonly changes: Lanes // later ones of requests that have begun, which nothing refuses
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

/** `lane`: default: one for all. Waiting changes go first, then bodies, then requests. */
interface Place {
  readonly what?: 'request' | 'body' | 'change'
  readonly lane?: string
}

export class FairTurns {
  readonly #clock: Clocked
  readonly #onRefused: (payer: string) => void
  readonly #payers: Payers
  readonly #users = new Set<Payer>() // within budget, with waiting requests, the next one first
  readonly #addresses = new Set<Payer>() // within budget, too
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
   * Resolves when it is the payer's turn; CPU time is then charged until the event loop runs others. Except for a change,
   * it never resolves if the caller disconnects, and rejects with `rate_limited` after 15 s if others used most of that
   * time. The lanes of a payer take its turns in rotation, so that one credential does not delay another from the same
   * address.
   */
  take(key: string, response: ServerResponse, { what = 'request', lane = '' }: Place = {}): Promise<void> {
    const payer = this.#payers.of(key)
    const waiting = { request: payer.requests, body: payer.bodies, change: payer.changes }[what]
    let forget = (): void => {}
    const turn = new Promise<void>((run, refuse) => {
      const othersMs = this.#payers.othersMs(payer)
      const waiter: Waiter = { since: this.#clock.monotonic(), othersMs, run, refuse }
      waiting.add(lane, waiter)
      if (what !== 'change') forget = onceClosed(response, () => waiting.remove(lane, waiter))
      if (!this.#isQueued(payer)) this.#enqueue(payer)
    })
    return turn.finally(() => forget()) // a request can wait for several turns
  }

  /** Charges CPU time that no turn or meter is to charge. */
  charge(key: string, ms: number): void {
    this.#measuredMs += ms
    this.#payers.charge(this.#payers.of(key), ms)
  }

  /** Returns a function that charges the CPU time from now on, without the time of turns and meters that end meanwhile. */
  meter(key: string): () => void {
    const before = process.threadCpuUsage()
    const measuredMs = this.#measuredMs
    return () => {
      const { user, system } = process.threadCpuUsage(before)
      const ms = Math.max(0, (user + system) / 1000 - (this.#measuredMs - measuredMs))
      this.charge(key, ms)
    }
  }

  /** Returns the payer for `currentPayer`. */
  payer = (name: string) => ({ name, charge: (ms: number) => this.charge(name, ms) })

  isExceeded(key: string): boolean {
    return this.#payers.isExceeded(this.#payers.of(key))
  }

  /** True if the payer is beyond its budget and others wait. */
  isCrowdedOut(key: string): boolean {
    const payer = this.#payers.of(key)
    return this.#payers.isExceeded(payer) && this.#queued > (this.#isQueued(payer) ? 1 : 0)
  }

  get #queued(): number {
    return this.#users.size + this.#addresses.size + this.#beyond.size
  }

  #isQueued = (payer: Payer): boolean =>
    this.#users.has(payer) || this.#addresses.has(payer) || this.#beyond.has(payer)

  /** Puts the payer last in its queue, or in none if it has no waiting requests. */
  #enqueue(payer: Payer): void {
    const within = payer.isAddress ? this.#addresses : this.#users
    within.delete(payer)
    this.#beyond.delete(payer)
    if (!isWaiting(payer)) return
    if (this.#payers.isExceeded(payer)) this.#beyond.add(payer)
    else within.add(payer)
    if (this.#beyond.size > 0 && !this.#isChecking) this.#checkLater()
    if (this.#isRunning) return
    this.#isRunning = true
    this.#startTurns()
  }

  /** Immediates run in order, each after the microtasks of the one before: the second of a turn sees the cost of the first. */
  #startTurns(): void {
    let startedAt: number | undefined
    for (let turn = 0; turn < maxTurns; turn++) {
      let payer: Payer | undefined
      let charge: (() => void) | undefined
      setImmediate(() => {
        const now = this.#clock.monotonic()
        startedAt ??= now
        if (now - startedAt >= sliceMs) return
        payer = this.#nextPayer()
        charge = payer && this.meter(payer.key)
        if (payer) runFirst(payer)
      })
      setImmediate(() => {
        charge?.()
        if (payer) this.#enqueue(payer)
      })
    }
    setImmediate(() => {
      this.#isRunning = this.#queued > 0
      if (this.#isRunning) this.#startTurns()
    })
  }

  #nextPayer(): Payer | undefined {
    if (this.#queued === 0) return undefined
    this.#turns++
    const queues = [this.#users, this.#addresses, this.#beyond]
    if (this.#turns % exceededEvery === 0) queues.unshift(this.#beyond)
    else if (this.#turns % addressEvery === 2) queues.unshift(this.#addresses)
    const [payer] = queues.find(({ size }) => size > 0) ?? []
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
const runFirst = ({ changes, bodies, requests }: Payer): void =>
  (changes.shift() ?? bodies.shift() ?? requests.shift())?.run()

const isWaiting = ({ changes, bodies, requests }: Payer): boolean =>
  !changes.isEmpty || !bodies.isEmpty || !requests.isEmpty

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
    const waiting = { changes: new Lanes(), bodies: new Lanes(), requests: new Lanes() }
    const isAddress = key.startsWith(addressPrefix)
    const payer: Payer = { key, isAddress, ...waiting, spentMs: 0, totalMs: 0, at }
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
