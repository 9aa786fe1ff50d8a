// The values of rule fields, stored by the plugins that own them.
import type { EntityManager } from '@mikro-orm/sql'
import type { SlotReader } from '../../kernel/slot.ts'
import type { Rule } from './entities.ts'
import type { Values } from './record.ts'
import type { HotField, RuleCore, RuleDraft, RuleField } from './rule-field.ts'
import { fieldsIn } from './schema.ts'
import { shapeSlot } from './slots.ts'

export function openFieldValues(filled: SlotReader) {
  const fields = () => fieldsIn(filled)
  const frozenFields = (): RuleField[] => fields().filter(({ change }) => change === 'frozen')
  const hotFields = (): HotField[] => fields().filter(field => field.change === 'hot')

  /** Returns the normalised value of one field of the body, or null. */
  const parseField = (field: RuleField, body: Values, rule: RuleDraft): unknown =>
    (body[field.key] ?? null) === null ? null : field.parse(body[field.key], rule, body)

  /** Validates the shape of a new rule, and returns the normalised values that its body has. */
  function parse(body: Values, rule: RuleDraft): Values {
    for (const { value: shape } of filled(shapeSlot)) shape.validate?.(rule)
    const values = fields().map(field => [field.key, parseField(field, body, rule)] as const)
    return Object.fromEntries(values.filter(([, value]) => value !== null))
  }

  async function save(rule: RuleCore, values: Values, em: EntityManager): Promise<void> {
    for (const field of fields().filter(({ key }) => key in values)) {
      await field.check(values[field.key], rule, em)
      await field.save(rule.id, values[field.key], em)
    }
  }

  /** Replaces the values of hot fields; null clears. */
  async function replaceHot(rule: RuleCore, values: Values, em: EntityManager): Promise<void> {
    for (const field of hotFields().filter(({ key }) => key in values)) {
      const value = values[field.key]
      if (value === null) await field.clear(rule.id, em)
      else await field.save(rule.id, value, em)
    }
  }

  /** Returns, by rule, the value or null of every loaded field. A field is asked only for the rules that have it. */
  async function load(rules: readonly FieldKeys[], em: EntityManager): Promise<ReadonlyMap<string, Values>> {
    const columns: (readonly [string, ReadonlyMap<string, unknown>])[] = []
    for (const field of fields()) {
      const ids = rules.filter(({ fields }) => fields.includes(field.key)).map(({ id }) => id)
      columns.push([field.key, ids.length === 0 ? new Map() : await field.load(ids, em)])
    }
    return new Map(
      rules.map(({ id }) => [id, Object.fromEntries(columns.map(([key, of]) => [key, of.get(id) ?? null]))])
    )
  }

  /** Returns the values as a record shows them. */
  const shown = (values: Values): Values =>
    Object.fromEntries(fields().map(({ key, absent = null }) => [key, values[key] ?? absent]))

  return { frozenFields, hotFields, parseField, parse, save, replaceHot, load, shown }
}

type FieldKeys = Pick<Rule, 'id' | 'fields'>

/** Returns the keys of the rule's fields once it has these values; null removes a key. */
export const keysWith = (rule: FieldKeys, values: Values): string[] => [
  ...rule.fields.filter(key => !(key in values)),
  ...Object.keys(values).filter(key => values[key] !== null)
]
