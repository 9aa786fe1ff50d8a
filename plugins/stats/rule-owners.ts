// Whose each rule is, also of one that is gone, until its agent has reported all of it.
import type { EntityManager } from '@mikro-orm/sql'
import { Client, ManagedObjectRow } from '../../kernel/identity/entities.ts'
import type { RuleOwnership, Rules } from '../rules/exports.ts'
import { ruleKind } from '../rules/exports.ts'
import { StatsEpoch, StatsHolder, StatsRow, StatsTotal } from './entities.ts'
import { slices } from './tables.ts'

const nobody = ''

export type RuleOwners = ReturnType<typeof openRuleOwners>

export interface RemovedRule extends RuleOwnership {
  readonly id: string
}

export function openRuleOwners({ rules }: { readonly rules: Rules }) {
  async function of(ruleIds: readonly string[], em: EntityManager): Promise<Map<string, RuleOwnership>> {
    const holders = await rules.ownershipOf(ruleIds, em)
    for (const some of slices(ruleIds.filter(id => !holders.has(id))))
      for (const { ruleId, clientId, owner } of await em.find(StatsHolder, { ruleId: { $in: [...some] } }))
        holders.set(ruleId, { clientId, owner })
    return holders
  }

  /** In the transaction in which the rule goes. */
  async function removed({ id: ruleId, clientId, owner }: RemovedRule, em: EntityManager): Promise<void> {
    await em.upsert(StatsHolder, { ruleId, clientId, owner, isLast: false })
  }

  /**
   * After complete reports, or several of one moment, that did not come before. One may have been under way when the
   * agent let go of a rule: the next, which follows its answer, is sure to hold the rest, and takes the rule along.
   */
  async function reported(clientIds: readonly string[], em: EntityManager): Promise<void> {
    for (const some of slices(clientIds)) {
      const where = { clientId: { $in: [...some] } }
      const gone = await em.find(StatsHolder, where, { disableIdentityMap: true })
      for (const [clientId, ofClient] of Map.groupBy(gone, holder => holder.clientId))
        await reportedBy(clientId, ofClient, em)
    }
  }

  /** What comes late of a user who is gone is nobody's: a later user of that name inherits nothing. */
  async function disown(owner: string, em: EntityManager): Promise<void> {
    await em.nativeUpdate(StatsHolder, { owner }, { owner: nobody })
  }

  /** At start: what went while this plugin was off. */
  async function sweep(em: EntityManager): Promise<void> {
    const clients = new Set((await em.find(Client, {}, { fields: ['id'] })).map(({ id }) => id))
    const known = await em.execute<{ client_id: string }[]>(
      'select client_id from stats_epoch union select client_id from stats_holder'
    )
    for (const { client_id: id } of known) if (!clients.has(id)) await forgetClient(id, em)
    const booked = await em.execute<{ rule_id: string; client_id: string }[]>(
      'select distinct rule_id, client_id from stats_total'
    )
    const holders = await of(
      booked.map(({ rule_id }) => rule_id),
      em
    )
    for (const { rule_id, client_id } of booked)
      if (!holders.has(rule_id)) await forget(client_id, [rule_id], em)
  }

  return { of, removed, disown, reported, sweep }
}

async function reportedBy(
  clientId: string,
  gone: readonly { readonly ruleId: string; readonly isLast: boolean }[],
  em: EntityManager
): Promise<void> {
  const idsOf = (some: typeof gone): string[] => some.map(({ ruleId }) => ruleId)
  await forget(clientId, idsOf(gone.filter(({ isLast }) => isLast)), em)
  for (const some of slices(idsOf(gone.filter(({ isLast }) => !isLast)))) {
    const held = await em.find(ManagedObjectRow, { clientId, kind: ruleKind, id: { $in: [...some] } })
    const ruleId = { $in: some.filter(id => !held.some(row => row.id === id)) }
    await em.nativeUpdate(StatsHolder, { ruleId }, { isLast: true })
  }
}

async function forget(clientId: string, ids: readonly string[], em: EntityManager): Promise<void> {
  if (ids.length === 0) return
  const epochs = (await em.find(StatsEpoch, { clientId })).map(({ epoch }) => epoch)
  for (const some of slices(ids)) {
    const ruleId = { $in: [...some] }
    await em.nativeDelete(StatsHolder, { ruleId })
    await em.nativeDelete(StatsTotal, { ruleId })
    await em.nativeDelete(StatsRow, { clientId, epoch: { $in: epochs }, ruleId })
  }
}

/** In the transaction that deletes the client. */
export async function forgetClient(clientId: string, em: EntityManager): Promise<void> {
  await em.nativeDelete(StatsRow, { clientId })
  await em.nativeDelete(StatsTotal, { clientId })
  await em.nativeDelete(StatsEpoch, { clientId })
  await em.nativeDelete(StatsHolder, { clientId })
}
