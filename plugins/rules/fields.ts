import type { EntityManager } from '@mikro-orm/sql'
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import { type Abilities, isCapable } from '../../kernel/control/peers.ts'
import type { FilledBy } from '../../kernel/slot.ts'
import type { Codec } from '../../kernel/wire/codec.ts'
import type { Rule } from './entities.ts'
import { fieldsIn, type Values } from './schema.ts'
import { type Gate, type RuleCore, type RuleField, shapeSlot, shapesOf } from './slots.ts'

export const fieldNotLoaded = defineCode('field_not_loaded', 422, 6)
export const shapeNotLoaded = defineCode('rule_shape_not_loaded', 422, 6)

export type Fields = ReturnType<typeof openFields>

/** What rules does with fields and shapes. Knows none by name. */
export function openFields(filled: FilledBy, codec: Codec) {
  const find = (key: string): RuleField | undefined => fieldsIn(filled).find(field => field.key === key)
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

  /** Of all the rules, every loaded field's value or null, by rule. */
  async function load(ids: readonly string[], em: EntityManager): Promise<ReadonlyMap<string, Values>> {
    const columns: (readonly [string, ReadonlyMap<string, unknown>])[] = []
    for (const field of fieldsIn(filled)) columns.push([field.key, await field.load(ids, em)])
    return new Map(
      ids.map(id => [id, Object.fromEntries(columns.map(([key, of]) => [key, of.get(id) ?? null]))])
    )
  }

  const encode = (rule: Rule, values: Values): Record<string, Uint8Array> =>
    Object.fromEntries(
      rule.fields.map(key => {
        const field = find(key)
        const value = values[key] ?? null
        if (!field || value === null) throw new TypeError(`rule ${rule.id} has no value of its field ${key}`)
        return [key, codec.encode(field.message, field.encode(value, rule))]
      })
    )

  return { lack, refusal, parse, save, load, encode }
}

const wordsOf = { udp: 'UDP rules', range: 'port ranges', targets: 'several targets' } as const
