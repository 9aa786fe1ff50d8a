import type { SlotReader } from '../../../kernel/slot.ts'
import { etagText, type NamedResource } from '../../http/exports.ts'
import { Rule, type ShownRule } from '../entities.ts'
import { columnsIn, loadColumns } from '../fields/fields.ts'
import type { Values } from './rule-record.ts'

/**
 * A rule as the resource of a request. Its version is its definition, not its revision: revisions count the changes of all
 * owners on the client.
 */
export const ruleResource = (
  id: string,
  filled: SlotReader,
  name: () => unknown = () => null
): NamedResource => ({
  kind: 'rule',
  id,
  name: () => name() as string | null, // the value of the field
  async version(em) {
    const rule = await em.findOne(Rule, { id })
    if (!rule) return null
    const values = await loadColumns(columnsIn(filled), [rule], em).catch(() => null) // a read of the rule reports it
    return versionOf(rule, values?.get(id) ?? {}, filled)
  }
})

/** Returns the ETag of a rule. `values` are those of its fields. */
export const ruleEtag = (rule: ShownRule, values: Values, filled: SlotReader): string =>
  etagText(versionOf(rule, values, filled))

/** Leaves out state, times and fields without a value, so that a new plugin does not change the versions of all rules. */
function versionOf(rule: ShownRule, values: Values, filled: SlotReader): readonly unknown[] {
  const { id, listenFrom, listenTo, targets, preferIpv6, placedBy, paused, fields } = rule
  const set = columnsIn(filled).flatMap(({ key }) => (values[key] == null ? [] : [[key, values[key]]]))
  return [id, listenFrom, listenTo, targets, preferIpv6, placedBy, paused, fields, set]
}
