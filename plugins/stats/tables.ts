// Batched statements over the rows of many reports, because one statement per report is too slow for a fleet.
import type { EntityManager } from '@mikro-orm/sql'
import { type Counts, columns, maxCount, selectedCounts, valuesOf } from '../../agent/wire/counters.ts'
import type { JournalRow } from '../../agent/wire/journal-report.ts'
import { rowBatches } from '../../kernel/store/sql/row-batches.ts'
import { StatsEpoch } from './entities.ts'

interface Journal {
  readonly clientId: string
  readonly epoch: string
}

export interface OwnedRow extends JournalRow {
  readonly owner: string // of the rule
  readonly id: string // `rowKey` as reported
}

type RowKey = Pick<JournalRow, 'ruleId' | 'kind' | 'key'>

export const rowKey = ({ ruleId, kind, key }: RowKey): string => `${ruleId} ${kind} ${key}`

const placeholders = `?, ?, ?, ?, ?, ${columns.map(() => '?').join(', ')}`
const replaced = columns.map(column => `${column} = excluded.${column}`).join(', ')
const increased = columns
  .map(column => {
    const sum = `stats_total.${column} + excluded.${column}`
    return `${column} = case when ${sum} > ${maxCount} then ${maxCount} else ${sum} end`
  })
  .join(', ')

/** Rows of one journal. */
export interface JournalRows<R extends JournalRow = JournalRow> {
  readonly of: Journal
  readonly rows: readonly R[]
}

const eachRow = <R extends JournalRow>(all: readonly JournalRows<R>[]) =>
  all.flatMap(({ of, rows }) => rows.map(row => ({ of, row })))

/** Returns the committed counts of rows that are not new, by client and then by `rowKey`. */
export async function committedCounts(
  all: readonly JournalRows[],
  em: EntityManager
): Promise<Map<string, Map<string, Counts>>> {
  const found = new Map(all.map(({ of }) => [of.clientId, new Map<string, Counts>()]))
  for (const some of rowBatches(eachRow(all), 5)) {
    const committed = await em.execute<(JournalRow & Pick<Journal, 'clientId'>)[]>(
      `select client_id as "clientId", rule_id as "ruleId", kind, key, ${selectedCounts} from stats_row
       where (client_id, epoch, rule_id, kind, key) in (values ${some.map(() => '(?, ?, ?, ?, ?)')})`,
      some.flatMap(({ of, row }) => [of.clientId, of.epoch, row.ruleId, row.kind, row.key])
    )
    for (const row of committed) found.get(row.clientId)?.set(rowKey(row), row)
  }
  return found
}

export async function putRows(all: readonly JournalRows[], em: EntityManager): Promise<void> {
  for (const some of rowBatches(eachRow(all), 5 + columns.length))
    await em.execute(
      `insert into stats_row (client_id, epoch, rule_id, kind, key, ${columns})
       values ${some.map(() => `(${placeholders})`)}
       on conflict (client_id, epoch, rule_id, kind, key) do update set ${replaced}`,
      some.flatMap(({ of, row }) => [of.clientId, of.epoch, row.ruleId, row.kind, row.key, ...valuesOf(row)]),
      'run'
    )
}

/** Adds counts to the totals. No two rows may have the same key. */
export async function addTotals(
  all: readonly JournalRows<OwnedRow>[],
  updatedAt: number,
  em: EntityManager
): Promise<void> {
  for (const some of rowBatches(eachRow(all), 6 + columns.length))
    await em.execute(
      `insert into stats_total (rule_id, kind, key, client_id, owner, updated_at, ${columns})
       values ${some.map(() => `(?, ${placeholders})`)}
       on conflict (rule_id, kind, key) do update set updated_at = excluded.updated_at, ${increased}`,
      some.flatMap(({ of, row }) => [
        row.ruleId,
        row.kind,
        row.key,
        of.clientId,
        row.owner,
        updatedAt,
        ...valuesOf(row)
      ]),
      'run'
    )
}

export interface EpochOutcome {
  readonly isNew: boolean
  readonly isCompleted: boolean // false for a retransmission
}

interface Progress extends Journal {
  readonly seq: number
  readonly minute: number | null // the latest in the report
  readonly isComplete: boolean // this is the last part of a report
  readonly committedAt: number
}

/**
 * Returns one outcome per row of `all`. The seq of an epoch never decreases; its minute may decrease with the agent's
 * clock.
 */
