// The contract of a target field: one property of each target of a rule, owned by one plugin.
import type { EntityManager } from '@mikro-orm/sql'
import { type Static, type TSchema, Type } from 'typebox'
import { type DeclaredTargetField, targetFieldMessage } from '../../../agent/wire/target-field.ts'
import type { ErrorCode } from '../../../kernel/base/errors.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { defineSlot, type Fill } from '../../../kernel/slot.ts'
import type { Message } from '../../../kernel/wire/message.ts'
import { requestSchema, withDefaults, withNulls } from './field-value.ts'
import {
  type CapabilityRequirement,
  type FieldCall,
  type FieldContext,
  fieldUnsupported,
  type GivenPlace,
  type RuleCore,
  type RuleDraft
} from './rule-field.ts'

/** The values of the targets that have one, by the index of the target in the rule: {"1": "blue"}. */
export type TargetValues<B extends TSchema = TSchema> = Readonly<Record<string, Static<B>>>

/** The place of a value in a request. */
export interface TargetPlace {
  readonly index: number // of the target
  readonly field: string // '/targets/1/via', for errors
  readonly rule: RuleDraft
}

interface TargetHooks<B extends TSchema, D> {
  /**
   * Targets with the same host and port may differ in this value. Statistics count such targets together. Without it, equal
   * host and port are `validation.targets_duplicate`.
   */
  readonly distinguishes?: true
  readonly errors?: readonly ErrorCode[] // thrown by `parse` and `check`, for OpenAPI; default: all codes of the plugin
  /**
   * Returns the normalized value, or undefined for none. Default: the value as given. Throws a Fault with a `validation.`
   * code that names `place.field`. Must be pure, like `parse` of a rule field. `body` is the whole request.
   */
  parse?(
    value: Static<B>,
    place: TargetPlace,
    body: Readonly<Record<string, unknown>>,
    call: FieldCall<D>
  ): Static<B> | undefined
  /** Replaces what a request names by what is stored, like `resolve` of a rule field. */
  resolve?(value: Static<B>, place: GivenPlace, em: EntityManager, call: FieldCall<D>): Promise<Static<B>>
  /**
   * Returns the path of a target: the ids of the clients after the rule's client; null: the rule's client dials. `value` is
   * that of the target, undefined for none; `values` are those of all fields of the rule. Targets with the same host and port
   * may differ in their paths. Must be pure. At most one target field may have this hook.
   */
  path?(value: Static<B> | undefined, values: Readonly<Record<string, unknown>>): readonly string[] | null
  /** Throws a Fault if a value conflicts with stored data or with the time. Runs in the transaction that saves the values. */
  check?(values: TargetValues<B>, rule: RuleCore, em: EntityManager, call: FieldCall<D>): Promise<void>
  /** `save`, `clear` and `load` store the values in a table of the plugin, as those of a rule field do. */
  save?(ruleId: string, values: TargetValues<B>, em: EntityManager, call: FieldCall<D>): Promise<void>
  clear?(ruleId: string, em: EntityManager, call: FieldCall<D>): Promise<void>
  load?(
    ruleIds: readonly string[],
    em: EntityManager,
    context: FieldContext<D>
  ): Promise<ReadonlyMap<string, TargetValues<B>>>
}

/** A declared property of targets with the hooks of its server half. */
export type TargetField<B extends TSchema, S extends TSchema, D = Kernel> = DeclaredTargetField<B, S> &
  TargetHooks<B, D> & {
    readonly refusal?: ErrorCode // if the agent lacks the capability; default: `fieldUnsupported`
    /** The rule field with the message that carries the values as well: no message has them alone. Its `encode` gets null if the rule has no value. */
    readonly sentAs?: string
  } & (TSchema extends S
    ? { readonly sent?: never; readonly encode?: never }
    : {
        /** Returns what the agent receives for one target; null: nothing. */
        encode(value: Static<B>, rule: RuleCore, context: FieldContext<D>): Static<S> | null
      })

/** A target field with the services that its hooks receive. */
export interface LoadedTargetField extends TargetHooks<TSchema, Kernel>, FieldContext {
  readonly key: string
  readonly body: TSchema
  readonly requires: CapabilityRequirement
  readonly sentAs?: string
  readonly message: Message
  encode(value: unknown, rule: RuleCore, context: FieldContext): unknown
}

/**
 * A property of each target of a rule, such as `via`. A target without a value does not have the property. Null in a request
 * means no value, unless `body` allows null. A request that gives `targets` replaces the values of all targets.
 */
export const targetFieldSlot = defineSlot<LoadedTargetField>('rules.target-field', {
  keyOf({ key }) {
    if (!/^[a-z][a-z0-9_]{0,47}$/.test(key))
      throw new TypeError(`a target field needs a key of 1 to 48 letters a-z, digits and _, got ${key}`)
    return key
  }
})

/** Fills the slot. Types are inferred. */
export function targetField<B extends TSchema, S extends TSchema, D extends Kernel = Kernel>(
  field: TargetField<B, S, D>
): Fill<D>
export function targetField(field: object): Fill<Kernel> {
  const loaded = loadDeclared(field as TargetField<TSchema, Type.TObject>)
  const fill = targetFieldSlot.fillWith((deps: Kernel) => ({ ...loaded, deps }))
  return loaded.sentAs === undefined ? { ...fill, messages: [loaded.message] } : fill
}

function loadDeclared({
  capability,
  refusal = fieldUnsupported,
  sent,
  encode,
  ...field
}: TargetField<TSchema, Type.TObject>): Omit<LoadedTargetField, 'deps'> {
  const { key, body, parse = value => value } = field
  return {
    ...field,
    body: requestSchema(body),
    requires: { capability, refusal },
    message: targetFieldMessage({ key, body, ...(sent && { sent }) }),
    encode: (encode ?? sentTargetValue) as LoadedTargetField['encode'],
    parse(value, ...call) {
      const parsed = parse(value === null ? null : withDefaults(body, value), ...call)
      return isObject(parsed) ? withNulls(body, parsed) : parsed
    }
  }
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns the value without null parts; null for null. */
const sentTargetValue = (value: unknown): unknown =>
  isObject(value) ? Object.fromEntries(Object.entries(value).filter(([, part]) => part !== null)) : value

/** True if null is a value, not the absence of one. */
export const allowsNull = ({ body }: Pick<LoadedTargetField, 'body'>): boolean =>
  Type.IsNull(body) || (Type.IsUnion(body) && body.anyOf.some(Type.IsNull))
