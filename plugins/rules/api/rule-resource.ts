import type { EntityManager } from '@mikro-orm/sql'
import type { Resource } from '../../../kernel/http/route.ts'
import type { SlotReader } from '../../../kernel/slot.ts'
import { etagText } from '../../http/exports.ts'
import { isGroupRule, Rule, type ShownRule } from '../entities.ts'
import { columnsIn, loadColumns } from '../fields/fields.ts'
import { ruleKind } from '../wire.ts'
import type { Values } from './rule-record.ts'

type Version = number | readonly unknown[]

/**
 * A rule as the resource of a request. Its version is the revision on the client, or the stored definition if the client has
 * no revision, with the server fields.
 */
export const ruleResource = (id: string, filled: SlotReader): Resource => ({
  kind: 'rule',
  id,
  async version(em) {
    const rule = await em.findOne(Rule, { id })
    if (!rule) return null
    const values = await loadColumns(versionedColumns(filled)(rule), [rule], em)
    return (await loadVersions([rule], values, filled, em)).get(id) ?? null
  }
})

/** Returns ETags by rule id. `values` are those of the fields, by rule id. */
export async function loadEtags(
  rules: readonly ShownRule[],
  values: ReadonlyMap<string, Values>,
  filled: SlotReader,
  em: EntityManager
) {
  const versions = await loadVersions(rules, values, filled, em)
  return new Map([...versions].map(([id, version]) => [id, etagText(version)]))
}

/** The version of a rule without a revision: a group rule, or a rule that no agent has. */
const definitionVersion = ({
  listenFrom,
  listenTo,
  targets,
  preferIpv6,
  placedBy,
  paused,
  fields,
  updatedAt
}: ShownRule) => [updatedAt, listenFrom, listenTo, targets, preferIpv6, placedBy, paused, fields]

/** Returns a function from a rule to the columns in its version. The revision covers fields that agents receive. */
function versionedColumns(filled: SlotReader) {
  const all = columnsIn(filled)
  const own = all.filter(({ isSent }) => !isSent)
  return (rule: ShownRule) => (isGroupRule(rule) ? all : own)
}

async function loadVersions(
  rules: readonly ShownRule[],
  values: ReadonlyMap<string, Values>,
  filled: SlotReader,
  em: EntityManager
): Promise<Map<string, Version>> {
  const revisions = await loadRevisions(
    rules.map(({ id }) => id),
    em
  )
  const countedOf = versionedColumns(filled)
  return new Map(
    rules.map(rule => {
      const { id } = rule
      const all = values.get(id) ?? {}
      const own = countedOf(rule).flatMap(({ key }) => (all[key] == null ? [] : [all[key]]))
      const revision = isGroupRule(rule) ? undefined : revisions.get(id)
      if (revision === undefined) return [id, [...definitionVersion(rule), ...own]]
      return [id, own.length === 0 ? revision : [revision, ...own]]
    })
  )
}

const idsPerQuery = 999 // statements with more than 1,000 values are not cached

/** Joins by client first, because the key of the table begins with it. */
async function loadRevisions(
  ids: readonly string[],
  em: EntityManager
): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>()
  for (let at = 0; at < ids.length; at += idsPerQuery) {
    const some = ids.slice(at, at + idsPerQuery)
    const rows = await em.execute<{ id: string; revision: number }[]>(
      `select object.id, object.revision from rules
       join kernel_managed_object object
         on object.client_id = rules.client_id and object.kind = ? and object.id = rules.id
       where rules.id in (${some.map(() => '?').join(', ')})`,
      [ruleKind, ...some]
    )
    for (const { id, revision } of rows) found.set(id, revision)
  }
  return found
}
