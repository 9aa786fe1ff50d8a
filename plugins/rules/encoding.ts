// The fields of rules as messages for the agent.
import type { EntityManager } from '@mikro-orm/sql'
import { Fault, internal } from '../../kernel/base/errors.ts'
import type { Codec } from '../../kernel/wire/message.ts'
import type { Rule } from './entities.ts'
import type { Values } from './record.ts'
import { fieldNotLoaded } from './requirements.ts'
import type { DerivedField, RuleCore, RuleField } from './rule-field.ts'

/** Encoded messages by field key. */
export type Encoded = Readonly<Record<string, Uint8Array>>

interface Source {
  readonly codec: Codec
  readonly find: (key: string) => RuleField | DerivedField | undefined
  readonly load: (rules: readonly Rule[], em: EntityManager) => Promise<ReadonlyMap<string, Values>>
  readonly derive: (rules: readonly RuleCore[], em: EntityManager) => Promise<ReadonlyMap<string, Values>>
}

export function openEncoding({ codec, find, load, derive }: Source) {
  /** Returns the encoded fields by rule, or the fault of a rule whose fields cannot be encoded. */
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
    // One rule failed the whole batch: encode each by itself, so that only that one is left out.
    const each = new Map<string, Encoded | Fault>()
    for (const rule of rules) for (const [id, encoded] of await encodeAll([rule], em)) each.set(id, encoded)
    return each
  }

  /** Derived values are sent even when the rule's keys lack them; an agent that does not know the key refuses. */
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
    : new Fault(internal, 'a field of the rule cannot be encoded for the client', { cause })
