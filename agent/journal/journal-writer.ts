// Writes the engine's counts, in the epoch of this run of the agent.
import type { Clock } from '../../kernel/base/clock.ts'
import type { Log } from '../../kernel/base/log.ts'
import type { Counters } from '../engine/engine.ts'
import type { StateDatabase } from '../state/state-database.ts'
import { type Deliveries, deliveriesIn } from './deliveries.ts'
import type { EngineCounters } from './engine-counters.ts'
import { type HostBoot, uptimeResolutionMs } from './host-boot.ts'
import type { Gap, JournalStore } from './journal-store.ts'
import { foldMinutes, pruneJournal } from './retention.ts'
import { openServerTime, type ServerTime } from './server-time.ts'

export interface WriterOptions {
  readonly db: StateDatabase
  readonly clock: Clock
  readonly log: Log
  readonly store: JournalStore
  readonly deliveries: Deliveries
  readonly counters: EngineCounters
  readonly boot?: HostBoot | undefined
}

const syncMs = 30_000
const retentionMs = 60_000
const failureLogMs = 60_000

export class JournalWriter {
  readonly #options: WriterOptions
  readonly #gap: Gap | null // before the epoch of this run
  #epoch: number | null = null // null: it is not written yet
  readonly #serverTime: ServerTime
  // Times of the monotonic clock:
  #countedAt: number // everything that was delivered before is written
  #syncedAt = Number.NEGATIVE_INFINITY
  #prunedAt = Number.NEGATIVE_INFINITY
  #failedAt = Number.NEGATIVE_INFINITY
  #isTimeSaved = true
  #gapMovedMs = 0 // by corrections that are not saved

  constructor(options: WriterOptions) {
    this.#options = options
    const last = options.store.epochs().at(-1)
    this.#serverTime = openServerTime(options, {
      leastMs: last?.writtenAt ?? null,
      offsetMs: this.#savedOffsetMs()
    })
    this.#countedAt = options.clock.monotonic()
    this.#gap = last?.isClosed === 0 ? { fromMs: last.writtenAt, toMs: this.now() } : null
    this.guard(() => this.epoch())
  }

  /**
   * Returns the epoch of this run. Each start begins one: two copies of one state directory must not continue the same
   * totals. Throws while it cannot be written, because the disk is full: the agent forwards, and counts in memory.
   */
  epoch(): number {
    if (this.#epoch !== null) return this.#epoch
    this.#epoch = this.#options.store.beginEpoch(this.#gap, this.#serverTime.at(this.#countedAt))
    this.#sync() // else a power failure could undo it, and the previous epoch would look closed
    return this.#epoch
  }

  now(): number {
    return this.#serverTime.now()
  }

  isTimeKnown(): boolean {
    return this.#serverTime.isKnown()
  }

  tick(sample: readonly Counters[], at: number): void {
    for (const counters of sample) this.#options.counters.record(counters, { isFinal: false })
    this.guard(() => {
      this.#write(at)
      this.saveTime()
      this.#maintain()
    })
  }

  recordFinal(final: Counters): void {
    this.#options.counters.record(final, { isFinal: true })
    this.guard(() => this.#write(this.#countedAt))
  }

  setServerTime(serverTimeMs: number, askedMs: number): void {
    this.#gapMovedMs += this.#serverTime.correct(serverTimeMs, askedMs)
    this.#isTimeSaved = false
    this.guard(() => this.saveTime())
  }

  /** Saves the last correction of the time, if that is not done. */
  saveTime(): void {
    if (this.#isTimeSaved) return
    const { store } = this.#options
    const epoch = this.epoch()
    store.transaction(() => {
      this.#setWritten(epoch)
      this.#saveOffset()
      if (this.#gapMovedMs > 0) store.moveGapEnds(this.#gapMovedMs)
    })
    this.#gapMovedMs = 0
    this.#isTimeSaved = true
  }

  /** Never throws: a full disk must not keep the agent from an orderly end. The next epoch then begins with a gap. */
  close(): void {
    const { store, clock, log } = this.#options
    try {
      this.#write(clock.monotonic())
      this.saveTime()
      this.#setWritten(this.epoch())
      store.close(this.epoch())
      store.sync()
    } catch (error) {
      log.error('journal.write_failed', `the last counts may be lost: ${String(error)}`)
    }
  }

  /** Logs a failure of `work`, at most once a minute. */
  guard(work: () => void): void {
    const { clock, log } = this.#options
    try {
      work()
    } catch (error) {
      if (clock.monotonic() - this.#failedAt < failureLogMs) return
      this.#failedAt = clock.monotonic()
      log.error('journal.write_failed', `the counts stay in memory until the next write: ${String(error)}`)
    }
  }

  /** If the write fails, the next one includes the counts. */
  #write(untilMs: number): void {
    const { store, deliveries, counters } = this.#options
    const changes = counters.unwritten(Math.floor(this.now() / 60_000) * 60)
    if (changes.length > 0) {
      const epoch = this.epoch()
      store.transaction(() => {
        const firstSeq = store.write(epoch, changes)
        deliveries.add(epoch, deliveriesIn(changes, firstSeq))
        store.setWritten(epoch, this.#serverTime.at(untilMs))
      })
    }
    counters.markWritten()
    this.#countedAt = untilMs
  }

  /** Stores where a gap would begin: the time at which all rules were counted last. */
  #setWritten(epoch: number): void {
    this.#options.store.setWritten(epoch, this.#serverTime.at(this.#countedAt))
  }

  #sync(): void {
    this.#options.store.sync()
    this.#syncedAt = this.#options.clock.monotonic()
  }

  /** Returns the server's time minus the monotonic clock, derived from the uptime; null: unknown. */
  #savedOffsetMs(): number | null {
    const { boot, clock, store } = this.#options
    const offsetMs = boot ? store.savedTime(boot.id) : null
    return boot && offsetMs !== null ? offsetMs + boot.upMs() - clock.monotonic() : null
  }

  /** Subtracts the resolution of the uptime: the next run must not start in the future. */
  #saveOffset(): void {
    const { boot, clock, store } = this.#options
    const offsetMs = this.#serverTime.offsetMs()
    if (boot && offsetMs !== null)
      store.saveTime(boot.id, offsetMs + clock.monotonic() - boot.upMs() - uptimeResolutionMs)
  }

  #maintain(): void {
    const { db, clock, store, counters } = this.#options
    const now = clock.monotonic()
    const epoch = this.epoch()
    if (now - this.#prunedAt >= retentionMs) {
      foldMinutes(db, store, this.now())
      const openRules = counters.rules().map(({ id }) => id)
      pruneJournal(db, epoch, openRules, this.now())
      this.#prunedAt = now
    }
    if (now - this.#syncedAt < syncMs) return
    this.#setWritten(epoch)
    this.#sync()
  }
}
