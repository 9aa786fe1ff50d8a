// The agent's record of delivered bytes: written each second, and reported until the server has committed it.

import type { Counters } from '../engine/engine.ts'
import type { ActivePort, JournalRow } from '../wire/journal-report.ts'
import { openDeliveries } from './deliveries.ts'
import { openEngineCounters } from './engine-counters.ts'
import type { JournalRule } from './journal-changes.ts'
import { type Gap, openJournalStore } from './journal-store.ts'
import { JournalWriter, type WriterOptions } from './journal-writer.ts'

/** A part of a report. */
export interface Batch {
  readonly epoch: string
  readonly seq: number // changes up to here are in this batch, in an earlier one, or acknowledged
  readonly gap: Gap | null
  readonly rows: readonly JournalRow[]
  readonly isLast: boolean // nothing is left of the running epoch
}

export interface Journal {
  /** Called before `engine.open`: counters of `engineId` belong to this rule, until `recordFinal` or `unbind`. */
  bind(engineId: number, rule: JournalRule): void
  /** Called when the engine has refused to open the rule. */
  unbind(engineId: number): void
  /**
   * Writes what was counted since the last call. Called each second with the rules of `engine.sample()`, taken at `at`
   * (monotonic clock, ms; default: now).
   */
  tick(sample: readonly Counters[], at?: number): void
  /** Writes the final counters of an engine rule, from its event `closed`. */
  recordFinal(counters: Counters): void
  /** Corrects the server's time: it was `serverTimeMs` between `askedMs` and now on the monotonic clock. */
  setServerTime(serverTimeMs: number, askedMs: number): void
  /**
   * Adopts the committed seq of each epoch, from Welcome. Later rows are pending again, even if acknowledged. A failed
   * write is retried at the next report.
   */
  reconcile(committed: Readonly<Record<string, number>>): void
  /**
   * Returns the uncommitted rows, oldest first, at most `limit` in a batch. The last batch may be empty. Throws if the
   * database cannot be written.
   */
  pending(limit: number): Iterable<Batch>
  acknowledge(epoch: string, seq: number): void
  activePorts(): readonly ActivePort[]
  /** Returns all bytes that the owner's rules have ever delivered, also those that could not be written. Never decreases. */
  delivered(owner: string): number
  /**
   * Returns the bytes after `report`, the last one that the server had committed when it sent a message, and the
   * uncommitted bytes of other epochs. Counts only minutes that end after `since` (Unix seconds).
   */
  unacknowledged(owner: string, report: Pick<Batch, 'epoch' | 'seq'> & { readonly since: number }): number
  /** Returns the bytes since `secs`, a recent time; of the minute that contains it, only uncommitted bytes. */
  deliveredSince(owner: string, secs: number): number
  /** Returns the server's time, ms. It never decreases and does not depend on the host's wall clock. */
  now(): number
  /** Returns false if `now` is only a lower bound: the server was not heard since the host booted. */
  isTimeKnown(): boolean
  /** Writes the last counts, so that the next start has no gap. Called after `engine.stop`. */
  close(): void
}

/** `db` needs its own connection with durability 'normal': a killed process loses nothing that was written. */
export function openJournal({
  db,
  clock,
  log,
  boot
}: Pick<WriterOptions, 'db' | 'clock' | 'log' | 'boot'>): Journal {
  const store = openJournalStore(db)
  const deliveries = openDeliveries(db)
  const counters = openEngineCounters()
  const writer = new JournalWriter({ db, clock, log, store, deliveries, counters, boot })
  const find = (epoch: string) => store.epochs().find(known => known.epoch === epoch)

  let unreconciled: Readonly<Record<string, number>> | null = null // null: all is reconciled

  function* pending(limit: number): Iterable<Batch> {
    const current = writer.epoch()
    writer.saveTime() // else a gap could be reported with a wrong end
    reconcile()
    deliveries.beginReport()
    for (const { number, epoch, seq: until, gapFrom: fromMs, gapTo: toMs } of store.epochs()) {
      const gap = fromMs === null || toMs === null ? null : { fromMs, toMs }
      for (let after = 0, isDone = false; !isDone; ) {
        const rows = store.takePending(number, { after, until }, limit)
        isDone = rows.length < limit
        const seq = (isDone ? undefined : rows.at(-1)?.seq) ?? until
        const isLast = isDone && number === current
        if (rows.length > 0 || isLast || (isDone && gap)) yield { epoch, seq, gap, rows, isLast }
        after = seq
      }
    }
  }

  function acknowledge(epoch: string, seq: number): void {
    const found = find(epoch)
    if (!found) return
    store.transaction(() => {
      store.markCommitted(found.number, seq, writer.now())
      deliveries.markCommitted(found.number, seq)
      if (found.gapFrom !== null) store.forgetGap(found.number)
    })
  }

  function reconcile(): void {
    if (!unreconciled) return
    const committed = unreconciled
    store.transaction(() => {
      for (const { number, epoch } of store.epochs()) {
        const seq = committed[epoch] ?? 0
        store.markCommitted(number, seq, writer.now())
        store.markPending(number, seq)
        deliveries.reconcile(number, seq)
      }
      deliveries.restorePruned(counters.rules())
    })
    unreconciled = null
  }

  return {
    bind: counters.bind,
    unbind: counters.unbind,
    tick: (sample, at = clock.monotonic()) => writer.tick(sample, at),
    recordFinal: final => writer.recordFinal(final),
    setServerTime: (serverTimeMs, askedMs) => writer.setServerTime(serverTimeMs, askedMs),
    reconcile(committed) {
      unreconciled = committed
      writer.guard(reconcile)
    },
    pending,
    acknowledge: (epoch, seq) => writer.guard(() => acknowledge(epoch, seq)),
    activePorts: counters.activePorts,
    delivered: owner => deliveries.total(owner) + counters.unwrittenBytes(owner),
    unacknowledged: (owner, { epoch, seq, since }) =>
      deliveries.unacknowledged(owner, since, { epoch: find(epoch)?.number ?? 0, seq }) +
      counters.unwrittenBytes(owner),
    deliveredSince: (owner, secs) => deliveries.since(owner, secs) + counters.unwrittenBytes(owner),
    now: () => writer.now(),
    isTimeKnown: () => writer.isTimeKnown(),
    close: () => writer.close()
  }
}
