// Bytes by owner, for limits on what the server books: all that was delivered, and what a report has not told yet.
import type { StateDatabase } from '../state/database.ts'
import type { Change } from './changes.ts'

/** What a rule delivered in a span, written under this seq. */
interface Delivery {
  readonly owner: string
  readonly ruleId: string
  readonly spanEnd: number // Unix seconds, server's clock
  readonly seq: number
  readonly bytes: number
}

/** Up to where the server had booked when it said something. */
interface Mark {
  readonly epoch: number // 0: none of ours
  readonly seq: number
}

export type Unacked = ReturnType<typeof openUnacked>

// `told` counts the reports that were begun: what is added between two of them is one row, whose seq the first
// that carries it has passed.
const tables = `
create table if not exists journal_owner (owner text primary key, bytes integer not null) strict, without rowid;
create table if not exists journal_owed (
  epoch integer not null, rule_id text not null, span_end integer not null, told integer not null,
  owner text not null, seq integer not null, bytes integer not null, booked integer not null default 0,
  primary key (epoch, rule_id, span_end, told)) strict, without rowid;
create index if not exists journal_owed_owner on journal_owed (owner, span_end);
create index if not exists journal_owed_seq on journal_owed (epoch, seq) where booked = 0;
`

const reportsKept = 60 // after its acknowledgement: the server may have spoken before it booked

export function openUnacked(db: StateDatabase) {
  db.exec(tables)
  const last = db.prepare<[], number | null>('select max(told) from journal_owed').pluck().get()
  let told = (last ?? 0) + 1
  const addTotal = db.prepare<[string, number]>(
    'insert into journal_owner values (?, ?) on conflict do update set bytes = bytes + excluded.bytes'
  )
  const addRow = db.prepare(
    `insert into journal_owed (epoch, rule_id, span_end, told, owner, seq, bytes)
     values (@epoch, @ruleId, @spanEnd, @told, @owner, @seq, @bytes)
     on conflict do update set seq = excluded.seq, bytes = bytes + excluded.bytes`
  )
  const total = db.prepare<[string], number>('select bytes from journal_owner where owner = ?').pluck()
  const after = db
    .prepare<{ owner: string; since: number; epoch: number; seq: number }, number | null>(
      `select sum(bytes) from journal_owed where owner = @owner and span_end > @since
       and case epoch when @epoch then seq > @seq else booked = 0 end`
    )
    .pluck()
  const late = db
    .prepare<{ owner: string; since: number }, number | null>(
      `select sum(bytes) from journal_owed where owner = @owner and span_end > @since
       and (booked = 0 or span_end - 60 >= @since)`
    )
    .pluck()
  const setBooked = db.prepare<[number, number]>(
    'update journal_owed set booked = 1 where epoch = ? and seq <= ? and booked = 0'
  )
  const setOwed = db.prepare<[number, number]>(
    'update journal_owed set booked = 0 where epoch = ? and seq > ? and booked = 1'
  )
  const rowsBack = db.prepare<[string]>(
    `insert into journal_owed (epoch, rule_id, span_end, told, owner, seq, bytes)
     select epoch, rule_id, span_end, 0, owner, seq, counted - known from (
       select r.epoch, r.rule_id, r.seq, cast(r.key as integer) + 60 as span_end, rules.value as owner,
         r.bytes_in + r.bytes_out as counted, (select coalesce(sum(o.bytes), 0) from journal_owed o
           where o.epoch = r.epoch and o.rule_id = r.rule_id and o.span_end = cast(r.key as integer) + 60) as known
       from journal_row r join json_each(?) rules on rules.key = r.rule_id
       where r.kind = 'minute' and r.booked_at is null)
     where counted > known on conflict do nothing`
  )
  const prune = db.prepare<[number]>('delete from journal_owed where booked = 1 and told < ?')

  return {
    /** In the transaction that writes the rows. */
    add(epoch: number, deliveries: readonly Delivery[]): void {
      for (const delivery of deliveries) {
        addRow.run({ ...delivery, epoch, told })
        addTotal.run(delivery.owner, delivery.bytes)
      }
    },
    /** A report is begun: what comes now, it does not carry. */
    tell(): void {
      told++
    },
    book(epoch: number, seq: number): void {
      setBooked.run(epoch, seq)
      prune.run(told - reportsKept)
    },
    /** The server says how far it has booked, which may be less than it had. */
    reconcile(epoch: number, seq: number): void {
      setBooked.run(epoch, seq)
      setOwed.run(epoch, seq)
    },
    /** What is to be booked again and was forgotten here; of the rules (id to owner) that are known. */
    recover: (owners: Readonly<Record<string, string>>): void => void rowsBack.run(JSON.stringify(owners)),
    /** Of all times. */
    delivered: (owner: string): number => total.get(owner) ?? 0,
    /** In spans that end after `since`: what came after the mark, and of other epochs what is not booked. */
    after: (owner: string, since: number, { epoch, seq }: Mark): number =>
      after.get({ owner, since, epoch, seq }) ?? 0,
    /** From `since` on, which was a moment ago; of the minute in which it lies, what is not booked. */
    late: (owner: string, since: number): number => late.get({ owner, since }) ?? 0
  }
}

const minuteSecs = 60

/** Of minutes that no report has carried: they become what they will be told as. A span counts where it ends. */
export function foldUnacked(
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

/** A row a minute is what counts bytes; each change of the write has a seq of its own. */
export const deliveriesIn = (changes: readonly Change[], firstSeq: number): Delivery[] =>
  changes.flatMap(({ kind, key, owner, ruleId, added: { bytesIn = 0, bytesOut = 0 } }, i) =>
    kind === 'minute' && owner !== undefined
      ? [{ owner, ruleId, spanEnd: Number(key) + minuteSecs, seq: firstSeq + i, bytes: bytesIn + bytesOut }]
      : []
  )
