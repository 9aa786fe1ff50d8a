// The agent's record of delivered bytes: on disk each second, reported until the server has committed it.
import type { Clock } from '../../kernel/base/clock.ts'
import type { Log } from '../../kernel/base/log.ts'
import type { ActivePort, JournalRow } from '../../plugins/stats/wire.ts'
import type { Counters } from '../engine.ts'
import type { StateDatabase } from '../state/database.ts'
import type { JournalRule } from './changes.ts'
import { deliveriesIn, openDeliveries } from './deliveries.ts'
import { openEngineCounters } from './engine-counters.ts'
import { type Gap, type JournalStore, openJournalStore } from './journal-store.ts'
import { fold, prune } from './retention.ts'

/** A part of a report. */
export interface Batch {
  readonly epoch: string
  readonly seq: number // every change up to here is in this batch, in one before, or acknowledged
  readonly gap: Gap | null
  readonly rows: readonly JournalRow[]
  readonly isLast: boolean // nothing is left, and the epoch is the running one
}

/** The last report that the server had committed when it sent something. */
interface CommittedReport {
  readonly epoch: string
  readonly seq: number
}

export interface Journal {
  /** Before `engine.open`: counters of `engineId` belong to this rule, until `recordFinal` or `unbind`. */
  bind(engineId: number, rule: JournalRule): void
  /** The engine refused to open the rule. */
  unbind(engineId: number): void
  /** Each second, with the rules of `engine.sample()` as of `at` (ms): writes what was counted since the last. */
  tick(sample: readonly Counters[], at?: number): void
  /** Writes the final counters of an engine rule, from its event `closed`. */
  recordFinal(counters: Counters): void
  /** From Welcome, requested at `askedMs`. The server's clock showed `serverTimeMs` at some time since then. */
  setServerTime(serverTimeMs: number, askedMs: number): void
  /** From Welcome: the committed seq of each epoch. Later rows are pending again, even if they were acknowledged. */
  reconcile(committed: Readonly<Record<string, number>>): void
  /** Rows that are not committed as of now, oldest first, `limit` rows a batch. The last batch may be empty. */
  pending(limit: number): Iterable<Batch>
  acknowledge(epoch: string, seq: number): void
  activePorts(): readonly ActivePort[]
  /** Bytes of the owner's rules that were ever written, committed or not. Never decreases. */
  delivered(owner: string): number
  /**
   * Bytes that were not part of the committed report, or of other epochs not acknowledged. Only those of minutes that
   * end after `since` (Unix seconds).
   */
  unacknowledged(owner: string, report: CommittedReport & { readonly since: number }): number
  /** Bytes delivered since `secs`, which is recent; of the minute containing it, only unacknowledged bytes. */
  deliveredSince(owner: string, secs: number): number
  /** Ms on the server's clock. */
  now(): number
  /** After `engine.stop`: everything is on disk, and the next start knows of no gap. */
  close(): void
}

interface Options {
  /** A connection of its own, of durability 'normal': a killed process loses nothing that was written. */
  readonly db: StateDatabase
  readonly clock: Clock
  readonly log: Log
}

const syncMs = 30_000
const retentionMs = 60_000
const failureLogMs = 60_000

export const openJournal = (options: Options): Journal => new StoredJournal(options)

class StoredJournal implements Journal {
  readonly #options: Options
  readonly #store: JournalStore
  readonly #deliveries: ReturnType<typeof openDeliveries>
  readonly #counters = openEngineCounters()
  readonly #epoch: number // the running one
  #offsetMs = 0 // server's clock less ours
  #countedAt: number // all that was delivered until then is written
  #syncedAt: number
  #prunedAt = 0
  #failedAt = 0

  constructor(options: Options) {
    const { db, clock } = options
    this.#options = options
    this.#store = openJournalStore(db)
    this.#deliveries = openDeliveries(db)
    this.#countedAt = clock.now()
    this.#epoch = this.#beginEpoch()
    this.#syncedAt = clock.now()
  }

  bind(engineId: number, rule: JournalRule): void {
    this.#counters.bind(engineId, rule)
  }

  unbind(engineId: number): void {
    this.#counters.unbind(engineId)
  }

