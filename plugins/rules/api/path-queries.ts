// Finds rules by the clients on the paths of their targets.
import { type EntityManager, raw } from '@mikro-orm/sql'
import type { SlotReader } from '../../../kernel/slot.ts'
import { Rule } from '../entities.ts'
import { pathKeysIn } from '../fields/target-values.ts'

export interface PathQueries {
  /**
   * Returns the ids of at most `take` rules of other clients with the client on a path, without those that are being removed.
   * Group rules are among them, members are not.
   */
  idsThrough(clientId: string, take: number, em: EntityManager): Promise<string[]>
}

export const openPathQueries = (filled: SlotReader): PathQueries => ({
  async idsThrough(clientId, take, em) {
    const remaining = { parent: null, clientId: { $ne: clientId }, state: { $ne: 'draining' as const } }
    const where = { $and: [throughCondition([clientId], filled), remaining] }
    const rules = await em.find(Rule, where, { fields: ['id'], orderBy: { id: 'asc' }, limit: take })
    return rules.map(({ id }) => id)
  }
})

/** Returns a condition for rules with one of the clients on a path. Only rules with a value that sets paths are searched. */
export function throughCondition(clientIds: readonly string[], filled: SlotReader): object {
  const keys = pathKeysIn(filled)
  if (clientIds.length === 0 || keys.length === 0) return { id: { $in: [] } }
  const marks = (all: readonly string[]): string => all.map(() => '?').join(', ')
  const sql = (rule: string): string => `${rule}.id in (
    select found.id from rules_field_value field join rules found on found.id = field.rule_id
    join kernel_client client on client.id in (${marks(clientIds)})
    where field.key in (${marks(keys)})
    and replace(cast(found.targets as text), '"' || client.id || '"', '') <> cast(found.targets as text))`
  return { [raw(sql, [...clientIds, ...keys]) as unknown as string]: [] }
}
