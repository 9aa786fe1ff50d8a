// The journal's tables: epochs, and rows with the totals of an epoch.
import { randomBytes } from 'node:crypto'
import type { StateDatabase } from '../state/state-database.ts'
import { columns, counters, noCounts, selectedCounts } from '../wire/counters.ts'
import type { JournalRow } from '../wire/journal-report.ts'
import type { JournalChange } from './journal-changes.ts'

/** Counts may be missing between the last write of one epoch and the start of the next. Server's clock. */
export interface Gap {
  readonly fromMs: number
  readonly toMs: number
}

interface NumberedRow extends JournalRow {
  readonly seq: number // of the row's last change
}

interface Epoch {
  readonly number: number
  readonly epoch: string // random id, as the server knows it
  readonly seq: number // of the last change of a row
  readonly gapFrom: number | null // null: there is none, or the server knows it
  readonly gapTo: number | null
  readonly writtenAt: number // server's clock, ms
  readonly isClosed: 0 | 1 // 1: ended in order, no gap before the next
}

/** Epochs are named by their number. */
export interface JournalStore {
  beginEpoch(gap: Gap | null, serverMs: number): number
  /** Adds the changes to their rows. Each gets its own seq, so that a report can end at any row. Returns the first seq. */
  write(epoch: number, changes: readonly JournalChange[]): number
  /** Returns at most `limit` pending rows with after < seq <= until, and marks them as sent. */
  takePending(
    epoch: number,
    range: { readonly after: number; readonly until: number },
    limit: number
  ): readonly NumberedRow[]
  /** Returns all epochs, oldest first. */
  epochs(): readonly Epoch[]
  markCommitted(epoch: number, seq: number, nowMs: number): void
  /** Makes rows after `seq` pending again: the server no longer has them. */
  markPending(epoch: number, seq: number): void
  setWritten(epoch: number, serverMs: number): void
  saveTime(bootId: string, offsetMs: number): void
  /** Returns the server's time minus the uptime of the host; null: not known since this boot. */
  savedTime(bootId: string): number | null
  /** Extends the gaps that are not reported yet: the agent did not know how long it was offline. */
  moveGapEnds(ms: number): void
  /** Called when the server knows the gap before this epoch. */
  forgetGap(epoch: number): void
  close(epoch: number): void
  transaction(work: () => void): void
  /** Syncs the write-ahead log and copies it into the database file, so that a power failure loses nothing. */
  sync(): void
}

const tables = `
create table if not exists journal_epoch (
  number integer primary key, epoch text not null unique, seq integer not null,
  gap_from integer, gap_to integer, written_at integer not null, is_closed integer not null);
create table if not exists server_time ( -- one row: the server's time minus the uptime of the host
  only integer primary key check (only = 1), boot_id text not null, offset_ms real not null);
create table if not exists journal_row (
  epoch integer not null, rule_id text not null, kind text not null, key text not null,
  seq integer not null, is_sent integer not null default 0, committed_at integer,
  ${columns.map(column => `${column} integer not null default 0`).join(', ')},
  primary key (epoch, rule_id, kind, key)) without rowid;
create index if not exists journal_row_pending on journal_row (epoch, seq) where committed_at is null;
create index if not exists journal_row_minute on journal_row (key)
  where committed_at is null and kind = 'minute';
create index if not exists journal_row_committed on journal_row (committed_at) where committed_at is not null;
`

const prepare = (db: StateDatabase) => ({
  beginEpoch: db.prepare('insert into journal_epoch values (null, ?, 0, ?, ?, ?, 0)'),
  epochs: db.prepare<[], Epoch>(
    `select number, epoch, seq, gap_from as gapFrom, gap_to as gapTo, written_at as writtenAt,
       is_closed as isClosed from journal_epoch order by number`
  ),
  takeSeqs: db.prepare<[number, number], { seq: number }>(
    'update journal_epoch set seq = seq + ? where number = ? returning seq'
  ),
  setWritten: db.prepare('update journal_epoch set written_at = ? where number = ?'),
  moveGapEnds: db.prepare('update journal_epoch set gap_to = gap_to + ?'),
  saveTime: db.prepare('insert or replace into server_time values (1, ?, ?)'),
  savedTime: db.prepare<[string], { offsetMs: number }>(
    'select offset_ms as offsetMs from server_time where boot_id = ?'
  ),
  close: db.prepare('update journal_epoch set is_closed = 1 where number = ?'),
  forgetGap: db.prepare('update journal_epoch set gap_from = null, gap_to = null where number = ?'),
  addRow: db.prepare(
    `insert into journal_row (epoch, rule_id, kind, key, seq, ${columns})
     values (@epoch, @ruleId, @kind, @key, @seq, ${counters.map(counter => `@${counter}`)})
     on conflict do update set seq = excluded.seq, committed_at = null,
       ${columns.map(column => `${column} = ${column} + excluded.${column}`)}`
  ),
  pendingRows: db.prepare<[number, number, number, number], NumberedRow>(
    `select rule_id as ruleId, kind, key, seq, ${selectedCounts} from journal_row
     where epoch = ? and committed_at is null and seq > ? and seq <= ? order by seq limit ?`
  ),
  markSent: db.prepare('update journal_row set is_sent = 1 where epoch = ? and seq between ? and ?'),
  markCommitted: db.prepare(
    'update journal_row set committed_at = ? where epoch = ? and seq <= ? and committed_at is null'
  ),
  markPending: db.prepare(
    'update journal_row set committed_at = null where epoch = ? and seq > ? and committed_at is not null'
  )
})

export function openJournalStore(db: StateDatabase): JournalStore {
  db.exec(tables)
  const statements = prepare(db)

  return {
    beginEpoch(gap, serverMs) {
      const id = randomBytes(16).toString('hex')
      const values = [id, gap?.fromMs ?? null, gap?.toMs ?? null, serverMs]
      return Number(statements.beginEpoch.run(...values).lastInsertRowid)
    },
    write(epoch, changes) {
      const { seq: last } = statements.takeSeqs.get(changes.length, epoch) ?? { seq: 0 }
      const first = last - changes.length + 1
      for (const [i, { added, ruleId, kind, key }] of changes.entries())
        statements.addRow.run({ ...noCounts, ...added, ruleId, kind, key, epoch, seq: first + i })
      return first
    },
    takePending(epoch, { after, until }, limit) {
      const rows = statements.pendingRows.all(epoch, after, until, limit)
      const first = rows[0]
      const last = rows.at(-1)
      if (first && last) statements.markSent.run(epoch, first.seq, last.seq)
      return rows
    },
    epochs: () => statements.epochs.all(),
    markCommitted: (epoch, seq, nowMs) => void statements.markCommitted.run(nowMs, epoch, seq),
    markPending: (epoch, seq) => void statements.markPending.run(epoch, seq),
    setWritten: (epoch, serverMs) => void statements.setWritten.run(serverMs, epoch),
    saveTime: (bootId, offsetMs) => void statements.saveTime.run(bootId, offsetMs),
    savedTime: bootId => statements.savedTime.get(bootId)?.offsetMs ?? null,
    moveGapEnds: ms => void statements.moveGapEnds.run(ms),
    forgetGap: epoch => void statements.forgetGap.run(epoch),
    close: epoch => void statements.close.run(epoch),
    transaction: work => db.transaction(work),
    sync: () => db.exec('pragma wal_checkpoint(passive)')
  }
}
