// The client and owner of each rule. Those of a deleted rule stay until its agent has reported all its bytes.
import type { EntityManager } from '@mikro-orm/sql'
import { Client, ManagedObjectRow } from '../../kernel/identity/entities.ts'
import { rowBatches } from '../../kernel/store/sql/row-batches.ts'
import { type RuleOwnership, type RuleScope, type Rules, ruleKind } from '../rules/exports.ts'
import { StatsEpoch, StatsRemovedRule, StatsRow, StatsTotal } from './entities.ts'

const noOwner = ''

export interface RemovedRule extends RuleOwnership {
  readonly id: string
}

export type RuleShape = Omit<RuleScope, keyof RuleOwnership>

/** A rule that occurs in reports. */
export interface ReportedRule extends RuleOwnership {
  readonly shape: RuleShape | null // null: the rule is deleted
}

export interface RuleOwners {
  /** Returns the rules that exist, and those that were deleted but may still be reported. */
  load(ruleIds: readonly string[], em: EntityManager): Promise<Map<string, ReportedRule>>
  /** Stores the owner of a rule. Call it in the transaction that deletes the rule. */
  remember(rule: RemovedRule, em: EntityManager): Promise<void>
  /** Removes a deleted user as owner, so that a later user with that id does not get late bytes. */
  disown(owner: string, em: EntityManager): Promise<void>
  /** Call it after a new complete report of the clients, not after retransmissions. */
  reported(clientIds: readonly string[], em: EntityManager): Promise<void>
  /** Deletes the rows of clients and rules that were deleted while this plugin was off. Runs at start. */
  reconcile(em: EntityManager): Promise<void>
}

export function openRuleOwners({ rules }: { readonly rules: Rules }): RuleOwners {
  async function load(ruleIds: readonly string[], em: EntityManager): Promise<Map<string, ReportedRule>> {
    const found = new Map<string, ReportedRule>()
    for (const [id, { clientId, owner, ...shape }] of await rules.loadScopes(ruleIds, em))
      found.set(id, { clientId, owner, shape })
    for (const some of rowBatches(ruleIds.filter(id => !found.has(id)))) {
      const removed = await em.find(StatsRemovedRule, { ruleId: { $in: [...some] } })
      for (const { ruleId, clientId, owner } of removed) found.set(ruleId, { clientId, owner, shape: null })
    }
    return found
  }

  async function remember({ id: ruleId, clientId, owner }: RemovedRule, em: EntityManager): Promise<void> {
    await em.upsert(StatsRemovedRule, { ruleId, clientId, owner, isLast: false })
  }

  /**
   * The first complete report may have been under way when the agent removed the rule. The report after it includes all
   * remaining bytes, so it deletes the rows of the rule.
   */
  async function reported(clientIds: readonly string[], em: EntityManager): Promise<void> {
    for (const some of rowBatches(clientIds)) {
      const where = { clientId: { $in: [...some] } }
      const removed = await em.find(StatsRemovedRule, where)
      for (const [clientId, ofClient] of Map.groupBy(removed, rule => rule.clientId))
        await reportedBy(clientId, ofClient, em)
    }
  }

  async function disown(owner: string, em: EntityManager): Promise<void> {
    await em.nativeUpdate(StatsRemovedRule, { owner }, { owner: noOwner })
  }

  async function reconcile(em: EntityManager): Promise<void> {
    const clients = new Set((await em.find(Client, {}, { fields: ['id'] })).map(({ id }) => id))
    const known = await em.execute<{ clientId: string }[]>(
      'select client_id as "clientId" from stats_epoch union select client_id from stats_removed_rule'
    )
    for (const { clientId } of known) if (!clients.has(clientId)) await forgetClient(clientId, em)
    const committed = await em.execute<{ ruleId: string }[]>(
      'select distinct rule_id as "ruleId" from stats_total'
    )
    const existing = await rules.allIds(em)
    const ids = committed.flatMap(({ ruleId }) => (existing.has(ruleId) ? [] : [ruleId]))
    const removed = await em.find(StatsRemovedRule, { ruleId: { $in: ids } }, { fields: ['ruleId'] })
    const remembered = new Set(removed.map(({ ruleId }) => ruleId))
    const gone = { ruleId: { $in: ids.filter(id => !remembered.has(id)) } }
    const totals = await em.find(StatsTotal, gone, { fields: ['clientId'] })
    for (const [clientId, of] of Map.groupBy(totals, total => total.clientId))
      await forgetRules(clientId, [...new Set(of.map(({ ruleId }) => ruleId))], em)
  }

  return { load, remember, disown, reported, reconcile }
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

/** Deletes the rows of a client. Call it in the transaction that deletes the client. */
export async function forgetClient(clientId: string, em: EntityManager): Promise<void> {
  await em.nativeDelete(StatsRow, { clientId })
  await em.nativeDelete(StatsTotal, { clientId })
  await em.nativeDelete(StatsEpoch, { clientId })
  await em.nativeDelete(StatsRemovedRule, { clientId })
}
