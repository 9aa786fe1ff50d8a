// Plain statements over many rows: a report is never booked entity by entity.
import type { EntityManager } from '@mikro-orm/sql'
import { type Counts, countNames, keyOf } from './counters.ts'
import { StatsEpoch } from './entities.ts'
import type { Row } from './wire.ts'

interface Journal {
  readonly clientId: string
  readonly epoch: string
}

/** With whose rule it is of. */
export interface OwnedRow extends Row {
  readonly owner: string
}

const perStatement = 200
const counted = countNames.join(', ')
const place = `?, ?, ?, ?, ?, ${countNames.map(() => '?').join(', ')}`
const replaced = countNames.map(name => `${name} = excluded.${name}`).join(', ')
const increased = countNames.map(name => `${name} = stats_total.${name} + excluded.${name}`).join(', ')

/** What the journal's rows said when they were last booked. */
export async function rowsBefore(
  of: Journal,
  rows: readonly Row[],
  em: EntityManager
): Promise<Map<string, Row>> {
  const found = new Map<string, Row>()
  for (const some of slices(rows)) {
    const before = await em.execute<Row[]>(
      `select rule_id, kind, key, ${counted} from stats_row
       where client_id = ? and epoch = ? and (rule_id, kind, key) in (values ${some.map(() => '(?, ?, ?)')})`,
      [of.clientId, of.epoch, ...some.flatMap(({ rule_id, kind, key }) => [rule_id, kind, key])]
    )
    for (const row of before) found.set(keyOf(row), row)
  }
  return found
}

export async function putRows(of: Journal, rows: readonly Row[], em: EntityManager): Promise<void> {
  for (const some of slices(rows))
    await em.execute(
      `insert into stats_row (client_id, epoch, rule_id, kind, key, ${counted})
       values ${some.map(() => `(${place})`)}
       on conflict (client_id, epoch, rule_id, kind, key) do update set ${replaced}`,
      some.flatMap(row => [of.clientId, of.epoch, row.rule_id, row.kind, row.key, ...countsOf(row)]),
      'run'
    )
}

/** Each row of another key. */
export async function addTotals(
  { clientId, updatedAt }: { readonly clientId: string; readonly updatedAt: number },
  added: readonly OwnedRow[],
  em: EntityManager
): Promise<void> {
  for (const some of slices(added))
    await em.execute(
      `insert into stats_total (rule_id, kind, key, client_id, owner, updated_at, ${counted})
       values ${some.map(() => `(?, ${place})`)}
       on conflict (rule_id, kind, key) do update set updated_at = excluded.updated_at, ${increased}`,
      some.flatMap(row => [row.rule_id, row.kind, row.key, clientId, row.owner, updatedAt, ...countsOf(row)]),
      'run'
    )
}

interface Told {
  readonly seq: number
  readonly minute: number | null
  readonly isWhole: boolean
  readonly bookedAt: number
}

/**
 * Answers whether the journal was unknown, and whether this completes a report that was not complete before: one that
 * comes again, however late, does not. A journal's seq never goes back; its minute may, as the clock may.
 */
export async function advanceEpoch(
  { clientId, epoch }: Journal,
  { seq, minute, isWhole, bookedAt }: Told,
  em: EntityManager
): Promise<{ isNew: boolean; isCompleted: boolean }> {
  const { affectedRows: known } = await em.execute<{ affectedRows: number }>(
    `update stats_epoch set seq = max(seq, ?), minute = coalesce(?, minute),
       booked_at = case when seq < ? then ? else booked_at end
     where client_id = ? and epoch = ?`,
    [seq, minute, seq, bookedAt, clientId, epoch],
    'run'
  )
  if (known === 0)
    await em.insert(StatsEpoch, { clientId, epoch, seq, minute: minute ?? 0, whole: 0, bookedAt })
  if (!isWhole) return { isNew: known === 0, isCompleted: false }
  const completed = await em.nativeUpdate(
    StatsEpoch,
    { clientId, epoch, whole: { $lt: seq } },
    { whole: seq }
  )
  return { isNew: known === 0, isCompleted: completed > 0 }
}

/**
 * Old spans, some at a time; answers whether more are left. The last minute of a journal stays: it may have been
 * reported in part, and its whole total, which is not to be booked on top of it, come when the agent is back.
 */
export async function dropSpans(beforeSecs: number, em: EntityManager): Promise<boolean> {
  const { affectedRows } = await em.execute<{ affectedRows: number }>(
    `delete from stats_row where (client_id, epoch, rule_id, kind, key) in (
       select client_id, epoch, rule_id, kind, key from stats_row natural join stats_epoch
       where kind in ('minute', 'hour') and key < ? and cast(key as bigint) < minute limit 1000)`,
    [String(beforeSecs)],
    'run'
  )
  return affectedRows === 1000
}

/**
 * The rows of journals that ended before `beforeMs`, some at a time; answers whether more are left. A later journal of
 * the client was booked since, which is said after everything earlier: they will not be told again.
 */
export async function dropEnded(beforeMs: number, em: EntityManager): Promise<boolean> {
  const { affectedRows } = await em.execute<{ affectedRows: number }>(
    `delete from stats_row where (client_id, epoch, rule_id, kind, key) in (
       select client_id, epoch, rule_id, kind, key from stats_row natural join (
         select client_id, epoch from stats_epoch as ended where booked_at < ? and exists (
           select 1 from stats_epoch where client_id = ended.client_id and booked_at > ended.booked_at))
       limit 1000)`,
    [beforeMs],
    'run'
  )
  return affectedRows === 1000
}

/** Of each client's journals all but the `kept` that were booked last, which have no rows any more. */
export async function dropEpochs(kept: number, beforeMs: number, em: EntityManager): Promise<void> {
  await em.execute(
    `delete from stats_epoch where booked_at < ? and (client_id, epoch) in (
       select client_id, epoch from (
         select client_id, epoch, row_number() over (partition by client_id order by booked_at desc) as place
         from stats_epoch)
       where place > ?)`,
    [beforeMs, kept],
    'run'
  )
}

const countsOf = (row: Counts): number[] => countNames.map(name => row[name])

export function* slices<T>(rows: readonly T[]): Iterable<readonly T[]> {
  for (let i = 0; i < rows.length; i += perStatement) yield rows.slice(i, i + perStatement)
}
