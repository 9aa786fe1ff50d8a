// Delivered bytes by owner. The agent's part of a quota derives from them.
import type { StateDatabase } from '../state/state-database.ts'
import type { JournalChange, JournalRule } from './journal-changes.ts'

/** Bytes that a rule delivered in a span: a minute, or the hour into which old minutes were folded. */
interface Delivery {
  readonly owner: string
  readonly ruleId: string
  readonly spanEnd: number // Unix seconds, server's clock
  readonly seq: number // of the journal row
  readonly bytes: number
}

/** A position in an epoch; epoch 0: unknown. */
interface Position {
  readonly epoch: number
  readonly seq: number
}

/**
 * Counts all bytes that an owner has delivered, and the bytes that a message of the server does not include yet. Each
 * message names the last report that the server had committed. The agent may know of later commits by then, so it keeps
 * committed rows for 60 more reports.
 */
export interface Deliveries {
  /** Adds the bytes of journal rows. Must be called in the transaction that writes the rows. */
  add(epoch: number, deliveries: readonly Delivery[]): void
  /** Starts a report. Bytes that are added later are in the next one. */
  beginReport(): void
  markCommitted(epoch: number, seq: number): void
  /** Adopts what the server has of an epoch. It may be less than it once acknowledged. */
  reconcile(epoch: number, seq: number): void
  /** Restores pruned rows of these rules if their journal rows are pending again. */
  restorePruned(rules: readonly JournalRule[]): void
  /** Returns all bytes that the owner's rules have ever delivered. */
  total(owner: string): number
  /**
   * Returns the bytes after a position, and the uncommitted bytes of other epochs. Counts only spans that end after
   * `since` (Unix seconds).
   */
  unacknowledged(owner: string, since: number, after: Position): number
  /** Returns the bytes since a recent time (Unix seconds); of the minute that contains it, only uncommitted bytes. */
  since(owner: string, since: number): number
}

// A row has the bytes that a rule added to a span between two reports:
// - `first_report` is the number of the first report that carries them. It is 0 in folded and restored rows.
// - `seq` is the seq of the journal row at its last change. The first report has at least this seq.
// - `is_committed` is 1 if the server has committed the journal row.
const tables = `
create table if not exists owner_total (owner text primary key, bytes integer not null) strict, without rowid;
create table if not exists unsettled_bytes (
  epoch integer not null, rule_id text not null, span_end integer not null, first_report integer not null,
  owner text not null, seq integer not null, bytes integer not null, is_committed integer not null default 0,
  primary key (epoch, rule_id, span_end, first_report)) strict, without rowid;
create index if not exists unsettled_bytes_owner on unsettled_bytes (owner, span_end);
create index if not exists unsettled_bytes_seq on unsettled_bytes (epoch, seq) where is_committed = 0;
`

type Sum = { readonly bytes: number | null }

const minuteSecs = 60
const keptReports = 60 // a message of the server may be older than a commit by as many reports

const insertRow = 'insert into unsettled_bytes (epoch, rule_id, span_end, first_report, owner, seq, bytes)'
const addToRow = 'on conflict do update set seq = excluded.seq, bytes = bytes + excluded.bytes'