  tick(sample: readonly Counters[], at = this.#options.clock.now()): void {
    for (const counters of sample) this.#counters.record(counters, { isFinal: false })
    this.#guarded(() => {
      this.#write(at)
      this.#maintain()
    })
  }

  recordFinal(counters: Counters): void {
    this.#counters.record(counters, { isFinal: true })
    this.#guarded(() => this.#write(this.#countedAt))
  }

  setServerTime(serverTimeMs: number, askedMs: number): void {
    const [least, most] = [serverTimeMs - this.#options.clock.now(), serverTimeMs - askedMs]
    this.#offsetMs = Math.min(Math.max(this.#offsetMs, least), most)
    this.#guarded(() => this.#setWritten())
  }

  reconcile(committed: Readonly<Record<string, number>>): void {
    this.#guarded(() =>
      this.#store.transaction(() => {
        for (const { number, epoch } of this.#store.epochs()) {
          const seq = committed[epoch] ?? 0
          this.#store.markCommitted(number, seq, this.#options.clock.now())
          this.#store.markPending(number, seq)
          this.#deliveries.reconcile(number, seq)
        }
        this.#deliveries.recover(this.#counters.rules())
      })
    )
  }

  *pending(limit: number): Iterable<Batch> {
    this.#deliveries.beginReport()
    for (const { number, epoch, seq: until, gapFrom: fromMs, gapTo: toMs } of this.#store.epochs()) {
      const gap = fromMs === null || toMs === null ? null : { fromMs, toMs }
      for (let after = 0, isDone = false; !isDone; ) {
        const rows = this.#store.takePending(number, { after, until }, limit)
        isDone = rows.length < limit
        const seq = (isDone ? undefined : rows.at(-1)?.seq) ?? until
        const isLast = isDone && number === this.#epoch
        if (rows.length > 0 || isLast || (isDone && gap)) yield { epoch, seq, gap, rows, isLast }
        after = seq
      }
    }
  }

  acknowledge(epoch: string, seq: number): void {
    this.#guarded(() => {
      const found = this.#find(epoch)
      if (!found) return
      this.#store.markCommitted(found.number, seq, this.#options.clock.now())
      this.#deliveries.markCommitted(found.number, seq)
      if (found.gapFrom !== null) this.#store.forgetGap(found.number)
    })
  }

  activePorts(): readonly ActivePort[] {
    return this.#counters.activePorts()
  }

  delivered(owner: string): number {
    return this.#deliveries.total(owner)
  }

  unacknowledged(owner: string, { epoch, seq, since }: CommittedReport & { readonly since: number }): number {
    return this.#deliveries.unacknowledged(owner, since, { epoch: this.#find(epoch)?.number ?? 0, seq })
  }

  deliveredSince(owner: string, secs: number): number {
    return this.#deliveries.since(owner, secs)
  }

  now(): number {
    return this.#options.clock.now() + this.#offsetMs
  }

  close(): void {
    this.#write(this.#options.clock.now())
    this.#setWritten()
    this.#store.close(this.#epoch)
    this.#store.sync()
  }

  /** Each start is an epoch: starts from copies of one state directory must not count on under the same totals. */
  #beginEpoch(): number {
    const last = this.#store.epochs().at(-1)
    this.#offsetMs = last?.offsetMs ?? 0
    const gap = last?.closed === 0 ? { fromMs: last.writtenAt, toMs: this.now() } : null
    const number = this.#store.beginEpoch(gap, this.#countedAt + this.#offsetMs, this.#offsetMs)
    this.#store.sync() // else a power failure could undo it, and the epoch before would look closed
    return number
  }

  #find(epoch: string) {
    return this.#store.epochs().find(known => known.epoch === epoch)
  }

  /** A failed write leaves the counters unwritten: the next one includes them. */
  #write(untilMs: number): void {
    const changes = this.#counters.unwritten(Math.floor(this.now() / 60_000) * 60)
    if (changes.length > 0)
      this.#store.transaction(() => {
        const firstSeq = this.#store.write(this.#epoch, changes)
        this.#deliveries.add(this.#epoch, deliveriesIn(changes, firstSeq))
        this.#store.setWritten(this.#epoch, untilMs + this.#offsetMs, this.#offsetMs)
      })
    this.#counters.markWritten()
    this.#countedAt = untilMs
  }

  /** A gap would begin here: where all rules were counted, not where one was closed or the time was set. */
  #setWritten(): void {
    this.#store.setWritten(this.#epoch, this.#countedAt + this.#offsetMs, this.#offsetMs)
  }

  #maintain(): void {
    const { db, clock } = this.#options
    const now = clock.now()
    if (now - this.#prunedAt >= retentionMs) {
      fold(db, this.#store, this.now())
      const openRules = this.#counters.rules().map(({ id }) => id)
      prune(db, this.#epoch, openRules, now)
      this.#prunedAt = now
    }
    if (now - this.#syncedAt < syncMs) return
    this.#setWritten()
    this.#store.sync()
    this.#syncedAt = now
  }

  /** Logs a failure, at most once a minute. */
  #guarded(work: () => void): void {
    const { clock, log } = this.#options
    try {
      work()
    } catch (error) {
      if (clock.now() - this.#failedAt < failureLogMs) return
      this.#failedAt = clock.now()
      log.error('journal.write_failed', `counts stay in memory until the next write: ${String(error)}`)
    }
  }
}
