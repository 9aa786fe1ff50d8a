// Writes what the engine counts, in the epoch that this start of the agent began.
import type { Clock } from '../../kernel/base/clock.ts'
import type { Log } from '../../kernel/base/log.ts'
import type { Counters } from '../engine.ts'
import type { StateDatabase } from '../state/database.ts'
import { type Deliveries, deliveriesIn } from './deliveries.ts'
import type { EngineCounters } from './engine-counters.ts'
import type { JournalStore } from './journal-store.ts'
import { fold, prune } from './retention.ts'

export interface WriterOptions {
  readonly db: StateDatabase
  readonly clock: Clock
  readonly log: Log
  readonly store: JournalStore
  readonly deliveries: Deliveries
  readonly counters: EngineCounters
}

const syncMs = 30_000
const retentionMs = 60_000
const failureLogMs = 60_000

export class JournalWriter {
  readonly epoch: number
  readonly #options: WriterOptions
  #offsetMs = 0 // server's clock minus ours
  #countedAt: number // everything delivered until then is written
  #syncedAt: number
  #prunedAt = 0
  #failedAt = 0

  constructor(options: WriterOptions) {
    this.#options = options
    this.#countedAt = options.clock.now()
    this.epoch = this.#beginEpoch()
    this.#syncedAt = options.clock.now()
  }

  now(): number {
    return this.#options.clock.now() + this.#offsetMs
  }

  tick(sample: readonly Counters[], at: number): void {
    for (const counters of sample) this.#options.counters.record(counters, { isFinal: false })
    this.guard(() => {
      this.#write(at)
      this.#maintain()
    })
  }

  recordFinal(final: Counters): void {
    this.#options.counters.record(final, { isFinal: true })
    this.guard(() => this.#write(this.#countedAt))
  }

  setServerTime(serverTimeMs: number, askedMs: number): void {
    const [least, most] = [serverTimeMs - this.#options.clock.now(), serverTimeMs - askedMs]
    this.#offsetMs = Math.min(Math.max(this.#offsetMs, least), most)
    this.guard(() => this.#setWritten())
  }

  close(): void {
    const { store, clock } = this.#options
    this.#write(clock.now())
    this.#setWritten()
    store.close(this.epoch)
    store.sync()
  }

  /** Logs a failure of `work`, at most once a minute. */
  guard(work: () => void): void {
    const { clock, log } = this.#options
    try {
      work()
    } catch (error) {
      if (clock.now() - this.#failedAt < failureLogMs) return
      this.#failedAt = clock.now()
      log.error('journal.write_failed', `counts stay in memory until the next write: ${String(error)}`)
    }
  }

  /** Begins an epoch at each start: two starts from copies of one state directory must not continue the same totals. */
  #beginEpoch(): number {
    const { store } = this.#options
    const last = store.epochs().at(-1)
    this.#offsetMs = last?.offsetMs ?? 0
    const gap = last?.closed === 0 ? { fromMs: last.writtenAt, toMs: this.now() } : null
    const epoch = store.beginEpoch(gap, this.#countedAt + this.#offsetMs, this.#offsetMs)
    store.sync() // else a power failure could undo it, and the epoch before would look closed
    return epoch
  }

  /** A failed write leaves the counters unwritten: the next one includes them. */
  #write(untilMs: number): void {
    const { store, deliveries, counters } = this.#options
    const changes = counters.unwritten(Math.floor(this.now() / 60_000) * 60)
    if (changes.length > 0)
      store.transaction(() => {
        const firstSeq = store.write(this.epoch, changes)
        deliveries.add(this.epoch, deliveriesIn(changes, firstSeq))
        store.setWritten(this.epoch, untilMs + this.#offsetMs, this.#offsetMs)
      })
    counters.markWritten()
    this.#countedAt = untilMs
  }

  /** Stores where a gap would begin: where all rules were counted, not where one was closed or the time was set. */
  #setWritten(): void {
    this.#options.store.setWritten(this.epoch, this.#countedAt + this.#offsetMs, this.#offsetMs)
  }

  #maintain(): void {
    const { db, clock, store, counters } = this.#options
    const now = clock.now()
    if (now - this.#prunedAt >= retentionMs) {
      fold(db, store, this.now())
      const openRules = counters.rules().map(({ id }) => id)
      prune(db, this.epoch, openRules, now)
      this.#prunedAt = now
    }
    if (now - this.#syncedAt < syncMs) return
    this.#setWritten()
    store.sync()
    this.#syncedAt = now
  }
}