export async function advanceEpochs(all: readonly Progress[], em: EntityManager): Promise<EpochOutcome[]> {
  const outcomes: EpochOutcome[] = []
  for (const some of rowBatches(all, 6)) {
    const known = await knownEpochs(some, em)
    const advanced = some.map(({ clientId, epoch, seq, minute, isComplete, committedAt }): StatsEpoch => {
      const before = known.get(`${clientId} ${epoch}`)
      const isCompleted = isComplete && (before?.completeSeq ?? 0) < seq
      outcomes.push({ isNew: !before, isCompleted })
      return {
        clientId,
        epoch,
        seq: Math.max(seq, before?.seq ?? 0),
        minute: minute ?? before?.minute ?? 0,
        completeSeq: isCompleted ? seq : (before?.completeSeq ?? 0),
        committedAt: before && before.seq >= seq ? before.committedAt : committedAt
      }
    })
    await em.execute(
      `insert into stats_epoch (client_id, epoch, seq, minute, complete_seq, committed_at)
       values ${some.map(() => '(?, ?, ?, ?, ?, ?)')} on conflict (client_id, epoch) do update set seq = excluded.seq,
         minute = excluded.minute, complete_seq = excluded.complete_seq, committed_at = excluded.committed_at`,
      advanced.flatMap(row => [
        row.clientId,
        row.epoch,
        row.seq,
        row.minute,
        row.completeSeq,
        row.committedAt
      ]),
      'run'
    )
  }
  return outcomes
}

async function knownEpochs(of: readonly Journal[], em: EntityManager): Promise<Map<string, StatsEpoch>> {
  const rows = await em.execute<StatsEpoch[]>(
    `select client_id as "clientId", epoch, seq, minute, complete_seq as "completeSeq",
       committed_at as "committedAt" from stats_epoch
     where (client_id, epoch) in (values ${of.map(() => '(?, ?)')})`,
    of.flatMap(({ clientId, epoch }) => [clientId, epoch])
  )
  return new Map(
    rows.map(({ clientId, epoch, seq, minute, completeSeq, committedAt }) => [
      `${clientId} ${epoch}`,
      {
        clientId,
        epoch,
        seq: Number(seq),
        minute: Number(minute),
        completeSeq: Number(completeSeq),
        committedAt: Number(committedAt)
      }
    ])
  )
}

/** Returns the time of the last commit, for each client that has one. */
export async function lastCommits(
  clientIds: readonly string[],
  em: EntityManager
): Promise<Map<string, number>> {
  const found = new Map<string, number>()
  for (const some of rowBatches(clientIds)) {
    const rows = await em.execute<{ clientId: string; committedAt: number }[]>(
      `select client_id as "clientId", max(committed_at) as "committedAt" from stats_epoch
       where client_id in (${some.map(() => '?')}) group by client_id`,
      [...some]
    )
    for (const { clientId, committedAt } of rows) found.set(clientId, Number(committedAt))
  }
  return found
}

/**
 * Deletes at most 1,000 old spans; returns whether more are left. The last minute of an epoch stays: it may be incomplete,
 * and a returning agent must add only the rest of its total. The `case` guards the cast, because keys of other kinds are
 * not numbers and PostgreSQL may cast before it checks the kind.
 */
export const pruneSpans = (beforeSecs: number, em: EntityManager): Promise<boolean> =>
  deleteRows(
    `natural join stats_epoch where kind in ('minute', 'hour') and key < ?
       and case when kind in ('minute', 'hour') then cast(key as bigint) end < minute`,
    String(beforeSecs),
    em
  )

/**
 * Deletes at most 1,000 rows of ended epochs without a report since `beforeMs`; returns whether more are left. An epoch has
 * ended once the client reports a later one, because an agent reports older epochs first.
 */
export const pruneEnded = (beforeMs: number, em: EntityManager): Promise<boolean> =>
  deleteRows(
    `natural join (
       select client_id, epoch from stats_epoch as ended where committed_at < ? and exists (
         select 1 from stats_epoch where client_id = ended.client_id and committed_at > ended.committed_at)) past`,
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

const maxEpochs = 20_000 // per client; an agent that restarts every 5 s begins 17,280 a day
const trimmedAtOnce = 1000

/** Deletes the oldest epochs of a client beyond the maximum, with their rows. */
export async function trimEpochs(clientId: string, em: EntityManager): Promise<void> {
  if ((await em.count(StatsEpoch, { clientId })) <= maxEpochs) return
  await em.execute(
    `delete from stats_epoch where client_id = ? and epoch in (
       select epoch from stats_epoch where client_id = ? order by committed_at limit ?)`,
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

/** Deletes epochs older than `beforeMs`, except the `latest` newest of each client. */
export async function pruneEpochs(latest: number, beforeMs: number, em: EntityManager): Promise<void> {
  await em.execute(
    `delete from stats_epoch where committed_at < ? and (client_id, epoch) in (
       select client_id, epoch from (
         select client_id, epoch, row_number() over (partition by client_id order by committed_at desc) as rank
         from stats_epoch) ranked
       where rank > ?)`,
    [beforeMs, latest],
    'run'
  )
}
