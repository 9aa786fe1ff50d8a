// Target fields as rule fields: the values of all targets of a rule are one value, which is checked, stored, sent and undone
// like that of a rule field.
import { Type } from 'typebox'
import { targetFieldKey } from '../../../agent/wire/target-field.ts'
import type { SlotReader } from '../../../kernel/slot.ts'
import type { Values } from '../api/rule-record.ts'
import { refuseDuplicates } from '../changes/parse-draft.ts'
import type { Target } from '../entities.ts'
import { isSent, type LoadedField, type RuleCore, ruleFieldSlot } from './rule-field.ts'
import { allowsNull, type LoadedTargetField, type TargetValues, targetFieldSlot } from './target-field.ts'

/** A field as it is stored and sent: of a rule, or of its targets. */
export type StoredField = LoadedField & {
  readonly ofTargets?: LoadedTargetField
  readonly sentAs?: string // the key of its message; absent: its own key
}

export const targetFieldsIn = (filled: SlotReader): LoadedTargetField[] =>
  filled(targetFieldSlot).map(({ value }) => value)

const stored = new WeakMap<object, readonly StoredField[]>() // by the values of the slot of rule fields

/** Returns the fields of rules and those of targets. They are computed once, because values of a slot are proxies. */
export function storedFieldsIn(filled: SlotReader): readonly StoredField[] {
  const fields = filled(ruleFieldSlot)
  const found = stored.get(fields) ?? [
    ...fields.map(({ value }) => value),
    ...targetFieldsIn(filled).map(field => asRuleField(field, filled))
  ]
  stored.set(fields, found)
  return found
}

function asRuleField(field: LoadedTargetField, filled: SlotReader): StoredField {
  const { key, body, parse, resolve, encode, path: _, ...hooks } = field
  const stored: StoredField = {
    ...hooks,
    key: targetFieldKey(key),
    body: Type.Record(Type.String(), body),
    change: 'frozen',
    journalKind: 'target',
    ofTargets: field,
    parse(values, rule, request, call) {
      const parsed = Object.entries(values as TargetValues).flatMap(([index, value]) => {
        const place = { index: Number(index), field: `/targets/${index}/${key}`, rule }
        const normalized = parse ? parse(value, place, request, call) : value
        return normalized === undefined ? [] : [[index, normalized]]
      })
      return parsed.length === 0 ? null : Object.fromEntries(parsed)
    },
    ...(resolve && {
      async resolve(values, given, em, call) {
        const resolved: Record<string, unknown> = {}
        for (const [index, value] of Object.entries(values as TargetValues)) {
          const place = { ...given, field: `/targets/${index}/${key}` }
          resolved[index] = await resolve(value, place, em, call)
        }
        return resolved
      }
    }),
    encode(values, rule, context) {
      const order = agentOrder(rule)
      const sent = order.flatMap((index, target) => {
        const value = (values as TargetValues)[index]
        const encoded = value === undefined ? null : encode(value, rule, context)
        return encoded === null ? [] : [{ target, value: encoded }]
      })
      return { values: sent }
    }
  }
  return field.sentAs === undefined ? stored : withMessageOf(field.sentAs, stored, filled)
}

/** Returns the field with the message of a rule field, which carries its values. */
function withMessageOf(key: string, stored: StoredField, filled: SlotReader): StoredField {
  const carrier = filled(ruleFieldSlot).find(({ value }) => value.key === key)?.value
  if (!carrier || !isSent(carrier))
    throw new TypeError(`${stored.key} is sent as ${key}, which no agent gets`)
  const { message, requires, encode, deps } = carrier
  return { ...stored, message, requires, encode: (_, rule) => encode(null, rule, { deps }) } as StoredField
}

/** Returns the indices of the targets in the order of agents: by priority. */
export const agentOrder = ({ targets }: Pick<RuleCore, 'targets'>): number[] =>
  targets
    .map((_, index) => index)
    .toSorted((a, b) => (targets[a]?.priority ?? 0) - (targets[b]?.priority ?? 0))

