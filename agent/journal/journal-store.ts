// The journal's tables: epochs, and rows of absolute totals within an epoch.
import { randomBytes } from 'node:crypto'
import type { StateDatabase } from '../state/state-database.ts'
import { columns, counters, type JournalRow, noCounts, selectedCounts } from '../wire/journal-report.ts'
import type { Change } from './journal-changes.ts'

/** Counts may be missing between the last write of the epoch before and the start of this one. Server's clock. */
export interface Gap {
  readonly fromMs: number
  readonly toMs: number
}

interface NumberedRow extends JournalRow {
  readonly seq: number // of the row's last change
}

export interface Epoch {
  readonly number: number
  readonly epoch: string // random id, as the server knows it
  readonly seq: number // of the last change of a row
  readonly gapFrom: number | null // null when there is none, or the server knows of it
  readonly gapTo: number | null
  readonly writtenAt: number // server's clock, ms
  readonly closed: 0 | 1 // 1: ended in order, no gap before the next
}

const tables = `
create table if not exists journal_epoch (
  number integer primary key, epoch text not null unique, seq integer not null,
  gap_from integer, gap_to integer, written_at integer not null,
  offset_ms integer not null, -- not used any more: 0
  closed integer not null);
create table if not exists server_time ( -- one row: the server's time minus the host's time since its start
  only integer primary key check (only = 1), boot_id text not null, offset_ms real not null);
create table if not exists journal_row (
  epoch integer not null, rule_id text not null, kind text not null, key text not null,
  seq integer not null, sent integer not null default 0, booked_at integer,
  ${columns.map(column => `${column} integer not null default 0`).join(', ')},
  primary key (epoch, rule_id, kind, key)) without rowid;
create index if not exists journal_row_pending on journal_row (epoch, seq) where booked_at is null;
create index if not exists journal_row_minute on journal_row (key)
  where booked_at is null and kind = 'minute';
create index if not exists journal_row_booked on journal_row (booked_at) where booked_at is not null;
`

const prepare = (db: StateDatabase) => ({
  beginEpoch: db.prepare('insert into journal_epoch values (null, ?, 0, ?, ?, ?, 0, 0)'),
  epochs: db.prepare<[], Epoch>(
    `select number, epoch, seq, gap_from as gapFrom, gap_to as gapTo, written_at as writtenAt,
       closed from journal_epoch order by number`
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
  close: db.prepare('update journal_epoch set closed = 1 where number = ?'),
  forgetGap: db.prepare('update journal_epoch set gap_from = null, gap_to = null where number = ?'),
  addRow: db.prepare(
    `insert into journal_row (epoch, rule_id, kind, key, seq, ${columns})
     values (@epoch, @ruleId, @kind, @key, @seq, ${counters.map(counter => `@${counter}`)})
     on conflict do update set seq = excluded.seq, booked_at = null,
       ${columns.map(column => `${column} = ${column} + excluded.${column}`)}`
  ),
  pendingRows: db.prepare<[number, number, number, number], NumberedRow>(
    `select rule_id as ruleId, kind, key, seq, ${selectedCounts} from journal_row
     where epoch = ? and booked_at is null and seq > ? and seq <= ? order by seq limit ?`
  ),
  markSent: db.prepare('update journal_row set sent = 1 where epoch = ? and seq between ? and ?'),
  markCommitted: db.prepare(
    'update journal_row set booked_at = ? where epoch = ? and seq <= ? and booked_at is null'
  ),
  markPending: db.prepare(
    'update journal_row set booked_at = null where epoch = ? and seq > ? and booked_at is not null'
  )
})

export type JournalStore = ReturnType<typeof openJournalStore>

export function openJournalStore(db: StateDatabase) {
  db.exec(tables)
  addMissingColumns(db)
  const statements = prepare(db)

  function beginEpoch(gap: Gap | null, serverMs: number): number {
    const id = randomBytes(16).toString('hex')
    const values = [id, gap?.fromMs ?? null, gap?.toMs ?? null, serverMs]
    return Number(statements.beginEpoch.run(...values).lastInsertRowid)
  }

  /** Gives each row a seq of its own, so that a report can be cut at any row. Returns the first seq. */
  function write(epoch: number, changes: readonly Change[]): number {
    const { seq: last } = statements.takeSeqs.get(changes.length, epoch) ?? { seq: 0 }
    const first = last - changes.length + 1
    for (const [i, { added, ruleId, kind, key }] of changes.entries())
      statements.addRow.run({ ...noCounts, ...added, ruleId, kind, key, epoch, seq: first + i })
    return first
  }

  /** Returns at most `limit` pending rows with after < seq <= until, and marks them as sent. */
  function takePending(epoch: number, { after, until }: { after: number; until: number }, limit: number) {
    const rows = statements.pendingRows.all(epoch, after, until, limit)
    const [first, last] = [rows[0], rows.at(-1)]
    if (first && last) statements.markSent.run(epoch, first.seq, last.seq)
    return rows
  }

  return {
    beginEpoch,
    write,
    takePending,
    epochs: (): Epoch[] => statements.epochs.all(), // oldest first
    markCommitted: (epoch: number, seq: number, nowMs: number) =>
      void statements.markCommitted.run(nowMs, epoch, seq),
    /** Makes rows after `seq` pending again: the server does not have them any more. */
    markPending: (epoch: number, seq: number) => void statements.markPending.run(epoch, seq),
    setWritten: (epoch: number, serverMs: number) => void statements.setWritten.run(serverMs, epoch),
    saveTime: (bootId: string, offsetMs: number) => void statements.saveTime.run(bootId, offsetMs),
    /** Returns the server's time minus the time since this start of the host; null: not heard since. */
    savedTime: (bootId: string): number | null => statements.savedTime.get(bootId)?.offsetMs ?? null,
    /** Gaps that are not reported yet may have lasted longer: the agent did not know how long it had been away. */
    moveGapEnds: (ms: number) => void statements.moveGapEnds.run(ms),
    /** Called when the server knows of the gap before this epoch. */
    forgetGap: (epoch: number) => void statements.forgetGap.run(epoch),
    close: (epoch: number) => void statements.close.run(epoch),
    transaction: (work: () => void): void => db.transaction(work),
    /** Syncs the write-ahead log and copies it into the database file: a power failure loses nothing of it. */
    sync: () => db.exec('pragma wal_checkpoint(passive)')
  }
}

/** Adds columns for counters that an older version of the agent did not have. */
function addMissingColumns(db: StateDatabase): void {
  const known = db.prepare<[], { name: string }>('pragma table_info(journal_row)').all()
  for (const column of columns.filter(column => !known.some(({ name }) => name === column)))
    db.exec(`alter table journal_row add column ${column} integer not null default 0`)
}
