// The owners of deleted rules. Their samples stay for 7 days.
import type { EntityManager } from '@mikro-orm/sql'
import type { Principal } from '../../kernel/http/principal.ts'
import { rowBatches } from '../../kernel/store/sql/row-batches.ts'
import { seesAll } from '../http/exports.ts'
import type { Rules } from '../rules/exports.ts'
import { TrafficRemovedRule } from './entities.ts'

const noOwner = ''
const retentionMs = 7 * 86_400_000
const rulesPerRound = 20
const samplesPerRound = 1000

interface RemovedRule {
  readonly id: string
  readonly owner: string
  readonly parent?: string // for a member: the id of its group rule
}

/** Stores the owner of a rule. Call it in the transaction that deletes the rule. */
export async function remember(
  { id: ruleId, owner, parent }: RemovedRule,
  nowMs: number,
  em: EntityManager
): Promise<void> {
  await em.upsert(TrafficRemovedRule, { ruleId, shownId: parent ?? ruleId, owner, removedAt: nowMs })
}

/** Returns the ids under which the API shows rules. Omits rules that were deleted more than 7 days ago. */
export async function loadShownIds(
  ids: readonly string[],
  rules: Pick<Rules, 'shownIds'>,
  em: EntityManager
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map()
  const shown = new Map(await rules.shownIds(ids, em))
  for (const some of rowBatches(ids.filter(id => !shown.has(id)))) {
    const removed = await em.find(TrafficRemovedRule, { ruleId: { $in: [...some] } })
    for (const { ruleId, shownId } of removed) shown.set(ruleId, shownId)
  }
  return shown
}

/** True if the rule is deleted and the principal may still read its samples. */
export async function mayRead(id: string, principal: Principal, em: EntityManager): Promise<boolean> {
  const removed = await em.findOne(TrafficRemovedRule, { ruleId: id, shownId: id })
  return removed !== null && (seesAll(principal) || removed.owner === principal.userId)
}

/** Removes a deleted user as owner, so that a later user with that id cannot read the samples. */
export async function disown(owner: string, em: EntityManager): Promise<void> {
  await em.nativeUpdate(TrafficRemovedRule, { owner }, { owner: noOwner })
}

/** Deletes at most 1,000 samples of rules that were deleted 7 days ago. Returns false if none are left. */
export async function pruneRemoved(nowMs: number, em: EntityManager): Promise<boolean> {
  const due = await em.find(
    TrafficRemovedRule,
    { removedAt: { $lt: nowMs - retentionMs } },
    { orderBy: { removedAt: 'asc', ruleId: 'asc' }, limit: rulesPerRound }
  )
  if (due.length === 0) return false
  const ids = due.map(({ ruleId }) => ruleId)
  const series = `select id from traffic_series where rule_id in (${ids.map(() => '?')})`
  const { affectedRows } = await em.execute<{ affectedRows: number }>(
    `delete from traffic_sample where (series, span_secs, ts) in (
       select series, span_secs, ts from traffic_sample where series in (${series}) limit ?)`,
    [...ids, samplesPerRound],
    'run'
  )
  if (affectedRows === samplesPerRound) return true
  await em.execute(`delete from traffic_series where rule_id in (${ids.map(() => '?')})`, ids, 'run')
  await em.nativeDelete(TrafficRemovedRule, { ruleId: { $in: ids } })
  return true
}

/** Gives rules that were deleted while this plugin was off a time of deletion. Runs at start. */
export async function reconcile(
  rules: Pick<Rules, 'allIds'>,
  nowMs: number,
  em: EntityManager
): Promise<void> {
  const known = await em.execute<{ ruleId: string; shownId: string }[]>(
    `select distinct rule_id as "ruleId", shown_id as "shownId" from traffic_series
     where rule_id <> '' and rule_id not in (select rule_id from traffic_removed_rule)`
  )
  if (known.length === 0) return
  const existing = await rules.allIds(em)
  for (const { ruleId, shownId } of known)
    if (!existing.has(ruleId))
      await em.upsert(TrafficRemovedRule, { ruleId, shownId, owner: noOwner, removedAt: nowMs })
}
