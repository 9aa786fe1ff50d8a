// The client and owner of each rule; of a deleted rule until its agent has reported all of it.
import type { EntityManager } from '@mikro-orm/sql'
import { Client, ManagedObjectRow } from '../../kernel/identity/entities.ts'
import { rowBatches } from '../../kernel/store/sql/row-batches.ts'
import { type RuleOwnership, type RuleScope, type Rules, ruleKind } from '../rules/exports.ts'
import { StatsEpoch, StatsRemovedRule, StatsRow, StatsTotal } from './entities.ts'

const nobody = ''

export type RuleOwners = ReturnType<typeof openRuleOwners>

export interface RemovedRule extends RuleOwnership {
  readonly id: string
}

export type RuleParts = Omit<RuleScope, keyof RuleOwnership>

/** A rule of which agents report. */
export interface ReportedRule extends RuleOwnership {
  readonly parts: RuleParts | null // null: the rule is deleted
}

export function openRuleOwners({ rules }: { readonly rules: Rules }) {
  async function of(ruleIds: readonly string[], em: EntityManager): Promise<Map<string, ReportedRule>> {
    const found = new Map<string, ReportedRule>()
    for (const [id, { clientId, owner, ...parts }] of await rules.loadScopes(ruleIds, em))
      found.set(id, { clientId, owner, parts })
    for (const some of rowBatches(ruleIds.filter(id => !found.has(id)))) {
      const removed = await em.find(StatsRemovedRule, { ruleId: { $in: [...some] } })
      for (const { ruleId, clientId, owner } of removed) found.set(ruleId, { clientId, owner, parts: null })
    }
    return found
  }

  /** Keeps the owner of a rule, in the transaction that deletes the rule. */
  async function remember({ id: ruleId, clientId, owner }: RemovedRule, em: EntityManager): Promise<void> {
    await em.upsert(StatsRemovedRule, { ruleId, clientId, owner, isLast: false })
  }

  /**
   * Follows new complete reports, not retransmissions. The first one may have been under way when the agent dropped a
   * rule. The one after it is sure to include the rest, so it deletes what is kept of the rule.
   */
  async function reported(clientIds: readonly string[], em: EntityManager): Promise<void> {
    for (const some of rowBatches(clientIds)) {
      const where = { clientId: { $in: [...some] } }
      const removed = await em.find(StatsRemovedRule, where)
      for (const [clientId, ofClient] of Map.groupBy(removed, rule => rule.clientId))
        await reportedBy(clientId, ofClient, em)
    }
  }

  /** Removes a deleted user as owner, so that a later user of that name does not get late bytes. */
  async function disown(owner: string, em: EntityManager): Promise<void> {
    await em.nativeUpdate(StatsRemovedRule, { owner }, { owner: nobody })
  }

  /** Runs at start: deletes what belongs to clients and rules that were deleted while this plugin was off. */
  async function reconcile(em: EntityManager): Promise<void> {
    const clients = new Set((await em.find(Client, {}, { fields: ['id'] })).map(({ id }) => id))
    const known = await em.execute<{ clientId: string }[]>(
      'select client_id as "clientId" from stats_epoch union select client_id from stats_holder'
    )
    for (const { clientId } of known) if (!clients.has(clientId)) await forgetClient(clientId, em)
    const committed = await em.execute<{ ruleId: string }[]>(
      'select distinct rule_id as "ruleId" from stats_total'
    )
    const rulesLeft = await rules.allIds(em)
    const ids = committed.flatMap(({ ruleId }) => (rulesLeft.has(ruleId) ? [] : [ruleId]))
    const removed = await em.find(StatsRemovedRule, { ruleId: { $in: ids } }, { fields: ['ruleId'] })
    const remembered = new Set(removed.map(({ ruleId }) => ruleId))
    const gone = { ruleId: { $in: ids.filter(id => !remembered.has(id)) } }
    const totals = await em.find(StatsTotal, gone, { fields: ['clientId'] })
    for (const [clientId, of] of Map.groupBy(totals, total => total.clientId))
      await forgetRules(clientId, [...new Set(of.map(({ ruleId }) => ruleId))], em)
  }

  return { of, remember, disown, reported, reconcile }
}

async function reportedBy(
  clientId: string,
  removed: readonly { readonly ruleId: string; readonly isLast: boolean }[],
  em: EntityManager
): Promise<void> {
  const idsOf = (some: typeof removed): string[] => some.map(({ ruleId }) => ruleId)
  await forgetRules(clientId, idsOf(removed.filter(({ isLast }) => isLast)), em)
  for (const some of rowBatches(idsOf(removed.filter(({ isLast }) => !isLast)))) {
    const onAgent = await em.find(ManagedObjectRow, { clientId, kind: ruleKind, id: { $in: [...some] } })
    const ruleId = { $in: some.filter(id => !onAgent.some(row => row.id === id)) }
    await em.nativeUpdate(StatsRemovedRule, { ruleId }, { isLast: true })
  }
}

async function forgetRules(clientId: string, ids: readonly string[], em: EntityManager): Promise<void> {
  if (ids.length === 0) return
  const epochs = (await em.find(StatsEpoch, { clientId })).map(({ epoch }) => epoch)
  for (const some of rowBatches(ids)) {
    const ruleId = { $in: [...some] }
    await em.nativeDelete(StatsRemovedRule, { ruleId })
    await em.nativeDelete(StatsTotal, { ruleId })
    await em.nativeDelete(StatsRow, { clientId, epoch: { $in: epochs }, ruleId })
  }
}

/** Deletes the rows of a client, in the transaction that deletes the client. */
export async function forgetClient(clientId: string, em: EntityManager): Promise<void> {
  await em.nativeDelete(StatsRow, { clientId })
  await em.nativeDelete(StatsTotal, { clientId })
  await em.nativeDelete(StatsEpoch, { clientId })
  await em.nativeDelete(StatsRemovedRule, { clientId })
}
