// What the journal forgets, and how old minutes shrink.
import type { StateDatabase } from '../state/database.ts'
import { foldUnacked } from './deliveries.ts'
import type { JournalStore } from './journal-store.ts'

const dayMs = 24 * 3_600_000
const bookedForMs = dayMs // a server that was restored asks for them again
const minutesForMs = 7 * dayMs
const totalsForMs = 30 * dayMs // of a rule that is in no engine any more

interface Stale {
  readonly epoch: number
  readonly rule_id: string
  readonly hour: number
  readonly bytes_in: number
  readonly bytes_out: number
}

const stale = `
select epoch, rule_id, cast(key as integer) / 3600 * 3600 as hour,
  sum(bytes_in) as bytes_in, sum(bytes_out) as bytes_out
from journal_row where booked_at is null and sent = 0 and kind = 'minute' and key < ?
group by epoch, rule_id, hour`

/** Old minutes that no report has carried become hours; one that was sent may be booked as it is. */
export function fold(db: StateDatabase, book: JournalStore, serverMs: number): void {
  // As text: all have ten digits.
  const before = String(Math.floor((serverMs - minutesForMs) / 3_600_000) * 3600)
  const groups = db.prepare<[string], Stale>(stale).all(before)
  if (groups.length === 0) return
  book.transaction(() => {
    for (const { epoch, rule_id: ruleId, hour, bytes_in: bytesIn, bytes_out: bytesOut } of groups) {
      const change = { ruleId, kind: 'hour', key: String(hour), added: { bytesIn, bytesOut } } as const
      foldUnacked(db, { epoch, ruleId, spanEnd: hour + 3600, seq: book.write(epoch, [change]) })
    }
    db.prepare(
      `delete from journal_row where booked_at is null and sent = 0 and kind = 'minute' and key < ?`
    ).run(before)
  })
}

/** Booked rows go after a day; totals of the running epoch stay while their rule is counted. */
export function prune(db: StateDatabase, current: number, counted: readonly string[], nowMs: number): void {
  db.prepare(
    `delete from journal_row where booked_at < ? and (kind in ('minute', 'hour') or epoch <> ?)`
  ).run(nowMs - bookedForMs, current)
  db.prepare(
    `delete from journal_row where booked_at < ? and rule_id not in (select value from json_each(?))`
  ).run(nowMs - totalsForMs, JSON.stringify(counted))
  db.prepare(
    `delete from journal_epoch
     where number <> ? and gap_from is null and not exists (select 1 from journal_row where journal_row.epoch = number)`
  ).run(current)
}
