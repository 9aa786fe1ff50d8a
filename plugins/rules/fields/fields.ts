// Parses, stores and encodes the values of rule fields through the plugins that own the fields.
import type { EntityManager } from '@mikro-orm/sql'
import { Fault, internal } from '../../../kernel/base/errors.ts'
import type { Principal } from '../../../kernel/http/principal.ts'
import type { SlotReader } from '../../../kernel/slot.ts'
import type { Codec } from '../../../kernel/wire/message.ts'
import { violationsOf } from '../../http/exports.ts'
import type { Values } from '../api/rule-record.ts'
import { type PlacingField, placingIn } from '../api/schema.ts'
import { type FieldValue, isGroupRule, type Rule, type Target } from '../entities.ts'
import { shapeSlot } from '../slots.ts'
import { clearValues, loadValues, saveValues } from './field-storage.ts'
import { fieldNotLoaded, findSentField, messageKey } from './requirements.ts'
import {
  derivedFieldSlot,
  isSent,
  type RuleCore,
  type RuleDraft,
  ruleFieldSlot,
  type ServerField
} from './rule-field.ts'
import {
  distinguishingIn,
  givenTargets,
  givenValue,
  refuseEqualTargets,
  type StoredField,
  storedFieldsIn,
  withGivenValue,
  withPaths
} from './target-values.ts'

type ValuesByRule = ReadonlyMap<string, Values>
type FieldKeys = Pick<Rule, 'id' | 'clientId' | 'fields' | 'name' | 'description'>

/** A field as it is loaded for a page of rules. */
interface Column {
  readonly key: string
  readonly absent: unknown
  readonly isSent: boolean
  readonly has: (rule: FieldKeys) => boolean // false: the rule has no value
  readonly inRow: ServerField['column'] // undefined: the value is in another table
  readonly field: StoredField
}

const columns = new WeakMap<object, readonly Column[]>() // by the values of the slot, which do not change until the server stops

/** Returns the columns of all fields. They are computed once, because values of a slot are proxies. */
export function columnsIn(filled: SlotReader): readonly Column[] {
  const fields = filled(ruleFieldSlot)
  const found = columns.get(fields) ?? storedFieldsIn(filled).map(toColumn)
  columns.set(fields, found)
  return found
}

function toColumn(field: StoredField): Column {
  const { key, absent = null } = field
  const column = { key, absent, isSent: isSent(field), field, inRow: undefined }
  if (isSent(field)) return { ...column, has: ({ fields }) => fields.includes(key) }
  const has = field.clientsOf === undefined ? () => true : isGroupRule
  return { ...column, has, inRow: field.column }
}

/**
 * Returns the value or null of each column, by rule. Some are in the rows. One query reads all columns in rules_field_value. Each column with its
 * own tables takes one more query. Rules that cannot have a value are not queried.
 */
export async function loadColumns(
  all: readonly Column[],
  rules: readonly FieldKeys[],
  em: EntityManager
): Promise<ReadonlyMap<string, Values>> {
  const none = Object.fromEntries(all.map(({ key }) => [key, null]))
  const inRows = all.flatMap(({ key, inRow }) => (inRow ? [[key, inRow] as const] : []))
  const rowValues = (rule: FieldKeys) =>
    Object.fromEntries(inRows.map(([key, column]) => [key, rule[column] ?? null]))
  const byRule = new Map<string, Record<string, unknown>>(
    rules.map(rule => [rule.id, { ...none, ...rowValues(rule) }])
  )
  const set = (id: string, key: string, value: unknown): void => {
    const values = byRule.get(id)
    if (values) values[key] = value
  }
  const shared = all.filter(({ field, inRow }) => !field.load && !inRow)
  const ids = rules.filter(rule => shared.some(({ has }) => has(rule))).map(({ id }) => id)
  const keys = shared.map(({ key }) => key)
  for (const { rule, key, value } of await loadValues(ids, keys, em)) set(rule, key, value)
  for (const { key, has, field } of all) {
    const ids = rules.filter(has).map(({ id }) => id)
    if (!field.load || ids.length === 0) continue
    for (const [id, value] of await field.load(ids, em, field)) set(id, key, value)
  }
  return byRule
}

/** The actor of a change, and its transaction. */
export interface ChangeBy {
  readonly principal: Principal
  readonly em: EntityManager
  readonly clientTexts?: Map<string, string> // names of clients in the request, by id
}

interface ResolveCall extends ChangeBy {
  readonly clientId: string // of the rule; '' for a group rule
}

/** The actor of changes that restore a rule after an agent refused an update. */
export const serverPrincipal: Principal = { userId: '_rules', role: 'superadmin', method: 'system' }

/** Encoded messages by field key. */
export type Encoded = Readonly<Record<string, Uint8Array>>

/** Returns the values that are not null. */
export const presentValues = (values: Values): Values =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null))

export class Fields {
  readonly #filled: SlotReader
  readonly #codec: Codec

  constructor(filled: SlotReader, codec: Codec) {
    this.#filled = filled
    this.#codec = codec
  }

