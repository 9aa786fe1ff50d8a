// Writes what a change makes of a rule: its row, and the values of its fields.
import { isDeepStrictEqual } from 'node:util'
import type { Values } from '../api/rule-record.ts'
import { Rule } from '../entities.ts'
import type { ChangeBy } from '../fields/fields.ts'
import type { Services } from '../services.ts'
import { insertRule } from './new-rule.ts'

/** `from` and `to` have every loaded field; null: it has no value. */
export async function write(
  { clock, fields }: Services,
  rule: Rule,
  { from, to }: { readonly from: Values; readonly to: Values },
  by: ChangeBy
): Promise<void> {
  const { id } = rule
  const row = { ...rule, updatedAt: clock.now() }
  const changed = Object.fromEntries(
    Object.entries(to).filter(([key, value]) => !isDeepStrictEqual(value, from[key] ?? null))
  )
  if (fields.canReplace(changed)) {
    await by.em.nativeUpdate(Rule, { id }, changeable(row))
    await fields.replace(rule, { from, to: changed }, by)
    return
  }
  // A field that cannot clear its value loses it with the row, which is written anew; statistics stay, by its id.
  await by.em.nativeDelete(Rule, { id })
  await insertRule(row, by.em)
  const present = Object.entries(to).filter(([, value]) => value !== null)
  await fields.save(id, Object.fromEntries(present), by)
}

/** The columns that a change may write; its state has its own way. */
const changeable = (rule: Rule) => ({
  placedBy: rule.placedBy,
  listenFrom: rule.listenFrom,
  listenTo: rule.listenTo,
  targets: rule.targets,
  preferIpv6: rule.preferIpv6,
  fields: rule.fields,
  paused: rule.paused,
  formerTargets: rule.formerTargets ?? null,
  formerPorts: rule.formerPorts ?? null,
  before: rule.before ?? null,
  movedFrom: rule.movedFrom ?? null,
  movedTo: rule.movedTo ?? null,
  existing: rule.existing ?? null,
  updatedAt: rule.updatedAt
})
