import type { EntityManager } from '@mikro-orm/sql'
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import { type AgentCapabilities, isCapable } from '../../kernel/control/peers.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import type { Codec } from '../../kernel/wire/codec.ts'
import { fieldNotLoaded, openEncoding } from './encoding.ts'
import type { Rule } from './entities.ts'
import {
  derivedFieldSlot,
  type HotField,
  type RuleCore,
  type RuleDraft,
  type RuleField,
  shapeSlot,
  shapesOf
} from './exports.ts'
import { fieldsIn, type Values } from './schema.ts'

export const shapeNotLoaded = defineCode('rule_shape_not_loaded', 422, 6)

export type Fields = ReturnType<typeof openFields>

type Parts = Pick<Rule, 'id' | 'fields'>

/** What rules does with fields and shapes. Knows none by name. */
export function openFields(filled: SlotReader, codec: Codec) {
  const derivedIn = () => filled(derivedFieldSlot).map(({ value }) => value)
  const find = (key: string) => [...fieldsIn(filled), ...derivedIn()].find(field => field.key === key)
  const claimOf = (shape: string) => filled(shapeSlot).find(({ value }) => value.shape === shape)?.value

  /** Why it must not be pushed: without one of its parts it could match everything. */
  function lack(rule: Omit<Rule, 'id'>): Fault | null {
    const key = rule.fields.find(key => !find(key))
    if (key !== undefined) return new Fault(fieldNotLoaded, `no loaded plugin owns the rule's field ${key}`)
    const shape = shapesOf(rule).find(shape => !claimOf(shape))
    return shape ? new Fault(shapeNotLoaded, `no loaded plugin serves ${wordsOf[shape]}`) : null
  }

  /** Why this client cannot take it. */
  function refusal(rule: Rule, client: AgentCapabilities): Fault | null {
    const gates = [
      ...shapesOf(rule).map(shape => {
        const { requires: gate, bodyField: field } = claimOf(shape) ?? {}
        return { gate, details: field === undefined ? {} : { field } }
      }),
      ...rule.fields.map(key => ({ gate: find(key)?.requires, details: { field: key } }))
    ]
    for (const { gate, details } of gates) {
      if (!gate || isCapable(client, gate.capability)) continue
      const { id, since } = gate.capability
      const message = `client ${rule.clientId} runs ${client.agentVersion}, without ${id} ${since}; update its agent`
      return new Fault(gate.refusal, message, { details })
    }
    return null
  }

  /** As it will be kept; null where there is none. */
  const valueIn = (field: RuleField, given: Values, rule: RuleDraft): unknown =>
    (given[field.key] ?? null) === null ? null : field.parse(given[field.key], rule, given)

  /** The values that are there, as they will be kept. */
  function parse(given: Values, rule: RuleDraft): Values {
    for (const { value: shape } of filled(shapeSlot)) shape.validate?.(rule)
    const values = fieldsIn(filled).map(field => [field.key, valueIn(field, given, rule)] as const)
    return Object.fromEntries(values.filter(([, value]) => value !== null))
  }

  async function save(rule: RuleCore, values: Values, em: EntityManager): Promise<void> {
    for (const field of fieldsIn(filled).filter(({ key }) => key in values)) {
      await field.check(values[field.key], rule, em)
      await field.save(rule.id, values[field.key], em)
    }
  }

  const frozen = (): RuleField[] => fieldsIn(filled).filter(({ change }) => change === 'frozen')
  const hot = (): HotField[] => fieldsIn(filled).filter(field => field.change === 'hot')

  /** Of hot fields: null clears. */
  async function replace(rule: RuleCore, values: Values, em: EntityManager): Promise<void> {
    for (const field of hot().filter(({ key }) => key in values)) {
      const value = values[field.key]
      if (value === null) await field.clear(rule.id, em)
      else await field.save(rule.id, value, em)
    }
  }

  /** Of all the rules, every loaded field's value or null, by rule. A field is asked for those that have it. */
  async function load(rules: readonly Parts[], em: EntityManager): Promise<ReadonlyMap<string, Values>> {
    const columns: (readonly [string, ReadonlyMap<string, unknown>])[] = []
    for (const field of fieldsIn(filled)) {
      const ids = rules.filter(({ fields }) => fields.includes(field.key)).map(({ id }) => id)
      columns.push([field.key, ids.length === 0 ? new Map() : await field.load(ids, em)])
    }
    return new Map(
      rules.map(({ id }) => [id, Object.fromEntries(columns.map(([key, of]) => [key, of.get(id) ?? null]))])
    )
  }

  /** What others work out of these rules, as bodies of their messages, by rule. */
  async function derive(rules: readonly RuleCore[], em: EntityManager): Promise<ReadonlyMap<string, Values>> {
    const columns: (readonly [string, ReadonlyMap<string, unknown>])[] = []
    for (const field of derivedIn()) columns.push([field.key, await field.derive(rules, em)])
    return new Map(
      rules.map(({ id }) => {
        const own = columns.filter(([, of]) => of.has(id))
        return [id, Object.fromEntries(own.map(([key, of]) => [key, of.get(id)]))]
      })
    )
  }

  const isDerivedKey = (key: string): boolean => derivedIn().some(field => field.key === key)
  const isDerived = (rule: Rule): boolean => rule.fields.some(isDerivedKey)

  /** The rule with the keys of what is worked out for it now. */
  async function withDerived(rules: readonly Rule[], em: EntityManager): Promise<Rule[]> {
    const derived = await derive(rules, em)
    return rules.map(rule => {
      const given = rule.fields.filter(key => !isDerivedKey(key))
      return { ...rule, fields: [...given, ...Object.keys(derived.get(rule.id) ?? {})] }
    })
  }

  /** As a record shows them. */
  const shown = (values: Values): Values =>
    Object.fromEntries(fieldsIn(filled).map(({ key, absent = null }) => [key, values[key] ?? absent]))

  const encodeAll = openEncoding({ codec, find, load, derive })

  return {
    lack,
    refusal,
    valueIn,
    parse,
    save,
    frozen,
    hot,
    replace,
    load,
    shown,
    isDerived,
    withDerived,
    encodeAll
  }
}

const wordsOf = { udp: 'UDP rules', range: 'port ranges', targets: 'several targets' } as const

/** The keys of the rule's fields with these values in place of those that it had. */
export const keysWith = (rule: Parts, values: Values): string[] => [
  ...rule.fields.filter(key => !(key in values)),
  ...Object.keys(values).filter(key => values[key] !== null)
]
