// Bounds the stored bans that rules cause on one client. Agents evict bans by the same order, so both have the same ones.
import type { EntityManager } from '@mikro-orm/sql'
import { rowBatches } from '../../kernel/store/sql/row-batches.ts'
import { Ban } from './entities.ts'
import { maxBansPerRule, maxRuleBans } from './wire.ts'

const ofRules = { cause: { $ne: 'operator' as const } }

/**
 * Deletes the oldest bans of the rules of `added` beyond 500 each, then those of the owners with the most, beyond 5,000 on
 * the client. Returns the deleted bans that the agent has.
 */
export async function evictRuleBans(
  clientId: string,
  added: readonly Pick<Ban, 'ruleId'>[],
  em: EntityManager
): Promise<Ban[]> {
  const evicted: Ban[] = []
  for (const ruleId of new Set(added.map(({ ruleId }) => ruleId)))
    evicted.push(...(await deleteOldest({ ruleId }, (await countOf({ ruleId }, em)) - maxBansPerRule, em)))
  const surplus = (await countOf({ clientId }, em)) - maxRuleBans
  if (surplus > 0)
    for (const [owner, bans] of await surplusByOwner(clientId, surplus, em))
      evicted.push(...(await deleteOldest({ clientId, owner }, bans, em)))
  return evicted.filter(({ isSent }) => isSent)
}

type Selection = Partial<Pick<Ban, 'clientId' | 'owner' | 'ruleId'>>

const countOf = (which: Selection, em: EntityManager): Promise<number> =>
  em.count(Ban, { ...which, ...ofRules })

async function deleteOldest(which: Selection, number: number, em: EntityManager): Promise<Ban[]> {
  if (number <= 0) return []
  const oldest = await em.find(Ban, { ...which, ...ofRules }, { orderBy: { id: 'asc' }, limit: number })
  for (const some of rowBatches(oldest)) await em.nativeDelete(Ban, { id: { $in: some.map(({ id }) => id) } })
  return oldest
}

/** Takes one ban after another from the owner with the most. Returns the number for each owner who loses some. */
async function surplusByOwner(
  clientId: string,
  surplus: number,
  em: EntityManager
): Promise<ReadonlyMap<string, number>> {
  const counts = await em.countBy(Ban, 'owner', { where: { clientId, ...ofRules } })
  const left = new Map(Object.entries(counts))
  const taken = new Map<string, number>()
  for (let i = 0; i < surplus; i++) {
    const [largest] = left.entries().reduce((one, other) => (other[1] > one[1] ? other : one))
    left.set(largest, (left.get(largest) ?? 0) - 1)
    taken.set(largest, (taken.get(largest) ?? 0) + 1)
  }
  return taken
}