  #all = () => storedFieldsIn(this.#filled)
  #in = (values: Values) => this.#all().filter(({ key }) => key in values)
  #derived = () => this.#filled(derivedFieldSlot).map(({ value }) => value)

  /** Returns the fields that PUT of a rule changes. */
  updatable = () => this.#all().filter(field => field.change === 'hot' && field.updateEmpty)
  fixedInUpdate = () => this.#all().filter(field => field.change === 'frozen' || !field.updateEmpty)

  /** Returns the keys of the values that agents receive. They are stored with the rule. */
  sentKeys(values: Values): string[] {
    const own = this.#all().flatMap(field => (isSent(field) ? [] : [field.key]))
    return Object.keys(values).filter(key => !own.includes(key))
  }

  /** Returns the rule's field keys after a change to these values; null removes a key. */
  keysWith(rule: FieldKeys, values: Values): string[] {
    return [
      ...rule.fields.filter(key => !(key in values)),
      ...this.sentKeys(values).filter(key => values[key] !== null)
    ]
  }

  has = (key: string): boolean => this.#all().some(field => field.key === key)
  isHot = (key: string): boolean => this.#all().some(field => field.key === key && field.change === 'hot')
  /** Returns the kind of the journal entry for a change of a field, or of a property of this plugin. */
  journalKind = (key: string): string =>
    key === 'targets' ? 'target' : (this.#all().find(field => field.key === key)?.journalKind ?? 'change')
  /** False for a field that only the server uses. */
  isSent = (key: string): boolean => !this.#all().some(field => field.key === key && !isSent(field))
  /** Returns the field that places rules on several clients, if there is one. */
  placing = (): PlacingField | undefined => placingIn(this.#filled)
  /** Returns the values that agents receive. */
  sent = (values: Values): Values =>
    Object.fromEntries(Object.entries(values).filter(([key]) => this.isSent(key)))
  /** Returns the values that members of a group rule have. */
  ofMembers = (values: Values): Values =>
    Object.fromEntries(Object.entries(values).filter(([key]) => this.isSent(key) || key === 'name'))
  /** Returns the stored values that a PUT of a whole rule does not clear. */
  staying(body: Values, stored: Values): Values {
    const unchanged = this.#all().filter(({ key, unlessGiven }) => unlessGiven === 'stays' && !(key in body))
    return Object.fromEntries(unchanged.map(({ key }) => [key, stored[key] ?? null]))
  }

  /** Returns null for every loaded field. */
  none = (): Values => Object.fromEntries(this.#all().map(({ key }) => [key, null]))

  /** Returns the normalized value of one field of the body, or null. */
  parseField(field: StoredField, body: Values, rule: RuleDraft, principal: Principal): unknown {
    const value = givenValue(field, body)
    if (value === null || !field.parse) return value
    return field.parse(value, rule, body, { deps: field.deps, principal })
  }

  /** Returns the normalized value; undefined: a request with it would be refused. */
  tryParse(key: string, value: unknown, rule: RuleDraft, principal: Principal): unknown {
    const [field] = this.#in({ [key]: value })
    if (!field || value === null) return value
    if (violationsOf(field.body, value).length > 0) return undefined
    try {
      return this.parseField(field, { [key]: value }, rule, principal)
    } catch (error) {
      if (error instanceof Fault) return undefined
      throw error
    }
  }

  /** Throws if the plugin of a shape refuses the rule. */
  requireShape(rule: RuleDraft): void {
    for (const { value: shape } of this.#filled(shapeSlot)) shape.validate?.(rule)
  }

  /** Returns the normalized value of every loaded field of the body, or null. */
  parseAll(body: Values, rule: RuleDraft, principal: Principal): Values {
    const values = Object.fromEntries(
      this.#all().map(field => [field.key, this.parseField(field, body, rule, principal)] as const)
    )
    refuseEqualTargets(this.#filled, rule.targets, values)
    return values
  }

  /** Returns the keys of the properties that tell targets with the same host and port apart. */
  distinguishingTargets = (): readonly string[] => distinguishingIn(this.#filled)
  /** Returns the targets with the paths that a field gives them. */
  withPaths = (targets: readonly Target[], values: Values) => withPaths(this.#filled, targets, values)
  /** Returns the targets with their properties of plugins. */
  withTargets = (targets: readonly Target[], values: Values) => givenTargets(this.#filled, targets, values)
  /** Returns the keys of the properties of targets that plugins add. */
  targetKeys = (): readonly string[] => this.#all().flatMap(({ ofTargets }) => ofTargets?.key ?? [])
  /** Returns the values under their names in requests, without those of targets. */
  ofRule = (values: Values): Values =>
    Object.fromEntries(Object.entries(values).filter(([key]) => !this.#targetColumns().includes(key)))
  #targetColumns = () => this.#all().flatMap(({ key, ofTargets }) => (ofTargets ? [key] : []))

  /** Validates the shape of a new rule and returns the normalized values in its body. */
  parse(body: Values, rule: RuleDraft, principal: Principal): Values {
    this.requireShape(rule)
    return presentValues(this.parseAll(body, rule, principal))
  }

  /** True if the body names something that `resolve` replaces. */
  names = (body: Values): boolean =>
    this.#all().some(field => field.resolve !== undefined && givenValue(field, body) !== null)

  /** Returns the body with what is stored instead of what it names; the same object if it names nothing. */
  async resolve<B extends Values>(body: B, { clientId, ...by }: ResolveCall): Promise<B> {
    const { principal, em, clientTexts } = by
    const nameClient = (id: string, text: string): void => void clientTexts?.set(id, text)
    let resolved: Values = body
    for (const field of this.#all()) {
      const value = field.resolve ? givenValue(field, body) : null
      if (value === null) continue
      const place = { field: `/${field.key}`, clientId, nameClient }
      const own = await field.resolve?.(value, place, em, { deps: field.deps, principal })
      resolved = withGivenValue(field, resolved, own)
    }
    return resolved as B
  }

  async check(rule: RuleCore, values: Values, { principal, em }: ChangeBy): Promise<void> {
    for (const { key, check, deps } of this.#in(values))
      await check?.(values[key], rule, em, { deps, principal })
  }

  /** Replaces the stored values; null clears. */
  async save(rule: string, values: Values, { principal, em }: ChangeBy): Promise<void> {
    const saved: FieldValue[] = []
    const cleared: string[] = []
    for (const { key, save, clear, deps } of this.#in(values)) {
      const value = values[key] ?? null
      const call = { deps, principal }
      if (value === null) await (clear ? clear(rule, em, call) : cleared.push(key))
      else await (save ? save(rule, value, em, call) : saved.push({ rule, key, value }))
    }
    await clearValues(rule, cleared, em)
    await saveValues(saved, em)
  }

  /** Returns the value or null of every loaded field, by rule. */
  load = (rules: readonly FieldKeys[], em: EntityManager): Promise<ValuesByRule> =>
    loadColumns(columnsIn(this.#filled), rules, em)

  /** Returns the values as a rule record shows them. */
  shown(values: Values): Values {
    const shown: Record<string, unknown> = {}
    for (const { key, absent, field } of columnsIn(this.#filled))
      if (!field.ofTargets) shown[key] = values[key] ?? absent
    return shown
  }

  /** Returns the current derived values by rule and field key. */
  async #derive(rules: readonly RuleCore[], em: EntityManager): Promise<ValuesByRule> {
    const derived = new Map(rules.map(({ id }) => [id, {} as Values]))
    for (const field of this.#derived())
      for (const [id, value] of await field.derive(rules, em, field))
        derived.set(id, { ...derived.get(id), [field.key]: value })
    return derived
  }

  hasDerived(rule: Rule): boolean {
    return this.#derived().some(({ key }) => rule.fields.includes(key))
  }

  /** Returns the rules with the keys of their current derived values. */
  async withDerived(rules: readonly Rule[], em: EntityManager): Promise<Rule[]> {
    const derived = await this.#derive(rules, em)
    const derivedKeys = this.#derived().map(({ key }) => key)
    return rules.map(rule => {
      const stored = rule.fields.filter(key => !derivedKeys.includes(key))
      return { ...rule, fields: [...stored, ...Object.keys(derived.get(rule.id) ?? {})] }
    })
  }

  /** Returns the encoded fields by rule, or a fault if the fields of a rule cannot be encoded. `other`: values to send instead. */
  async encodeAll(
    rules: readonly Rule[],
    em: EntityManager,
    other: ValuesByRule = new Map()
  ): Promise<Map<string, Encoded | Fault>> {
    try {
      const sent = columnsIn(this.#filled).filter(({ isSent }) => isSent)
      const values = await loadColumns(sent, rules, em)
      const derived = await this.#derive(rules, em)
      return new Map(
        rules.map(rule => {
          const sent = { ...values.get(rule.id), ...other.get(rule.id) }
          return [rule.id, this.#encode(rule, sent, derived.get(rule.id))]
        })
      )
    } catch (cause) {
      const [only, ...others] = rules
      if (only && others.length === 0) return new Map([[only.id, cannotEncode(cause)]])
    }
    // One rule failed the whole batch. Encode each rule alone, so that only the failing ones are skipped.
    const each = new Map<string, Encoded | Fault>()
    for (const rule of rules)
      for (const [id, encoded] of await this.encodeAll([rule], em, other)) each.set(id, encoded)
    return each
  }

  /** Derived values are sent even if the rule does not list their keys; an agent without the key refuses the rule. */
  #encode(rule: Rule, values: Values = {}, derived: Values = {}): Encoded {
    const keys = new Set([...rule.fields, ...Object.keys(derived)])
    const encode = (key: string) => {
      const field = findSentField(this.#filled, key)
      const value = derived[key] ?? values[key] ?? null
      if (!field || value === null) throw new Fault(fieldNotLoaded, `the rule's value of ${key} is missing`)
      const sent = 'encode' in field ? field.encode(value, rule, field) : value
      return [messageKey(field), this.#codec.encode(field.message, sent)]
    }
    return Object.fromEntries([...keys].map(encode))
  }
}

const cannotEncode = (cause: unknown): Fault =>
  cause instanceof Fault
    ? cause
    : new Fault(internal, 'a field of the rule cannot be encoded for the client', { cause })
