// The contract of a rule field: one property of a rule that one plugin owns completely.
import type { EntityManager } from '@mikro-orm/sql'
import type { Static, TSchema } from 'typebox'
import { defineCode, type ErrorCode } from '../../../kernel/base/errors.ts'
import type { Principal } from '../../../kernel/http/principal.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { defineSlot, type Fill } from '../../../kernel/slot.ts'
import type { Capability, Message } from '../../../kernel/wire/message.ts'
import type { Ports, Rule } from '../entities.ts'

/** For a required capability that has no refusal code of its own. */
export const fieldUnsupported = defineCode('rule_field_unsupported_by_client', 422, 3)

/** A rule without its fields and its state. */
export type RuleCore = Pick<
  Rule,
  | 'id'
  | 'parent'
  | 'clientId'
  | 'owner'
  | 'placedBySuperadmin'
  | 'protocol'
  | 'listenFrom'
  | 'listenTo'
  | 'targets'
>

export type RuleOwnership = Pick<RuleCore, 'clientId' | 'owner'>

/** What an agent may report of a rule: its owner, ports and targets, if the rule is on the agent's client. */
export interface RuleScope extends RuleOwnership, Pick<RuleCore, 'listenFrom' | 'listenTo' | 'targets'> {
  /** Those that it had: connections outlive changes. */
  readonly former: { readonly targets: Rule['targets']; readonly ports: readonly Ports[] }
}

/** The part of a rule that its request alone defines; `parse` and `validate` see only this. */
export type RuleDraft = Omit<RuleCore, 'id' | 'parent' | 'placedBySuperadmin' | keyof RuleOwnership>

/** A capability that the client's agent must have, and the code of the refusal when it does not. */
export interface CapabilityRequirement {
  readonly capability: Capability
  readonly refusal: ErrorCode
}

/** The last argument of each hook: the services of the field's plugin, its clock, store and configuration among them. */
export interface FieldContext<D = Kernel> {
  readonly deps: D
}

/** The last argument of a hook that a change calls. */
export interface FieldCall<D = Kernel> extends FieldContext<D> {
  /** Who makes the change: the caller of the request, or the actor of `act`. */
  readonly principal: Principal
}

interface FieldParts<B extends TSchema, D> {
  readonly key: string // 'sni_pattern', in JSON and on the wire
  readonly body: B // schema of the value in requests and replies; absent and null both mean that the rule has none
  readonly absent?: Static<B> // shown in place of null
  /** What a whole rule in PUT does to a value that it leaves out. Default: 'cleared'. */
  readonly unlessGiven?: 'cleared' | 'stays'
  readonly journalKind?: 'limit' | 'target' // of the notes about its changes; default: 'change'
  readonly errors?: readonly ErrorCode[] // of `parse` and `check`, for OpenAPI; default: all codes of the plugin
  /** The value tells apart rules that share a port: `apply` matches rules by it, ignoring case, and shows it. */
  readonly distinguishes?: true
  /**
   * Returns the normalised value that is stored, or null for none. Throws a Fault with a `validation.` code. Equal input
   * gives an equal value, at any time and for anybody: that tells whether a request changes it. `body` is the whole request.
   */
  parse(
    value: Static<B>,
    rule: RuleDraft,
    body: Readonly<Record<string, unknown>>,
    call: FieldCall<D>
  ): Static<B> | null
  /** Throws a Fault when the value conflicts with stored data, or with the time. Runs in the transaction that saves it. */
  check(value: Static<B>, rule: RuleCore, em: EntityManager, call: FieldCall<D>): Promise<void>
  /** Stores the value; of a hot field also in place of an earlier one. */
  save(ruleId: string, value: Static<B>, em: EntityManager, call: FieldCall<D>): Promise<void>
  load(
    ruleIds: readonly string[],
    em: EntityManager,
    context: FieldContext<D>
  ): Promise<ReadonlyMap<string, Static<B>>>
}

