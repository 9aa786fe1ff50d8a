import type { EntityManager } from '@mikro-orm/sql'
import type { Resource } from '../../kernel/http/route.ts'
import { ManagedObjectRow } from '../../kernel/identity/entities.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { etagText } from '../http/exports.ts'
import { Rule } from './entities.ts'
import { isSent, ruleFieldSlot } from './rule-field.ts'
import { ruleKind } from './wire.ts'

type Version = number | readonly unknown[]

/**
 * A rule in requests. Its version is its revision, or the time of its last change when its client has none of it, and
 * what no agent has of it.
 */
export const resourceOf = (id: string, filled: SlotReader): Resource => ({
  kind: 'rule',
  id,
  async version(em) {
    const rule = await em.findOne(Rule, { id })
    return rule ? ((await versionsOf([rule], filled, em)).get(id) ?? null) : null
  }
})

/** Returns what replies have in the header ETag. */
export async function etagsOf(rules: readonly Rule[], filled: SlotReader, em: EntityManager) {
  const versions = await versionsOf(rules, filled, em)
  return new Map([...versions].map(([id, version]) => [id, etagText(version)]))
}

async function versionsOf(
  rules: readonly Rule[],
  filled: SlotReader,
  em: EntityManager
): Promise<Map<string, Version>> {
  const ids = rules.map(({ id }) => id)
  const held = await em.find(
    ManagedObjectRow,
    { kind: ruleKind, id: { $in: ids } },
    { disableIdentityMap: true }
  )
  const revisions = new Map(held.map(({ id, revision }) => [id, revision]))
  const own = new Map<string, unknown[]>(ids.map(id => [id, []]))
  for (const { value: field } of filled(ruleFieldSlot))
    if (!isSent(field)) for (const [id, value] of await field.load(ids, em, field)) own.get(id)?.push(value)
  return new Map(
    rules.map(({ id, updatedAt }) => {
      const [revision, values] = [revisions.get(id), own.get(id) ?? []]
      if (revision === undefined) return [id, [updatedAt, ...values]]
      return [id, values.length === 0 ? revision : [revision, ...values]]
    })
  )
}
