// The contract of a derived object: while a rule exists, a plugin has an object on another client than the rule's.
import type { EntityManager } from '@mikro-orm/sql'
import type { Static, Type } from 'typebox'
import {
  type DeclaredObject,
  type ObjectMessages,
  objectMessages
} from '../../../agent/wire/derived-object.ts'
import type { ErrorCode } from '../../../kernel/base/errors.ts'
import { type ObjectKind, objectKindSlot } from '../../../kernel/control/managed-objects.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { defineSlot, type Fill } from '../../../kernel/slot.ts'
import type { Ports, Rule } from '../entities.ts'
import { type FieldContext, fieldUnsupported, type RuleCore } from '../fields/rule-field.ts'

/** The object that one client gets for a rule of another client. */
export interface DerivedPart<V = unknown> {
  readonly clientId: string
  readonly body: V
}

/**
 * An object that is computed from rules and that other clients get. The clients of a rule's objects acknowledge them before
 * the client of the rule gets the rule or its change. A refusal is a refusal of the rule. When the rule no longer has an
 * object, its client loses it after the rule's client has changed or removed the rule.
 */
export interface DerivedObject<B extends Type.TObject = Type.TObject, D = Kernel> extends DeclaredObject<B> {
  readonly field: string // the property of rules that asks for the object, for errors: 'via', 'targets.via'
  readonly refusal?: ErrorCode // if a client lacks the capability; default: `rule_field_unsupported_by_client`
  /** `state_reason` of a rule in force while a change waits for its objects. Default: none. */
  readonly pendingReason?: string
  /** Kind of the journal entry of a refusal that undoes a change. Default: 'change'. */
  readonly journalKind?: string
  /** Refuses to delete a client that rules need. Default: `client_in_use`, for the rules of other clients with an object there. */
  readonly inUse?: {
    readonly code: ErrorCode
    /** Returns the ids of at most `take` rules, as the API shows them, that would remain and need the client. */
    rules(clientId: string, take: number, em: EntityManager, context: FieldContext<D>): Promise<string[]>
  }
  /**
   * When a client loses the object of a removed rule: after the rule's port is 'closed', or after its live connections have
   * ended. Default: 'drained'.
   */
  readonly until?: 'closed' | 'drained'
  /**
   * Returns the parts of rules by rule id, at most one for each client. Called in each change of a rule, when its client has
   * applied it, at a start, and by `rules.refresh`. Values of the rules are saved. Must be pure, apart from what it reads with
   * `em`. Throws a Fault to refuse the change.
   */
  derive(
    rules: readonly DerivingRule[],
    em: EntityManager,
    context: FieldContext<D>
  ): Promise<ReadonlyMap<string, readonly DerivedPart<Static<B>>[]>>
}

/** A rule as objects are derived from it. */
export interface DerivingRule extends RuleCore, Pick<Rule, 'preferIpv6'> {
  /** While a change of a rule is pending that its client forwards: the definition that is still in force. */
  readonly inForce: (Pick<RuleCore, 'targets'> & Ports) | null
}

export interface LoadedDerivedObject extends Omit<DerivedObject, 'refusal'>, FieldContext {
  readonly refusal: ErrorCode
}

export const derivedObjectSlot = defineSlot<LoadedDerivedObject>('rules.derived-object', {
  keyOf: ({ kind }) => kind
})

/** The part of the service `rules` that the control stream needs. */
export interface DerivedKinds {
  /** Returns the kind of managed object for a derived object. */
  derivedKind(
    object: Pick<DerivedObject, 'kind' | 'capability'>,
    messages: ObjectMessages<Type.TObject>
  ): ObjectKind
}

/** Fills the slots of a derived object and of its kind. Types are inferred. The plugin needs the service `rules`. */
export function derivedObject<B extends Type.TObject, D extends Kernel = Kernel>(
  object: DerivedObject<B, D>
): readonly Fill<D & { readonly rules: DerivedKinds }>[] {
  const { kind, capability, refusal = fieldUnsupported } = object
  const messages = objectMessages(object)
  const { push, remove } = messages
  const loaded = (deps: D): LoadedDerivedObject => ({
    ...(object as unknown as DerivedObject), // the slot has objects of all plugins
    refusal,
    deps
  })
  return [
    { ...derivedObjectSlot.fillWith(loaded), messages: [push, remove, push.response] },
    objectKindSlot.fillWith(({ rules }: { readonly rules: DerivedKinds }) =>
      rules.derivedKind({ kind, capability }, messages as unknown as ObjectMessages<Type.TObject>)
    )
  ]
}
