// Delivered bytes by owner, for quotas: all of them, and those that the server has not acknowledged.
import type { StateDatabase } from '../state/state-database.ts'
import type { Change, JournalRule } from './journal-changes.ts'

/** Bytes that a rule delivered in a span. */
interface Delivery {
  readonly owner: string
  readonly ruleId: string
  readonly spanEnd: number // Unix seconds, server's clock
  readonly seq: number // of the journal row
  readonly bytes: number
}

// `told` is the number of the first report with these bytes, or 0 for folded and recovered ones; `booked` is 1 when the
// server has committed the row. Bytes between two reports share a row; the first report with them has at least its seq.
const tables = `
create table if not exists journal_owner (owner text primary key, bytes integer not null) strict, without rowid;
create table if not exists journal_owed (
  epoch integer not null, rule_id text not null, span_end integer not null, told integer not null,
  owner text not null, seq integer not null, bytes integer not null, booked integer not null default 0,
  primary key (epoch, rule_id, span_end, told)) strict, without rowid;
create index if not exists journal_owed_owner on journal_owed (owner, span_end);
create index if not exists journal_owed_seq on journal_owed (epoch, seq) where booked = 0;
`

type Sum = { readonly bytes: number | null }

const minuteSecs = 60
const reportsKept = 60 // how long committed rows stay: a message of the server may be older than its commit

const prepare = (db: StateDatabase) => ({
  addToTotal: db.prepare<[string, number]>(
    'insert into journal_owner values (?, ?) on conflict do update set bytes = bytes + excluded.bytes'
  ),
  total: db.prepare<[string], { bytes: number }>('select bytes from journal_owner where owner = ?'),
  addRow: db.prepare(
    `insert into journal_owed (epoch, rule_id, span_end, told, owner, seq, bytes)
     values (@epoch, @ruleId, @spanEnd, @report, @owner, @seq, @bytes)
     on conflict do update set seq = excluded.seq, bytes = bytes + excluded.bytes`
  ),
  unacknowledged: db.prepare<[{ owner: string; since: number; epoch: number; seq: number }], Sum>(
    `select sum(bytes) as bytes from journal_owed where owner = @owner and span_end > @since
     and case epoch when @epoch then seq > @seq else booked = 0 end`
  ),
  since: db.prepare<[{ owner: string; since: number }], Sum>(
    `select sum(bytes) as bytes from journal_owed where owner = @owner and span_end > @since
     and (booked = 0 or span_end - ${minuteSecs} >= @since)`
  ),
  markCommitted: db.prepare<[number, number]>(
    'update journal_owed set booked = 1 where epoch = ? and seq <= ? and booked = 0'
  ),
  markPending: db.prepare<[number, number]>(
    'update journal_owed set booked = 0 where epoch = ? and seq > ? and booked = 1'
  ),
  recover: db.prepare<[string]>(
    `insert into journal_owed (epoch, rule_id, span_end, told, owner, seq, bytes)
     select epoch, rule_id, span_end, 0, owner, seq, counted - known from (
       select r.epoch, r.rule_id, r.seq, cast(r.key as integer) + ${minuteSecs} as span_end, rules.value as owner,
         r.bytes_in + r.bytes_out as counted, (select coalesce(sum(o.bytes), 0) from journal_owed o
           where o.epoch = r.epoch and o.rule_id = r.rule_id
             and o.span_end = cast(r.key as integer) + ${minuteSecs}) as known
       from journal_row r join json_each(?) rules on rules.key = r.rule_id
       where r.kind = 'minute' and r.booked_at is null)
     where counted > known on conflict do nothing`
  ),
  prune: db.prepare<[number]>('delete from journal_owed where booked = 1 and told < ?')
})

export type Deliveries = ReturnType<typeof openDeliveries>

export function openDeliveries(db: StateDatabase) {
  db.exec(tables)
  const statements = prepare(db)
  const last = db.prepare<[], { told: number | null }>('select max(told) as told from journal_owed').get()
  let report = (last?.told ?? 0) + 1 // number of the report that will carry what is added now

  return {
    /** Called in the transaction that writes the rows. */
    add(epoch: number, deliveries: readonly Delivery[]): void {
      for (const delivery of deliveries) {
        statements.addRow.run({ ...delivery, epoch, report })
        statements.addToTotal.run(delivery.owner, delivery.bytes)
      }
    },
    /** Begins a report; what is added from now on is in the next one. */
    beginReport(): void {
      report++
    },
    markCommitted(epoch: number, seq: number): void {
      statements.markCommitted.run(epoch, seq)
      statements.prune.run(report - reportsKept)
    },
    /** Marks what the server has: all up to `seq`, which may be less than it once acknowledged. */
    reconcile(epoch: number, seq: number): void {
      statements.markCommitted.run(epoch, seq)
      statements.markPending.run(epoch, seq)
    },
    /** Restores deliveries of these rules that were pruned and whose journal rows are pending again. */
    recover(rules: readonly JournalRule[]): void {
      const owners = Object.fromEntries(rules.map(({ id, owner }) => [id, owner]))
      statements.recover.run(JSON.stringify(owners))
    },
    /** Returns all bytes that were ever delivered. */
    total: (owner: string): number => statements.total.get(owner)?.bytes ?? 0,
    /** Counts spans that end after `since`: bytes after `seq` in the epoch (0: unknown), uncommitted ones in others. */
    unacknowledged: (owner: string, since: number, after: { epoch: number; seq: number }): number =>
      statements.unacknowledged.get({ owner, since, ...after })?.bytes ?? 0,
    /** Bytes delivered since a recent time; of the minute containing it, only unacknowledged bytes. */
    since: (owner: string, since: number): number => statements.since.get({ owner, since })?.bytes ?? 0
  }
}

/** Folds deliveries as `fold` does their rows: minutes that no report has carried, into the hour in which they end. */
export function foldDeliveries(
  db: StateDatabase,
  hour: Omit<Delivery, 'owner' | 'bytes'> & { readonly epoch: number }
): void {
  const folded = `from journal_owed as o where epoch = @epoch and rule_id = @ruleId and booked = 0 and told > 0
    and span_end > @spanEnd - 3600 and span_end <= @spanEnd and exists (select 1 from journal_row r
      where r.epoch = o.epoch and r.rule_id = o.rule_id and r.kind = 'minute'
        and r.key = cast(o.span_end - ${minuteSecs} as text) and r.booked_at is null and r.sent = 0)`
  db.prepare(
    `insert into journal_owed (epoch, rule_id, span_end, told, owner, seq, bytes)
     select epoch, rule_id, @spanEnd, 0, owner, @seq, sum(bytes) ${folded} group by owner
     on conflict do update set seq = excluded.seq, bytes = bytes + excluded.bytes`
  ).run(hour)
  db.prepare(`delete ${folded}`).run(hour)
}

/** The deliveries among the changes of one write: bytes are counted by minute, and change i has seq firstSeq + i. */
export const deliveriesIn = (changes: readonly Change[], firstSeq: number): Delivery[] =>
  changes.flatMap(({ kind, key, owner, ruleId, added: { bytesIn = 0, bytesOut = 0 } }, i) =>
    kind === 'minute' && owner !== undefined
      ? [{ owner, ruleId, spanEnd: Number(key) + minuteSecs, seq: firstSeq + i, bytes: bytesIn + bytesOut }]
      : []
  )
