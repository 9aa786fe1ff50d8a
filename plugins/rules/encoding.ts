// A rule's fields in the words of their owners' messages.
import type { EntityManager } from '@mikro-orm/sql'
import { defineCode, Fault, internal } from '../../kernel/base/errors.ts'
import type { Codec } from '../../kernel/wire/codec.ts'
import type { Rule } from './entities.ts'
import type { DerivedField, RuleCore, RuleField } from './exports.ts'
import type { Values } from './schema.ts'

export const fieldNotLoaded = defineCode('field_not_loaded', 422, 6)

export type Encoded = Readonly<Record<string, Uint8Array>>

interface Source {
  readonly codec: Codec
  readonly find: (key: string) => RuleField | DerivedField | undefined
  readonly load: (rules: readonly Rule[], em: EntityManager) => Promise<ReadonlyMap<string, Values>>
  readonly derive: (rules: readonly RuleCore[], em: EntityManager) => Promise<ReadonlyMap<string, Values>>
}

export function openEncoding({ codec, find, load, derive }: Source) {
  /** What the agent is told of each rule's fields, or why it cannot be: that rule stays behind, and no other. */
  async function encodeAll(rules: readonly Rule[], em: EntityManager): Promise<Map<string, Encoded | Fault>> {
    try {
      const [values, derived] = [await load(rules, em), await derive(rules, em)]
      return new Map(
        rules.map(rule => [rule.id, encode(rule, values.get(rule.id) ?? {}, derived.get(rule.id) ?? {})])
      )
    } catch (cause) {
      const [only, ...others] = rules
      if (only && others.length === 0) return new Map([[only.id, cannotEncode(cause)]])
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

  return encodeAll
}

const cannotEncode = (cause: unknown): Fault =>
  cause instanceof Fault
    ? cause
    : new Fault(internal, 'one of its fields cannot be put into words for the client', { cause })
