// The contract of a rule field: one property of a rule, owned by one plugin.
import type { EntityManager } from '@mikro-orm/sql'
import type { Static, TSchema, Type } from 'typebox'
import { type DeclaredField, fieldMessage, sentValue } from '../../../agent/wire/rule-field.ts'
import { defineCode, type ErrorCode } from '../../../kernel/base/errors.ts'
import type { Principal } from '../../../kernel/http/principal.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { defineSlot, type Fill } from '../../../kernel/slot.ts'
import type { Capability, Message } from '../../../kernel/wire/message.ts'
import type { Ports, Rule } from '../entities.ts'
import { requestSchema, withDefaults, withNulls } from './field-value.ts'

/** Refuses a field if the agent lacks its capability; fields may name another code. */
export const fieldUnsupported = defineCode('rule_field_unsupported_by_client', 422, 3)

/** A rule without its fields and its state. */
export interface RuleCore
  extends Pick<
    Rule,
    'id' | 'parent' | 'clientId' | 'owner' | 'isExempt' | 'protocol' | 'listenFrom' | 'listenTo' | 'targets'
  > {
  readonly name?: string | null | undefined // absent or null: it has none
}

export type RuleOwnership = Pick<RuleCore, 'clientId' | 'owner'>

/** Limits what an agent may report about a rule. Reports about rules of other clients are refused. */
export interface RuleScope
  extends RuleOwnership,
    Pick<RuleCore, 'name' | 'listenFrom' | 'listenTo' | 'targets'> {
  /** Targets and ports before the last changes: connections outlive changes. */
  readonly former: { readonly targets: Rule['targets']; readonly ports: readonly Ports[] }
}

/** The part of a rule that the request alone defines. `parse` and `validate` see only this. */
export type RuleDraft = Omit<RuleCore, 'id' | 'parent' | 'name' | 'isExempt' | keyof RuleOwnership>

/** A capability that the agent must have, and the error code if it does not. */
export interface CapabilityRequirement {
  readonly capability: Capability
  readonly refusal: ErrorCode
}

/** The last argument of each hook: the services of the field's plugin, with its clock, store and configuration. */
export interface FieldContext<D = Kernel> {
  readonly deps: D
}

/** The last argument of a hook that a change calls. */
export interface FieldCall<D = Kernel> extends FieldContext<D> {
  /** Makes the change: the caller of the request, or the actor of `act`. */
  readonly principal: Principal
}

/** The place of a value that a request gives. */
export interface GivenPlace {
  readonly field: string // '/via', '/targets/1/via', for errors
  readonly clientId: string // of the rule; '' for a group rule
  /** Records the name of a client in the request, for refusals. */
  nameClient(id: string, text: string): void
}

interface FieldParts<B extends TSchema, D> {
  readonly key: string // 'sni_pattern', in JSON and on the wire
  readonly body: B // schema of the value in requests and replies; both absent and null mean no value
  readonly absent?: Static<B> // shown in replies instead of null
  /** Decides if a PUT of a whole rule clears a value that it omits. Default: 'cleared'. */
  readonly unlessGiven?: 'cleared' | 'stays'
  readonly journalKind?: 'limit' | 'target' // kind of its journal entries; default: 'change'
  readonly errors?: readonly ErrorCode[] // thrown by `parse` and `check`, for OpenAPI; default: all codes of the plugin
  /** Rules that share a port differ in this value: `apply` matches rules by it, ignoring case, and shows it. */
  readonly distinguishes?: true
  /**
   * Returns the normalized value to store, or null for none. Default: the value as given. Throws a Fault with a
   * `validation.` code. Must be pure: equal input gives an equal value for every caller, because a comparison with the
   * stored value decides if a request is a change. `body` is the whole request.
   */
  parse?(
    value: Static<B>,
    rule: RuleDraft,
    body: Readonly<Record<string, unknown>>,
    call: FieldCall<D>
  ): Static<B> | null
  /**
   * Replaces what a request names by what is stored, for example names of clients by ids. Called in the transaction of the
   * change, after `parse` has accepted the value as written; then `parse` gets the result. Must return ids as they are. Throws
   * a Fault.
   */
  resolve?(value: Static<B>, place: GivenPlace, em: EntityManager, call: FieldCall<D>): Promise<Static<B>>
  /** Throws a Fault if the value conflicts with stored data or with the time. Runs in the transaction that saves it. */
  check?(value: Static<B>, rule: RuleCore, em: EntityManager, call: FieldCall<D>): Promise<void>
  /**
   * Stores the value in a table of the plugin and replaces an earlier one. Needs `clear` and `load`. Use it for values with
   * references or an index. Without these three hooks, values are in the table rules_field_value.
   */
  save?(ruleId: string, value: Static<B>, em: EntityManager, call: FieldCall<D>): Promise<void>
  /** Deletes the value. */
  clear?(ruleId: string, em: EntityManager, call: FieldCall<D>): Promise<void>
  load?(
    ruleIds: readonly string[],
    em: EntityManager,
    context: FieldContext<D>
  ): Promise<ReadonlyMap<string, Static<B>>>
}

interface SentParts<B extends TSchema, W extends TSchema, D> {
  readonly requires: CapabilityRequirement
  readonly message: Message<W> // the message under this key
  encode(value: Static<B>, rule: RuleCore, context: FieldContext<D>): Static<W>
}

