// Statements over many rows at once: committing a report entity by entity would be too slow.
import type { EntityManager } from '@mikro-orm/sql'
import { type Counts, columns, maxCount, selectedCounts, valuesOf } from './counters.ts'
import { StatsEpoch } from './entities.ts'
import type { JournalRow } from './wire.ts'

interface Journal {
  readonly clientId: string
  readonly epoch: string
}

export interface OwnedRow extends JournalRow {
  readonly owner: string // of the rule
}

type RowKey = Pick<JournalRow, 'ruleId' | 'kind' | 'key'>

export const rowKey = ({ ruleId, kind, key }: RowKey): string => `${ruleId} ${kind} ${key}`

const perStatement = 200
const placeholders = `?, ?, ?, ?, ?, ${columns.map(() => '?').join(', ')}`
const replaced = columns.map(column => `${column} = excluded.${column}`).join(', ')
const increased = columns
  .map(column => {
    const sum = `stats_total.${column} + excluded.${column}`
    return `${column} = case when ${sum} > ${maxCount} then ${maxCount} else ${sum} end`
  })
  .join(', ')

/** Returns the committed counts of the rows by `rowKey`, without those that are new. */
export async function committedCounts(
  of: Journal,
  rows: readonly JournalRow[],
  em: EntityManager
): Promise<Map<string, Counts>> {
  const found = new Map<string, Counts>()
  for (const some of slices(rows)) {
    const committed = await em.execute<JournalRow[]>(
      `select rule_id as "ruleId", kind, key, ${selectedCounts} from stats_row
       where client_id = ? and epoch = ? and (rule_id, kind, key) in (values ${some.map(() => '(?, ?, ?)')})`,
      [of.clientId, of.epoch, ...some.flatMap(({ ruleId, kind, key }) => [ruleId, kind, key])]
    )
    for (const row of committed) found.set(rowKey(row), row)
  }
  return found
}

export async function putRows(of: Journal, rows: readonly JournalRow[], em: EntityManager): Promise<void> {
  for (const some of slices(rows))
    await em.execute(
      `insert into stats_row (client_id, epoch, rule_id, kind, key, ${columns})
       values ${some.map(() => `(${placeholders})`)}
       on conflict (client_id, epoch, rule_id, kind, key) do update set ${replaced}`,
      some.flatMap(row => [of.clientId, of.epoch, row.ruleId, row.kind, row.key, ...valuesOf(row)]),
      'run'
    )
}

/** Adds counts to the totals. No two rows may have the same key. */
export async function addTotals(
  { clientId, updatedAt }: { readonly clientId: string; readonly updatedAt: number },
  added: readonly OwnedRow[],
  em: EntityManager
): Promise<void> {
  for (const some of slices(added))
    await em.execute(
      `insert into stats_total (rule_id, kind, key, client_id, owner, updated_at, ${columns})
       values ${some.map(() => `(?, ${placeholders})`)}
       on conflict (rule_id, kind, key) do update set updated_at = excluded.updated_at, ${increased}`,
      some.flatMap(row => [row.ruleId, row.kind, row.key, clientId, row.owner, updatedAt, ...valuesOf(row)]),
      'run'
    )
}

interface Progress {
  readonly seq: number
  readonly minute: number | null // the latest one in the report
  readonly isComplete: boolean // the report is the last part
  readonly committedAt: number
}

/**
 * Returns whether the epoch is new, and whether this completes a report that was not complete before; a retransmission
 * does not, however late. The seq of an epoch never decreases; its minute may, as the agent's clock may.
 */
export async function advanceEpoch(
  { clientId, epoch }: Journal,
  { seq, minute, isComplete, committedAt }: Progress,
  em: EntityManager
): Promise<{ isNew: boolean; isCompleted: boolean }> {
  const { affectedRows: known } = await em.execute<{ affectedRows: number }>(
    `update stats_epoch set seq = case when seq < ? then ? else seq end, minute = coalesce(?, minute),
       booked_at = case when seq < ? then ? else booked_at end
     where client_id = ? and epoch = ?`,
    [seq, seq, minute, seq, committedAt, clientId, epoch],
    'run'
  )
  const isNew = known === 0
  const begun = { clientId, epoch, seq, minute: minute ?? 0, whole: 0, bookedAt: committedAt }
  if (isNew) await em.insert(StatsEpoch, begun)
  if (!isComplete) return { isNew, isCompleted: false }
  const where = { clientId, epoch, whole: { $lt: seq } }
  return { isNew, isCompleted: (await em.nativeUpdate(StatsEpoch, where, { whole: seq })) > 0 }
}

/**
 * Deletes old spans, at most 1,000; returns whether more are left. The last minute of an epoch stays: it may have been
 * reported in part, and when the agent is back, only the rest of its total may be added. Keys of other kinds are no
 * numbers: PostgreSQL may cast before it looks at the kind.
 */
export const pruneSpans = (beforeSecs: number, em: EntityManager): Promise<boolean> =>
  deleteRows(
    `natural join stats_epoch where kind in ('minute', 'hour') and key < ?
       and case when kind in ('minute', 'hour') then cast(key as bigint) end < minute`,
    String(beforeSecs),
    em
  )

/**
 * Deletes rows of ended epochs whose last report came before `beforeMs`, at most 1,000; returns whether more are left.
 * An epoch has ended when a later one of the client was reported: an agent reports older epochs first.
 */
export const pruneEnded = (beforeMs: number, em: EntityManager): Promise<boolean> =>
  deleteRows(
    `natural join (
       select client_id, epoch from stats_epoch as ended where booked_at < ? and exists (
         select 1 from stats_epoch where client_id = ended.client_id and booked_at > ended.booked_at)) past`,
    beforeMs,
    em
  )

async function deleteRows(condition: string, before: string | number, em: EntityManager): Promise<boolean> {
  const { affectedRows } = await em.execute<{ affectedRows: number }>(
    `delete from stats_row where (client_id, epoch, rule_id, kind, key) in (
       select client_id, epoch, rule_id, kind, key from stats_row ${condition} limit 1000)`,
    [before],
    'run'
  )
  return affectedRows === 1000
}

const maxEpochs = 20_000 // of a client; an agent that is restarted every 5 s begins 17,280 a day
const trimmedAtOnce = 1000

/** Bounds the epochs of a client: deletes the oldest with their rows, however young. */
export async function trimEpochs(clientId: string, em: EntityManager): Promise<void> {
  if ((await em.count(StatsEpoch, { clientId })) <= maxEpochs) return
  await em.execute(
    `delete from stats_epoch where client_id = ? and epoch in (
       select epoch from stats_epoch where client_id = ? order by booked_at limit ?)`,
    [clientId, clientId, trimmedAtOnce],
    'run'
  )
  await em.execute(
    `delete from stats_row where client_id = ?
     and epoch not in (select epoch from stats_epoch where client_id = ?)`,
    [clientId, clientId],
    'run'
  )
}

/** Deletes old epochs, which have no rows any more. Each client keeps the `kept` latest ones. */
export async function pruneEpochs(kept: number, beforeMs: number, em: EntityManager): Promise<void> {
  await em.execute(
    `delete from stats_epoch where booked_at < ? and (client_id, epoch) in (
       select client_id, epoch from (
         select client_id, epoch, row_number() over (partition by client_id order by booked_at desc) as rank
         from stats_epoch) ranked
       where rank > ?)`,
    [beforeMs, kept],
    'run'
  )
}

export function* slices<T>(rows: readonly T[]): Iterable<readonly T[]> {
  for (let i = 0; i < rows.length; i += perStatement) yield rows.slice(i, i + perStatement)
}