interface SentParts<B extends TSchema, W extends TSchema, D> {
  readonly requires: CapabilityRequirement
  readonly message: Message<W> // what the agent receives under the key
  encode(value: Static<B>, rule: RuleCore, context: FieldContext<D>): Static<W>
}

interface HotParts<D> {
  readonly change: 'hot'
  readonly updateEmpty: ErrorCode // for an update that is not a whole rule and has no hot field
  clear(ruleId: string, em: EntityManager, call: FieldCall<D>): Promise<void>
}

/** Does not change by PUT; a PATCH changes it. */
export interface FrozenField<B extends TSchema = TSchema, W extends TSchema = TSchema, D = Kernel>
  extends FieldParts<B, D>,
    SentParts<B, W, D> {
  readonly change: 'frozen'
  /** Deletes the value. Without it a change of the value writes the rule's row anew: what refers to that row goes, too. */
  clear?(ruleId: string, em: EntityManager, call: FieldCall<D>): Promise<void>
}

/** May change while the rule runs; the agent's half applies the change to live connections. */
export interface HotField<B extends TSchema = TSchema, W extends TSchema = TSchema, D = Kernel>
  extends FieldParts<B, D>,
    SentParts<B, W, D>,
    HotParts<D> {}

/**
 * For the server alone: no agent receives it, so that one of any version takes a rule that has it, a change sends
 * nothing, and the rule goes on while the plugin is not loaded. It must not decide what a rule forwards.
 */
export interface ServerField<B extends TSchema = TSchema, D = Kernel> extends FieldParts<B, D>, HotParts<D> {
  readonly message?: never
  /**
   * Places a rule on several clients, in place of `client`: the rule with the value is a whole, and each client has a
   * part of it. Returns their ids, of all clients or those `among` them; others than clients that exist are left out.
   * Throws a Fault. At most one field has it, and no rule gets or loses its value. Who knows that the clients are others
   * now calls `rules.syncMembers`.
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

/** Every part is required: a field that leaves one out does not compile. */
export type RuleField<B extends TSchema = TSchema, W extends TSchema = TSchema, D = Kernel> =
  | SentField<B, W, D>
  | ServerField<B, D>

/** A field with the services that its hooks are given. */
export type LoadedField = RuleField & FieldContext

export const isSent = <F extends RuleField>(field: F): field is Exclude<F, ServerField> =>
  field.message !== undefined

export const ruleFieldSlot = defineSlot<LoadedField>('rules.field', { keyOf: ({ key }) => key })

/** Fills the slot; a function so that the types of schema, message and services are inferred. */
export function ruleField<B extends TSchema, W extends TSchema, D extends Kernel = Kernel>(
  field: RuleField<B, W, D>
): Fill<D> {
  return ruleFieldSlot.fillWith((deps: D) => ({ ...field, deps }))
}

/**
 * A value that the agent receives with a rule and that a plugin computes: it is in no request and no reply. The plugin
 * calls `rules.refresh` when the value may have changed.
 */
export interface DerivedField<W extends TSchema = TSchema, D = Kernel> {
  readonly key: string
  readonly requires: CapabilityRequirement
  readonly message: Message<W>
  /** Returns values by rule id; a rule that is left out has no value. */
  derive(
    rules: readonly RuleCore[],
    em: EntityManager,
    context: FieldContext<D>
  ): Promise<ReadonlyMap<string, Static<W>>>
}

export const derivedFieldSlot = defineSlot<DerivedField & FieldContext>('rules.derived', {
  keyOf: ({ key }) => key
})

/** Fills the slot; a function so that the types of message and services are inferred. */
export function derivedField<W extends TSchema, D extends Kernel = Kernel>(
  field: DerivedField<W, D>
): Fill<D> {
  return derivedFieldSlot.fillWith((deps: D) => ({ ...field, deps }))
}
