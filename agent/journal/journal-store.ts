// The journal's tables: epochs, and rows of absolute totals within an epoch.
import { randomBytes } from 'node:crypto'
import type { StateDatabase } from '../state/database.ts'
import type { Change, Counts, RowKind } from './changes.ts'

/** Absolute totals since the epoch began. */
export interface JournalRow extends Counts {
  readonly ruleId: string
  readonly kind: RowKind
  readonly key: string
}

interface Numbered extends JournalRow {
  readonly seq: number // of the row's last change
}

/** Between the last count of the epoch before and the start of this one, counts may be missing. Server's clock. */
export interface Gap {
  readonly fromMs: number
  readonly toMs: number
}

export interface Batch {
  readonly epoch: string
  readonly seq: number // all that changed up to here is in this batch, in one before, or acknowledged
  readonly gap: Gap | null
  readonly rows: readonly JournalRow[]
  readonly isLast: boolean // nothing is left, and the epoch is the one that runs
}

interface Epoch {
  readonly number: number
  readonly epoch: string
  readonly seq: number // of the last change of a row
  readonly gap_from: number | null // until the server knows of it
  readonly gap_to: number | null
  readonly written_at: number // server's clock, ms
  readonly offset_ms: number // server's clock less ours
  readonly closed: 0 | 1 // in order: nothing is missing before the next
}

export type JournalStore = ReturnType<typeof openJournalStore>

const counts = {
  bytes_in: 'bytesIn',
  bytes_out: 'bytesOut',
  datagrams_in: 'datagramsIn',
  datagrams_out: 'datagramsOut',
  connections: 'connections',
  dns_failures: 'dnsFailures',
  failovers: 'failovers',
  overflows: 'overflows',
  rejected: 'rejected'
} as const satisfies Record<string, keyof Counts>
const names = Object.keys(counts)
const columns = Object.entries(counts)

const tables = `
create table if not exists journal_epoch (
  number integer primary key, epoch text not null unique, seq integer not null,
  gap_from integer, gap_to integer, written_at integer not null,
  offset_ms integer not null, closed integer not null);
create table if not exists journal_row (
  epoch integer not null, rule_id text not null, kind text not null, key text not null,
  seq integer not null, sent integer not null default 0, booked_at integer,
  ${names.map(name => `${name} integer not null default 0`).join(', ')},
  primary key (epoch, rule_id, kind, key)) without rowid;
create index if not exists journal_row_pending on journal_row (epoch, seq) where booked_at is null;
create index if not exists journal_row_minute on journal_row (key)
  where booked_at is null and kind = 'minute';
create index if not exists journal_row_booked on journal_row (booked_at) where booked_at is not null;
`

const addRow = `
insert into journal_row (epoch, rule_id, kind, key, seq, ${names})
values (@epoch, @ruleId, @kind, @key, @seq, ${columns.map(([, name]) => `@${name}`)})
on conflict do update set seq = excluded.seq, booked_at = null,
  ${names.map(name => `${name} = ${name} + excluded.${name}`)}`

const pendingRows = `
select rule_id as ruleId, kind, key, seq, ${columns.map(([column, name]) => `${column} as ${name}`)}
from journal_row where epoch = ? and booked_at is null and seq > ? and seq <= ? order by seq limit ?`

const nothing: Counts = {
  bytesIn: 0,
  bytesOut: 0,
  datagramsIn: 0,
  datagramsOut: 0,
  connections: 0,
  dnsFailures: 0,
  failovers: 0,
  overflows: 0,
  rejected: 0
}

export function openJournalStore(db: StateDatabase) {
  db.exec(tables)
  addColumns(db)
  const add = db.prepare(addRow)
  const pending = db.prepare<[number, number, number, number], Numbered>(pendingRows)
  const markSent = db.prepare('update journal_row set sent = 1 where epoch = ? and seq between ? and ?')
  const takeSeq = db.prepare<[number, number], { seq: number }>(
    'update journal_epoch set seq = seq + ? where number = ? returning seq'
  )
  const written = db.prepare('update journal_epoch set written_at = ?, offset_ms = ? where number = ?')
  const allEpochs = db.prepare<[], Epoch>('select * from journal_epoch order by number')
  const book = db.prepare(
    'update journal_row set booked_at = ? where epoch = ? and seq <= ? and booked_at is null'
  )
  const gapTold = db.prepare('update journal_epoch set gap_from = null, gap_to = null where number = ?')
  const unbook = db.prepare(
    'update journal_row set booked_at = null where epoch = ? and seq > ? and booked_at is not null'
  )

  const epochs = (): Epoch[] => allEpochs.all()

  function begin(gap: Gap | null, serverMs: number, offsetMs: number): number {
    const { lastInsertRowid } = db
      .prepare('insert into journal_epoch values (null, ?, 0, ?, ?, ?, ?, 0)')
      .run(randomBytes(16).toString('hex'), gap?.fromMs ?? null, gap?.toMs ?? null, serverMs, offsetMs)
    return Number(lastInsertRowid)
  }

  /** One seq a row, so that a report can be cut at any row. Answers the first. */
  function write(number: number, changes: readonly Change[]): number {
    const { seq: last } = takeSeq.get(changes.length, number) ?? { seq: 0 }
    const first = last - changes.length + 1
    for (const [i, { added, ruleId, kind, key }] of changes.entries())
      add.run({ ...nothing, ...added, ruleId, kind, key, epoch: number, seq: first + i })
    return first
  }

  function read(number: number, after: number, until: number, limit: number): readonly Numbered[] {
    const rows = pending.all(number, after, until, limit)
    const [first, last] = [rows[0], rows.at(-1)]
    if (first && last) markSent.run(number, first.seq, last.seq)
    return rows
  }

  return {
    epochs,
    begin,
    read,
    write,
    setClosed: (number: number) =>
      void db.prepare('update journal_epoch set closed = 1 where number = ?').run(number),
    setWritten: (number: number, serverMs: number, offsetMs: number) =>
      void written.run(serverMs, offsetMs, number),
    book: (number: number, seq: number, nowMs: number) => void book.run(nowMs, number, seq),
    /** The server knows of the gap before this epoch. */
    tellGap: (number: number) => void gapTold.run(number),
    unbook: (number: number, seq: number) => void unbook.run(number, seq),
    transaction: (work: () => void): void => db.transaction(work)(),
    /** Through the disk's cache: copies the log into the file, and waits for both. */
    sync: () => void db.pragma('wal_checkpoint(passive)')
  }
}

/** A state directory of an agent that counted less. */
function addColumns(db: StateDatabase): void {
  const known = db.pragma('table_info(journal_row)') as readonly { readonly name: string }[]
  for (const name of names.filter(name => !known.some(column => column.name === name)))
    db.exec(`alter table journal_row add column ${name} integer not null default 0`)
}
