// The agent's book of what was forwarded: on disk each second, reported until the server has booked it.
import type { Clock } from '../../kernel/base/clock.ts'
import type { Log } from '../../kernel/base/log.ts'
import type { Counters } from '../engine.ts'
import type { StateDatabase } from '../state/database.ts'
import type { JournalRule } from './changes.ts'
import { deliveriesIn, openUnacked } from './deliveries.ts'
import { type ActivePort, openEngineCounters } from './engine-counters.ts'
import { type Batch, openJournalStore } from './journal-store.ts'
import { fold, prune } from './retention.ts'

export type { JournalRule } from './changes.ts'
export type { ActivePort } from './engine-counters.ts'
export type { Batch, Gap, JournalRow } from './journal-store.ts'

export interface Journal {
  /** Before `engine.open`: what the engine counts as `engineId` is this rule's, until `final` or `unbind`. */
  bind(engineId: number, rule: JournalRule): void
  /** The engine refused to open it. */
  unbind(engineId: number): void
  /** Each second, with `engine.sample()` as of `at`: adds what is new, and writes it. */
  tick(sample: readonly Counters[], at?: number): void
  /** The last word on an engine rule: what its event `closed` brings. */
  recordFinal(counters: Counters): void
  /** From Welcome, asked for at `askedMs`: minutes are those of the server's clock, which it was between then and now. */
  setServerTime(serverTimeMs: number, askedMs: number): void
  /** From Welcome, epoch to seq: what came after it is not booked, whatever was acknowledged before. */
  reconcile(booked: Readonly<Record<string, number>>): void
  /** What is not booked as of now, oldest first, `limit` rows a batch. The last may be empty. */
  pending(limit: number): Iterable<Batch>
  acknowledge(epoch: string, seq: number): void
  activePorts(): readonly ActivePort[]
  /** Bytes of the owner's rules that are written down: all of them, whatever the server knows. Never less. */
  delivered(owner: string): number
  /**
   * Of these, what the server had not booked when it had booked the epoch up to `seq`; of other epochs what it has not
   * acknowledged. Only what was delivered in minutes that end after `since` (Unix seconds).
   */
  unacknowledged(
    owner: string,
    mark: { readonly epoch: string; readonly seq: number; readonly since: number }
  ): number
  /** What was delivered from a moment on that has just passed; of the minute in which it lies, what is not booked. */
  deliveredSince(owner: string, secs: number): number
  /** Ms on the server's clock. */
  now(): number
  /** Orderly: all is on the disk, and the next start knows of no gap. After `engine.stop`. */
  close(): void
}

interface Options {
  /** A connection of its own, of durability 'normal': a killed process loses nothing that was written. */
  readonly db: StateDatabase
  readonly clock: Clock
  readonly log: Log
}

const syncMs = 30_000
const upkeepMs = 60_000

export function openJournal({ db, clock, log }: Options): Journal {
  const book = openJournalStore(db)
  const tally = openEngineCounters()
  const owed = openUnacked(db)
  let countedAt = clock.now() // all that was delivered until then is written
  const last = book.epochs().at(-1)
  let offsetMs = last?.offset_ms ?? 0
  const current = begin()
  let syncedAt = clock.now()
  let upkeptAt = 0
  let failedAt = 0

  /** Also after an orderly end: of two that start from copies of one state, neither must count on under its totals. */
  function begin(): number {
    const isGap = last !== undefined && last.closed === 0
    const gap = isGap ? { fromMs: last.written_at, toMs: clock.now() + offsetMs } : null
    const number = book.begin(gap, countedAt + offsetMs, offsetMs)
    book.sync() // else a power failure could bring an orderly end back
    return number
  }

  const serverNow = (): number => clock.now() + offsetMs
  /** What a gap would begin with: a rule's last word, or a new time, says nothing of what the others delivered. */
  const setWritten = (): void => book.setWritten(current, countedAt + offsetMs, offsetMs)

  /** A failed write changes nothing in the tally either: the next one carries it. */
  function write(untilMs = countedAt): void {
    const changes = tally.changes(Math.floor(serverNow() / 60_000) * 60)
    if (changes.length > 0)
      book.transaction(() => {
        const firstSeq = book.write(current, changes)
        owed.add(current, deliveriesIn(changes, firstSeq))
        book.setWritten(current, untilMs + offsetMs, offsetMs)
      })
    tally.written()
    countedAt = untilMs
  }

  function upkeep(): void {
    const now = clock.now()
    if (now - upkeptAt >= upkeepMs) {
      fold(db, book, serverNow())
      prune(db, current, tally.ruleIds(), now)
      upkeptAt = now
    }
    if (now - syncedAt < syncMs) return
    setWritten()
    book.sync()
    syncedAt = now
  }

  function guarded(work: () => void): void {
    try {
      work()
    } catch (error) {
      if (clock.now() - failedAt < 60_000) return
      failedAt = clock.now()
      log.error('journal.write_failed', `counts wait in memory until it can be written: ${String(error)}`)
    }
  }

  function* unbooked(limit: number): Iterable<Batch> {
    owed.tell()
    for (const { number, epoch, seq: until, gap_from: fromMs, gap_to: toMs } of book.epochs()) {
      const gap = fromMs === null || toMs === null ? null : { fromMs, toMs }
      for (let after = 0, isDone = false; !isDone; ) {
        const rows = book.read(number, after, until, limit)
        isDone = rows.length < limit
        const seq = (isDone ? undefined : rows.at(-1)?.seq) ?? until
        const isLast = isDone && number === current
        if (rows.length > 0 || isLast || (isDone && gap)) yield { epoch, seq, gap, rows, isLast }
        after = seq
      }
    }
  }

  function reconcile(booked: Readonly<Record<string, number>>): void {
    book.transaction(() => {
      for (const { number, epoch } of book.epochs()) {
        book.book(number, booked[epoch] ?? 0, clock.now())
        book.unbook(number, booked[epoch] ?? 0)
        owed.reconcile(number, booked[epoch] ?? 0)
      }
      owed.recover(tally.owners())
    })
  }

  return {
    bind: tally.bind,
    unbind: tally.unbind,
    tick(sample, at = clock.now()) {
      for (const counters of sample) tally.hear(counters, 'more')
      guarded(() => {
        write(at)
        upkeep()
      })
    },
    recordFinal(counters) {
      tally.hear(counters, 'last')
      guarded(() => write())
    },
    setServerTime(serverTimeMs, askedMs) {
      const [least, most] = [serverTimeMs - clock.now(), serverTimeMs - askedMs]
      offsetMs = Math.min(Math.max(offsetMs, least), most)
      guarded(setWritten)
    },
    reconcile: booked => guarded(() => reconcile(booked)),
    pending: unbooked,
    acknowledge: (epoch, seq) =>
      guarded(() => {
        const found = book.epochs().find(known => known.epoch === epoch)
        if (!found) return
        book.book(found.number, seq, clock.now())
        owed.book(found.number, seq)
        if (found.gap_from !== null) book.tellGap(found.number)
      }),
    activePorts: tally.gauges,
    delivered: owed.delivered,
    unacknowledged(owner, { epoch, seq, since }) {
      const named = book.epochs().find(known => known.epoch === epoch)
      return owed.after(owner, since, { epoch: named?.number ?? 0, seq })
    },
    deliveredSince: owed.late,
    now: serverNow,
    close() {
      write(clock.now())
      setWritten()
      book.setClosed(current)
      book.sync()
    }
  }
}
