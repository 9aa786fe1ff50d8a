import type { EntityManager } from '@mikro-orm/sql'
import type { Resource } from '../../kernel/http/route.ts'
import { ManagedObjectRow } from '../../kernel/identity/entities.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { etagText } from '../http/exports.ts'
import { isWhole, Rule, type ShownRule } from './entities.ts'
import { columnsIn, loadValues } from './fields.ts'
import type { Values } from './record.ts'
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
    if (!rule) return null
    const values = await loadValues(countedIn(filled)(rule), [rule], em)
    return (await versionsOf([rule], values, filled, em)).get(id) ?? null
  }
})

/** Returns what replies have in the header ETag. `values` are those of the fields, by rule. */
export async function etagsOf(
  rules: readonly ShownRule[],
  values: ReadonlyMap<string, Values>,
  filled: SlotReader,
  em: EntityManager
) {
  const versions = await versionsOf(rules, values, filled, em)
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
}: ShownRule) => [...[updatedAt, listenFrom, listenTo, targets], ...[preferIpv6, placedBy, paused, fields]]

/** Returns the columns that count, of a rule: what an agent has of it is in its revision. */
function countedIn(filled: SlotReader) {
  const all = columnsIn(filled)
  const own = all.filter(({ isSent }) => !isSent)
  return (rule: ShownRule) => (isWhole(rule) ? all : own)
}

async function versionsOf(
  rules: readonly ShownRule[],
  values: ReadonlyMap<string, Values>,
  filled: SlotReader,
  em: EntityManager
): Promise<Map<string, Version>> {
  const where = { kind: ruleKind, id: { $in: rules.map(({ id }) => id) } }
  const held = await em.find(ManagedObjectRow, where, { fields: ['revision'], disableIdentityMap: true })
  const revisions = new Map(held.map(({ id, revision }) => [id, revision]))
  const countedOf = countedIn(filled)
  return new Map(
    rules.map(rule => {
      const { id } = rule
      const all = values.get(id) ?? {}
      const own = countedOf(rule).flatMap(({ key }) => (all[key] == null ? [] : [all[key]]))
      if (isWhole(rule)) return [id, [...definitionOf(rule), ...own]]
      const revision = revisions.get(id)
      if (revision === undefined) return [id, [...definitionOf(rule), ...own]]
      return [id, own.length === 0 ? revision : [revision, ...own]]
    })
  )
}
