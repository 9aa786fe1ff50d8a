import type { EntityManager } from '@mikro-orm/sql'
import { defineCode, Fault, internal } from '../../kernel/base/errors.ts'
import { type Abilities, isCapable } from '../../kernel/control/peers.ts'
import type { FilledBy } from '../../kernel/slot.ts'
import type { Codec } from '../../kernel/wire/codec.ts'
import type { Rule } from './entities.ts'
import { fieldsIn, type Values } from './schema.ts'
import { derivedSlot, type Gate, type RuleCore, type RuleField, shapeSlot, shapesOf } from './slots.ts'

export const fieldNotLoaded = defineCode('field_not_loaded', 422, 6)
export const shapeNotLoaded = defineCode('rule_shape_not_loaded', 422, 6)

export type Fields = ReturnType<typeof openFields>

type Parts = Pick<Rule, 'id' | 'fields'>
export type Encoded = Readonly<Record<string, Uint8Array>>

/** What rules does with fields and shapes. Knows none by name. */
export function openFields(filled: FilledBy, codec: Codec) {
  const derivedIn = () => filled(derivedSlot).map(({ value }) => value)
  const find = (key: string) => [...fieldsIn(filled), ...derivedIn()].find(field => field.key === key)
  const gateOf = (shape: string): Gate | undefined =>
    filled(shapeSlot).find(({ value }) => value.claims === shape)?.value.gate

  /** Why it must not be pushed: without one of its parts it could match everything. */
  function lack(rule: Omit<Rule, 'id'>): Fault | null {
    const key = rule.fields.find(key => !find(key))
    if (key !== undefined) return new Fault(fieldNotLoaded, `no loaded plugin owns the rule's field ${key}`)
    const shape = shapesOf(rule).find(shape => !gateOf(shape))
    return shape ? new Fault(shapeNotLoaded, `no loaded plugin serves ${wordsOf[shape]}`) : null
  }

  /** Why this client cannot take it. */
  function refusal(rule: Rule, client: Abilities): Fault | null {
    const gates = [
      ...shapesOf(rule).map(shape => ({ gate: gateOf(shape), details: {} })),
      ...rule.fields.map(key => ({ gate: find(key)?.gate, details: { field: key } }))
    ]
    for (const { gate, details } of gates) {
      if (!gate || isCapable(client, gate.capability)) continue
      const { id, since } = gate.capability
      const message = `client ${rule.clientId} runs ${client.agentVersion}, without ${id} ${since}; update its agent`
      return new Fault(gate.refusal, message, { details })
    }
    return null
  }

  /** The values that are there, as they will be kept. */
  function parse(given: Values, rule: Parameters<RuleField['parse']>[1]): Values {
    const present = fieldsIn(filled).filter(({ key }) => (given[key] ?? null) !== null)
    return Object.fromEntries(present.map(field => [field.key, field.parse(given[field.key], rule)]))
  }

  async function save(rule: RuleCore, values: Values, em: EntityManager): Promise<void> {
    for (const field of fieldsIn(filled).filter(({ key }) => key in values)) {
      await field.check(values[field.key], rule, em)
      await field.save(rule.id, values[field.key], em)
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

  /** What the agent is told of each rule's fields, or why it cannot be: that rule stays behind, and no other. */
  async function encodeAll(rules: readonly Rule[], em: EntityManager): Promise<Map<string, Encoded | Fault>> {
    try {
      const [values, derived] = [await load(rules, em), await derive(rules, em)]
      return new Map(
        rules.map(rule => [rule.id, encode(rule, values.get(rule.id) ?? {}, derived.get(rule.id) ?? {})])
      )
    } catch (cause) {
      const [only, ...others] = rules
      if (only && others.length === 0) return new Map([[only.id, unspeakable(cause)]])
    }
    // One of them took the others along: each for itself.
    const each = new Map<string, Encoded | Fault>()
    for (const rule of rules) for (const [id, of] of await encodeAll([rule], em)) each.set(id, of)
    return each
  }

  /** What is derived goes along even where the rule does not know of it: an agent that cannot take it refuses. */
  const encode = (rule: Rule, values: Values, derived: Values): Encoded =>
    Object.fromEntries(
      [...new Set([...rule.fields, ...Object.keys(derived)])].map(key => {
        const field = find(key)
        const value = derived[key] ?? values[key] ?? null
        if (!field || value === null) throw new Fault(fieldNotLoaded, `the rule's value of ${key} is missing`)
        return [key, codec.encode(field.message, 'encode' in field ? field.encode(value, rule) : value)]
      })
    )

  return { lack, refusal, parse, save, load, isDerived, withDerived, encodeAll }
}

const wordsOf = { udp: 'UDP rules', range: 'port ranges', targets: 'several targets' } as const

const unspeakable = (cause: unknown): Fault =>
  cause instanceof Fault
    ? cause
    : new Fault(internal, 'one of its fields cannot be put into words for the client', { cause })
