// Deletes old rows of the journal, and folds old minutes into hours.
import type { StateDatabase } from '../state/state-database.ts'
import { foldDeliveries } from './deliveries.ts'
import type { JournalStore } from './journal-store.ts'

const dayMs = 24 * 3_600_000
const committedKeptMs = dayMs // a server that was restored asks for them again
const minutesKeptMs = 7 * dayMs
const totalsKeptMs = 30 * dayMs // of a rule that is no longer open

type PendingHour = Readonly<Record<'epoch' | 'hour' | 'bytesIn' | 'bytesOut', number> & { ruleId: string }>

const unsentMinutes = `from journal_row where booked_at is null and sent = 0 and kind = 'minute' and key < ?`

/** Folds old minutes into hours, but only those that no report has carried: a sent minute may be committed already. */
export function fold(db: StateDatabase, store: JournalStore, serverMs: number): void {
  // Compared as text: all have ten digits.
  const before = String(Math.floor((serverMs - minutesKeptMs) / 3_600_000) * 3600)
  const hours = db
    .prepare<[string], PendingHour>(
      `select epoch, rule_id as ruleId, cast(key as integer) / 3600 * 3600 as hour,
         sum(bytes_in) as bytesIn, sum(bytes_out) as bytesOut
       ${unsentMinutes} group by epoch, rule_id, hour`
    )
    .all(before)
  if (hours.length === 0) return
  store.transaction(() => {
    for (const { epoch, ruleId, hour, bytesIn, bytesOut } of hours) {
      const change = { ruleId, kind: 'hour', key: String(hour), added: { bytesIn, bytesOut } } as const
      foldDeliveries(db, { epoch, ruleId, spanEnd: hour + 3600, seq: store.write(epoch, [change]) })
    }
    db.prepare(`delete ${unsentMinutes}`).run(before)
  })
}

/** Deletes committed rows after a day; totals of the running epoch 30 days later, once their rule is closed. */
export function prune(db: StateDatabase, epoch: number, openRules: readonly string[], nowMs: number): void {
  db.prepare(
    `delete from journal_row where booked_at < ? and (kind in ('minute', 'hour') or epoch <> ?)`
  ).run(nowMs - committedKeptMs, epoch)
  db.prepare(
    `delete from journal_row where booked_at < ? and rule_id not in (select value from json_each(?))`
  ).run(nowMs - totalsKeptMs, JSON.stringify(openRules))
  db.prepare(
    `delete from journal_epoch
     where number <> ? and gap_from is null and not exists (select 1 from journal_row where journal_row.epoch = number)`
  ).run(epoch)
}
