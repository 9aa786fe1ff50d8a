// Values that other plugins compute for rules and that only agents receive.
import type { EntityManager } from '@mikro-orm/sql'
import type { SlotReader } from '../../kernel/slot.ts'
import type { Rule } from './entities.ts'
import type { Values } from './record.ts'
import { derivedFieldSlot, type RuleCore } from './rule-field.ts'

export function openDerivedValues(filled: SlotReader) {
  const fields = () => filled(derivedFieldSlot).map(({ value }) => value)

  /** Returns, by rule, the bodies of the messages that its agent receives, by field key. */
  async function derive(rules: readonly RuleCore[], em: EntityManager): Promise<ReadonlyMap<string, Values>> {
    const columns: (readonly [string, ReadonlyMap<string, unknown>])[] = []
    for (const field of fields()) columns.push([field.key, await field.derive(rules, em)])
    return new Map(
      rules.map(({ id }) => {
        const own = columns.filter(([, values]) => values.has(id))
        return [id, Object.fromEntries(own.map(([key, values]) => [key, values.get(id)]))]
      })
    )
  }

  const isDerivedKey = (key: string): boolean => fields().some(field => field.key === key)
  const hasDerived = (rule: Rule): boolean => rule.fields.some(isDerivedKey)

  /** Returns the rules with the keys of the derived values that they have now. */
  async function withDerived(rules: readonly Rule[], em: EntityManager): Promise<Rule[]> {
    const derived = await derive(rules, em)
    return rules.map(rule => {
      const stored = rule.fields.filter(key => !isDerivedKey(key))
      return { ...rule, fields: [...stored, ...Object.keys(derived.get(rule.id) ?? {})] }
    })
  }

  return { derive, hasDerived, withDerived }
}
