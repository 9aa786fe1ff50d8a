// The ready link connections of a link at its near client, and the requests that wait for one.
import { FairEviction } from '../../../agent/plugin.ts'
import type { Clock } from '../../../kernel/base/clock.ts'
import type { Release } from '../../../kernel/base/releases.ts'
import type { LinkConnection } from './transport/link-connection.ts'

const leastReady = 2
const maxWaiting = 1_024
const maxPending = 128
const waitMs = 3_000
const pendingMs = 10_000
const unusedMs = 5 * 60_000

export type PoolFailure = 'link_down' | 'link_exhausted'

interface Options {
  readonly clock: Clock
  readonly maxIdle: () => number
  /** Time until a new link connection is ready. */
  readonly openMs: () => number
  /** Dials link connections, or asks the dialer for them. Each ends with `add`, or is not there after 10 s. */
  readonly dial: (count: number) => void
}

interface Waiting {
  readonly owner: string
  readonly resolve: (outcome: LinkConnection | PoolFailure) => void
  readonly cancel: Release
}

interface Ready {
  readonly connection: LinkConnection
  readonly sinceMs: number
}

export class Pool {
  readonly #options: Options
  readonly #ready: Ready[] = [] // the most recently used is last
  readonly #waiting = new FairEviction<Waiting>(maxWaiting, ({ owner }) => owner)
  #pending: number[] = [] // times of requested link connections
  #taken: number[] = [] // times of recent uses
  #phase: 'connecting' | 'up' | 'down' = 'connecting'
  #isExhausted = false

  constructor(options: Options) {
    this.#options = options
  }

  get idle(): number {
    return this.#ready.length
  }

  /** True if the last request has waited in vain for a link connection. */
  get isExhausted(): boolean {
    return this.#isExhausted
  }

  /** The link is up: link connections can be made. */
  open(): void {
    this.#phase = 'up'
    this.fill()
  }

  /** The link connects again: requests wait for it. Ready link connections are closed. */
  reconnect(): void {
    this.#phase = 'connecting'
    this.#isExhausted = false
    this.#pending = []
    for (const { connection } of this.#ready.splice(0)) connection.close()
  }

  /** The link is down: requests fail, and ready link connections are closed, since their path may be gone. */
  close(): void {
    this.reconnect()
    this.#phase = 'down'
    for (const waiting of [...this.#waiting.all()]) this.#end(waiting, 'link_down')
  }

  /** Returns a ready link connection. Waits up to 3 s for one; owners take turns. */
  async take(owner: string, signal: AbortSignal): Promise<LinkConnection | PoolFailure> {
    if (this.#phase === 'down') return 'link_down'
    this.#taken.push(this.#now)
    const ready = this.#takeReady()
    if (ready) this.#isExhausted = false
    this.fill()
    if (ready) return ready
    const { promise, resolve } = Promise.withResolvers<LinkConnection | PoolFailure>()
    const giveUp = (): void => this.#end(waiting, this.#phase === 'up' ? 'link_exhausted' : 'link_down')
    const late = (): void => {
      this.#isExhausted = this.#phase === 'up'
      giveUp()
    }
    const waiting: Waiting = { owner, resolve, cancel: this.#options.clock.after(waitMs, late) }
    this.#waiting.add(waiting)
    const evicted = this.#waiting.surplus(waiting, 'newest')
    if (evicted) {
      this.#isExhausted = true
      this.#end(evicted, 'link_exhausted')
    }
    signal.addEventListener('abort', giveUp, { once: true })
    this.fill()
    return promise.finally(() => signal.removeEventListener('abort', giveUp))
  }

  /** Adds a new link connection. */
  add(connection: LinkConnection): void {
    this.#pending.shift()
    this.giveBack(connection)
  }

  /** Takes back a link connection that is ready again. */
  giveBack(connection: LinkConnection): void {
    const isUsable = this.#phase === 'up' && connection.isReusable
    const [waiting] = isUsable ? this.#waiting.heads() : []
    if (waiting) this.#end(waiting, connection)
    else if (isUsable && this.#ready.length < this.#options.maxIdle())
      this.#ready.push({ connection, sinceMs: this.#now })
    else {
      connection.close()
      this.fill()
    }
  }

  /** Forgets a link connection that has ended. */
  remove(connection: LinkConnection): void {
    const at = this.#ready.findIndex(ready => ready.connection === connection)
    if (at >= 0) this.#ready.splice(at, 1)
    this.fill()
  }

  /** A requested link connection could not be made. */
  failed(): void {
    this.#pending.shift()
  }

  /** Asks for missing link connections. */
  fill(): void {
    if (this.#phase !== 'up') return
    const now = this.#now
    this.#pending = this.#pending.filter(since => now - since < pendingMs)
    const coming = this.#ready.length + this.#pending.length - this.#waiting.size
    const wanted = this.#wanted
    if (coming >= wanted / 2) return // those in use come back
    const count = Math.min(wanted - coming, maxPending - this.#pending.length)
    if (count <= 0) return
    for (let at = 0; at < count; at++) this.#pending.push(now)
    this.#options.dial(count)
  }

  /** Closes link connections that are too old, and those beyond two that were not used for 5 min. Call it every few seconds. */
  trim(): void {
    const now = this.#now
    const old = this.#ready.filter(({ connection }) => !connection.isReusable)
    const surplus = this.#ready
      .filter(({ sinceMs }) => now - sinceMs >= unusedMs)
      .slice(0, Math.max(0, this.#ready.length - leastReady))
    for (const one of new Set([...old, ...surplus])) {
      this.#ready.splice(this.#ready.indexOf(one), 1)
      one.connection.close()
    }
    this.fill()
  }

  get #now(): number {
    return this.#options.clock.monotonic()
  }

  /** Twice as many as were used while one becomes ready. */
  get #wanted(): number {
    const since = this.#now - this.#options.openMs()
    this.#taken = this.#taken.filter(at => at >= since).slice(-maxPending)
    return Math.max(leastReady, Math.min(this.#options.maxIdle(), 2 * this.#taken.length))
  }

  #takeReady(): LinkConnection | null {
    for (let last = this.#ready.pop(); last; last = this.#ready.pop())
      if (last.connection.isReusable) return last.connection
      else last.connection.close()
    return null
  }

  /** Ends a wait, unless it has ended. */
  #end(waiting: Waiting, outcome: LinkConnection | PoolFailure): void {
    if (!this.#waiting.delete(waiting)) return
    void waiting.cancel()
    if (typeof outcome !== 'string') this.#isExhausted = false
    waiting.resolve(outcome)
  }
}
