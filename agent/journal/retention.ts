// Folds old minutes of the journal into hours, and deletes old rows.
import type { StateDatabase } from '../state/state-database.ts'
import { type Counts, eachCounter, summedCounts } from '../wire/counters.ts'
import { foldDeliveries } from './deliveries.ts'
import type { JournalStore } from './journal-store.ts'

const dayMs = 24 * 3_600_000
const committedRetentionMs = dayMs // a restored server asks for them again
const minutesRetentionMs = 7 * dayMs
const totalsRetentionMs = 30 * dayMs // after the rule is closed

type PendingHour = Counts & Readonly<Record<'epoch' | 'hour', number> & { ruleId: string }>

const unsentMinutes = `from journal_row where committed_at is null and is_sent = 0 and kind = 'minute' and key < ?`

/** Folds old minutes into hours. A minute that was sent stays: the server may have committed it. */
export function foldMinutes(db: StateDatabase, store: JournalStore, serverMs: number): void {
  // Compared as text: all have ten digits.
  const before = String(Math.floor((serverMs - minutesRetentionMs) / 3_600_000) * 3600)
  const hours = db
    .prepare<[string], PendingHour>(
      `select epoch, rule_id as ruleId, cast(key as integer) / 3600 * 3600 as hour, ${summedCounts}
       ${unsentMinutes} group by epoch, rule_id, hour`
    )
    .all(before)
  if (hours.length === 0) return
  store.transaction(() => {
    for (const { epoch, ruleId, hour, ...sums } of hours) {
      const added = eachCounter(counter => sums[counter])
      const change = { ruleId, kind: 'hour', key: String(hour), added } as const
      foldDeliveries(db, { epoch, ruleId, spanEnd: hour + 3600, seq: store.write(epoch, [change]) })
    }
    db.prepare(`delete ${unsentMinutes}`).run(before)
  })
}

/** Deletes committed rows after a day, and totals of the running epoch 30 days after their rule was closed. */
export function pruneJournal(
  db: StateDatabase,
  epoch: number,
  openRules: readonly string[],
  nowMs: number
): void {
  db.prepare(
    `delete from journal_row where committed_at < ? and (kind in ('minute', 'hour') or epoch <> ?)`
  ).run(nowMs - committedRetentionMs, epoch)
  db.prepare(
    `delete from journal_row where committed_at < ? and rule_id not in (select value from json_each(?))`
  ).run(nowMs - totalsRetentionMs, JSON.stringify(openRules))
  db.prepare(
    `delete from journal_epoch
     where number <> ? and gap_from is null and not exists (select 1 from journal_row where journal_row.epoch = number)`
  ).run(epoch)
}