const prepare = (db: StateDatabase) => ({
  addToTotal: db.prepare<[string, number]>(
    'insert into owner_total values (?, ?) on conflict do update set bytes = bytes + excluded.bytes'
  ),
  total: db.prepare<[string], { bytes: number }>('select bytes from owner_total where owner = ?'),
  addRow: db.prepare(
    `${insertRow} values (@epoch, @ruleId, @spanEnd, @report, @owner, @seq, @bytes) ${addToRow}`
  ),
  lastReport: db.prepare<[], { report: number | null }>(
    'select max(first_report) as report from unsettled_bytes'
  ),
  unacknowledged: db.prepare<[{ owner: string; since: number } & Position], Sum>(
    `select sum(bytes) as bytes from unsettled_bytes where owner = @owner and span_end > @since
     and case epoch when @epoch then seq > @seq else is_committed = 0 end`
  ),
  since: db.prepare<[{ owner: string; since: number }], Sum>(
    `select sum(bytes) as bytes from unsettled_bytes where owner = @owner and span_end > @since
     and (is_committed = 0 or span_end - ${minuteSecs} >= @since)`
  ),
  markCommitted: db.prepare<[number, number]>(
    'update unsettled_bytes set is_committed = 1 where epoch = ? and seq <= ? and is_committed = 0'
  ),
  markPending: db.prepare<[number, number]>(
    'update unsettled_bytes set is_committed = 0 where epoch = ? and seq > ? and is_committed = 1'
  ),
  restorePruned: db.prepare<[string]>(
    `${insertRow}
     select epoch, rule_id, span_end, 0, owner, seq, counted - known from (
       select r.epoch, r.rule_id, r.seq, cast(r.key as integer) + ${minuteSecs} as span_end, rules.value as owner,
         r.bytes_in + r.bytes_out as counted, (select coalesce(sum(o.bytes), 0) from unsettled_bytes o
           where o.epoch = r.epoch and o.rule_id = r.rule_id
             and o.span_end = cast(r.key as integer) + ${minuteSecs}) as known
       from journal_row r join json_each(?) rules on rules.key = r.rule_id
       where r.kind = 'minute' and r.committed_at is null)
     where counted > known on conflict do nothing`
  ),
  prune: db.prepare<[number]>('delete from unsettled_bytes where is_committed = 1 and first_report < ?')
})

export function openDeliveries(db: StateDatabase): Deliveries {
  db.exec(tables)
  const statements = prepare(db)
  let report = (statements.lastReport.get()?.report ?? 0) + 1 // will carry what is added now

  return {
    add(epoch, deliveries) {
      for (const delivery of deliveries) {
        statements.addRow.run({ ...delivery, epoch, report })
        statements.addToTotal.run(delivery.owner, delivery.bytes)
      }
    },
    beginReport() {
      report++
    },
    markCommitted(epoch, seq) {
      statements.markCommitted.run(epoch, seq)
      statements.prune.run(report - keptReports)
    },
    reconcile(epoch, seq) {
      statements.markCommitted.run(epoch, seq)
      statements.markPending.run(epoch, seq)
    },
    restorePruned(rules) {
      const owners = Object.fromEntries(rules.map(({ id, owner }) => [id, owner]))
      statements.restorePruned.run(JSON.stringify(owners))
    },
    total: owner => statements.total.get(owner)?.bytes ?? 0,
    unacknowledged: (owner, since, after) =>
      statements.unacknowledged.get({ owner, since, ...after })?.bytes ?? 0,
    since: (owner, since) => statements.since.get({ owner, since })?.bytes ?? 0
  }
}

/** Folds minutes that no report has carried into their hour, as `foldMinutes` does with the journal rows. */
export function foldDeliveries(
  db: StateDatabase,
  hour: Omit<Delivery, 'owner' | 'bytes'> & { readonly epoch: number }
): void {
  const folded = `from unsettled_bytes as o
    where epoch = @epoch and rule_id = @ruleId and is_committed = 0 and first_report > 0
      and span_end > @spanEnd - 3600 and span_end <= @spanEnd and exists (select 1 from journal_row r
        where r.epoch = o.epoch and r.rule_id = o.rule_id and r.kind = 'minute'
          and r.key = cast(o.span_end - ${minuteSecs} as text) and r.committed_at is null and r.is_sent = 0)`
  db.prepare(
    `${insertRow} select epoch, rule_id, @spanEnd, 0, owner, @seq, sum(bytes) ${folded} group by owner ${addToRow}`
  ).run(hour)
  db.prepare(`delete ${folded}`).run(hour)
}

/** Returns the deliveries in the changes of one write. Bytes count by minute, and change i has seq firstSeq + i. */
export const deliveriesIn = (changes: readonly JournalChange[], firstSeq: number): Delivery[] =>
  changes.flatMap(({ kind, key, owner, ruleId, added: { bytesIn = 0, bytesOut = 0 } }, i) => {
    const bytes = bytesIn + bytesOut
    return kind === 'minute' && owner !== undefined && bytes > 0
      ? [{ owner, ruleId, spanEnd: Number(key) + minuteSecs, seq: firstSeq + i, bytes }]
      : []
  })