/** Returns the value of a field in a request, or null. */
export function givenValue({ key, ofTargets }: StoredField, body: Values): unknown {
  if (!ofTargets) return body[key] ?? null
  const isNullValue = allowsNull(ofTargets)
  const targets = Array.isArray(body['targets']) ? (body['targets'] as readonly Values[]) : []
  const given = targets.flatMap((target, index) => {
    const value = target[ofTargets.key]
    return value === undefined || (value === null && !isNullValue) ? [] : [[index, value]]
  })
  return given.length === 0 ? null : Object.fromEntries(given)
}

/** Returns the body of a request with another value of the field, which it has. */
export function withGivenValue({ key, ofTargets }: StoredField, body: Values, value: unknown): Values {
  if (!ofTargets) return { ...body, [key]: value }
  const targets = (body['targets'] as readonly Values[]).map((target, index) => {
    const own = (value as TargetValues)[index]
    return own === undefined ? target : { ...target, [ofTargets.key]: own }
  })
  return { ...body, targets }
}

/** Returns the properties of plugins that a target has, by the values of the rule. */
export const targetProperties = (filled: SlotReader, values: Values, index: number): Values =>
  Object.fromEntries(
    targetFieldsIn(filled).flatMap(({ key }) => {
      const value = (values[targetFieldKey(key)] as TargetValues | null | undefined)?.[index]
      return value === undefined ? [] : [[key, value]]
    })
  )

/** Returns the targets as a request has them. */
export const givenTargets = (
  filled: SlotReader,
  targets: readonly Target[],
  values: Values
): (Target & Values)[] =>
  withoutPaths(targets).map((target, index) => ({ ...target, ...targetProperties(filled, values, index) }))

/** Returns the targets with the paths that a field gives them. */
export function withPaths(filled: SlotReader, targets: readonly Target[], values: Values): readonly Target[] {
  const field = targetFieldsIn(filled).find(({ path }) => path)
  if (!field?.path) return targets
  const { key, path: pathOf } = field
  const own = (values[targetFieldKey(key)] ?? {}) as TargetValues
  return withoutPaths(targets).map((target, index) => {
    const path = pathOf(own[index], values)
    return path === null || path.length === 0 ? target : { ...target, path }
  })
}

/** Returns the keys of the values that set the paths of targets. */
export const pathKeysIn = (filled: SlotReader): readonly string[] =>
  targetFieldsIn(filled).flatMap(({ key, path, sentAs }) =>
    path ? [targetFieldKey(key), ...(sentAs === undefined ? [] : [sentAs])] : []
  )

/** Returns the targets as they are on a client: if it is on the path of a target, the path begins after it. */
export const targetsOn = (clientId: string, targets: readonly Target[]): readonly Target[] =>
  targets.map(target => {
    const { path = [], ...direct } = target
    if (!path.includes(clientId)) return target
    const rest = path.slice(path.indexOf(clientId) + 1)
    return rest.length === 0 ? direct : { ...direct, path: rest }
  })

/** Returns the targets without their paths, which no request or reply has. */
export const withoutPaths = (targets: readonly Target[]): Target[] =>
  targets.map(({ path: _, ...target }) => target)

/** Returns the keys of the target fields that tell targets with the same host and port apart, in a request. */
export const distinguishingIn = (filled: SlotReader): readonly string[] =>
  targetFieldsIn(filled).flatMap(({ key, distinguishes, path }) => (distinguishes || path ? [key] : []))

/** Throws if two targets are equal in host, port, path and the properties that distinguish them. */
export function refuseEqualTargets(filled: SlotReader, targets: readonly Target[], values: Values): void {
  const fields = targetFieldsIn(filled)
  const distinguishing = fields.flatMap(({ key, distinguishes }) => (distinguishes ? [key] : []))
  if (distinguishing.length === 0 && !fields.some(({ path }) => path)) return // `parseTargets` has compared them
  const compared = withPaths(filled, targets, values).map((target, index) => ({
    ...targetProperties(filled, values, index),
    ...target
  }))
  refuseDuplicates(compared, [...distinguishing, 'path'])
}
