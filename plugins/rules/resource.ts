import type { EntityManager } from '@mikro-orm/sql'
import type { Resource } from '../../kernel/http/route.ts'
import { ManagedObjectRow } from '../../kernel/identity/entities.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { etagText } from '../http/exports.ts'
import { isWhole, Rule } from './entities.ts'
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

/** Of what has no revision: a whole, whose parts have one, and a rule that no agent holds. */
const definitionOf = ({
  listenFrom,
  listenTo,
  targets,
  preferIpv6,
  placedBy,
  paused,
  fields,
  updatedAt
}: Rule) => [...[updatedAt, listenFrom, listenTo, targets], ...[preferIpv6, placedBy, paused, fields]]

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
  const wholes = rules.filter(isWhole).map(({ id }) => id)
  const own = new Map<string, unknown[]>(ids.map(id => [id, []]))
  for (const { value: field } of filled(ruleFieldSlot)) {
    const loaded = isSent(field) ? wholes : ids
    if (loaded.length === 0) continue
    for (const [id, value] of await field.load(loaded, em, field)) own.get(id)?.push(value)
  }
  return new Map(
    rules.map(rule => {
      const { id } = rule
      if (isWhole(rule)) return [id, [...definitionOf(rule), ...(own.get(id) ?? [])]]
      const [revision, values] = [revisions.get(id), own.get(id) ?? []]
      if (revision === undefined) return [id, [...definitionOf(rule), ...values]]
      return [id, values.length === 0 ? revision : [revision, ...values]]
    })
  )
}