interface HotParts {
  readonly change: 'hot'
  /**
   * Lets PUT of a rule change the field, as well as PATCH and PUT of a definition. It is the error of a PUT that is neither
   * a whole rule nor has such a field.
   */
  readonly updateEmpty?: ErrorCode
}

/** Changes with a new definition of the rule. */
interface FrozenParts {
  readonly change: 'frozen'
}

export interface FrozenField<B extends TSchema = TSchema, W extends TSchema = TSchema, D = Kernel>
  extends FieldParts<B, D>,
    SentParts<B, W, D>,
    FrozenParts {}

/** Can change while the rule runs; the agent half applies the change to live connections. */
export interface HotField<B extends TSchema = TSchema, W extends TSchema = TSchema, D = Kernel>
  extends FieldParts<B, D>,
    SentParts<B, W, D>,
    HotParts {}

/**
 * Only the server uses this field; no agent receives it. Agents of any version accept a rule with it, a change sends
 * nothing, and the rule continues while the plugin is not loaded. It must not decide what a rule forwards.
 */
export interface ServerField<B extends TSchema = TSchema, D = Kernel> extends FieldParts<B, D>, HotParts {
  readonly message?: never
  /** The column of the table of rules that has the value: for fields of this plugin. It replaces `load`. */
  readonly column?: 'name' | 'description'
  /**
   * Places a rule on several clients instead of `client`: a rule with the value is a group rule with a member on each
   * client. Returns the ids of all its clients, or only those in `among`, without clients that do not exist. Throws a Fault.
   * At most one field may have this hook, and no rule gains or loses its value later. Call `rules.syncMembers` when the
   * clients change.
   */
  clientsOf?(
    value: Static<B>,
    among: readonly string[] | null,
    em: EntityManager,
    context: FieldContext<D>
  ): Promise<readonly string[]>
}

export type SentField<B extends TSchema = TSchema, W extends TSchema = TSchema, D = Kernel> =
  | FrozenField<B, W, D>
  | HotField<B, W, D>

export type RuleField<B extends TSchema = TSchema, W extends TSchema = TSchema, D = Kernel> =
  | SentField<B, W, D>
  | ServerField<B, D>

/** A field with the services that its hooks receive. */
export type LoadedField = RuleField & FieldContext

export const isSent = <F extends RuleField>(field: F): field is Exclude<F, ServerField> =>
  field.message !== undefined

export const ruleFieldSlot = defineSlot<LoadedField>('rules.field', { keyOf: ({ key }) => key })

/** A declared field with the hooks of its server half. */
export type DeclaredRuleField<B extends TSchema, S extends TSchema, D = Kernel> = DeclaredField<B, S> &
  FieldParts<B, D> &
  (HotParts | FrozenParts) & {
    readonly refusal?: ErrorCode // if the agent lacks the capability; default: `fieldUnsupported`
  } & (TSchema extends S
    ? { readonly sent?: never; readonly encode?: never }
    : { encode(value: Static<B>, rule: RuleCore, context: FieldContext<D>): Static<S> })

/** Fills the slot with a declared field, or with a field that brings its own message. Types are inferred. */
export function ruleField<B extends TSchema, S extends TSchema, D extends Kernel = Kernel>(
  field: DeclaredRuleField<B, S, D>
): Fill<D>
export function ruleField<B extends TSchema, W extends TSchema, D extends Kernel = Kernel>(
  field: RuleField<B, W, D>
): Fill<D>
export function ruleField(field: object): Fill<Kernel> {
  if (!('capability' in field)) return ruleFieldSlot.fillWith(deps => ({ ...(field as RuleField), deps }))
  const loaded = loadDeclared(field as DeclaredRuleField<TSchema, Type.TObject>)
  return { ...ruleFieldSlot.fillWith(deps => ({ ...loaded, deps })), messages: [loaded.message] }
}

function loadDeclared({
  capability,
  refusal = fieldUnsupported,
  option: _,
  sent,
  encode = sentValue,
  ...field
}: DeclaredRuleField<TSchema, Type.TObject>): SentField {
  const { body, parse = value => value } = field
  return {
    ...field,
    body: requestSchema(body),
    requires: { capability, refusal },
    message: fieldMessage({ key: field.key, body, ...(sent && { sent }) }),
    encode: encode as SentField['encode'],
    parse(value, ...call) {
      const parsed = parse(withDefaults(body, value), ...call)
      return parsed === null ? null : withNulls(body, parsed)
    }
  }
}

/**
 * A value that a plugin computes and the agent receives with a rule. No request or reply has it. The plugin calls
 * `rules.refresh` when the value may have changed.
 */
export interface DerivedField<W extends TSchema = TSchema, D = Kernel> {
  readonly key: string
  readonly requires: CapabilityRequirement
  readonly message: Message<W>
  /** Returns values by rule id; a missing rule has no value. */
  derive(
    rules: readonly RuleCore[],
    em: EntityManager,
    context: FieldContext<D>
  ): Promise<ReadonlyMap<string, Static<W>>>
}

export const derivedFieldSlot = defineSlot<DerivedField & FieldContext>('rules.derived', {
  keyOf: ({ key }) => key
})

/** Fills the slot. Infers the types of the message and the services. */
export function derivedField<W extends TSchema, D extends Kernel = Kernel>(
  field: DerivedField<W, D>
): Fill<D> {
  return derivedFieldSlot.fillWith((deps: D) => ({ ...field, deps }))
}
