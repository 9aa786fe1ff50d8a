// The slots of this plugin except those of rule fields.
import type { EntityManager } from '@mikro-orm/sql'
import type { Static, TProperties, TSchema } from 'typebox'
import { defineCode, type ErrorCode } from '../../kernel/base/errors.ts'
import type { Api, Column } from '../../kernel/cli/command.ts'
import { defineSlot } from '../../kernel/slot.ts'
import type { RuleRecord } from './api/rule-record.ts'
import { documentKindSlot, documentPlaceSlot } from './commands/document.ts'
import type { Rule, State } from './entities.ts'
import {
  type CapabilityRequirement,
  derivedFieldSlot,
  type RuleCore,
  type RuleDraft,
  type RuleOwnership,
  ruleFieldSlot
} from './fields/rule-field.ts'
import { journalEntrySlot } from './journal-entry.ts'

export const ruleNotFound = defineCode('rule_not_found', 404, 8)
export const clientNotGranted = defineCode('client_not_granted', 403, 5)

/**
 * Deletes what belongs to a rule: called for every cause, in the transaction that then deletes the rule's row. Of a whole
 * the client is ''; each of its parts has it as `parent`.
 */
export const removedSlot =
  defineSlot<
    (
      rule: RuleOwnership & Pick<RuleCore, 'id'> & { readonly parent?: string },
      em: EntityManager
    ) => Promise<void>
  >('rules.removed')

/** The new state of a rule; `reason` is the code of a failure, else null. */
export interface StateChange extends RuleOwnership, Pick<RuleCore, 'id'> {
  readonly parent?: string // of a part: the id of its whole
  readonly state: State
  readonly reason: string | null
}

/** Called in the transaction in which a rule's state or its reason changes. */
export const stateSlot = defineSlot<(change: StateChange, em: EntityManager) => Promise<void>>('rules.state')

/**
 * A state that a field gives to rules that would be active or paused, for example 'expired'. It is computed when a rule is
 * read, also while its client is away. The agent reports the same code as why its field has closed the rule.
 */
export interface ShownState {
  readonly state: string
  /** A rule in a 'free' state no longer has its port against others: a change that ends the state needs it again. */
  readonly port: 'reserved' | 'free'
  /** Returns the `state_reason` of those rules that are in the state, by id. */
  load(
    rules: readonly (RuleOwnership & Pick<RuleCore, 'id'>)[],
    em: EntityManager
  ): Promise<ReadonlyMap<string, string>>
}

export const shownStateSlot = defineSlot<ShownState>('rules.shown-state', { keyOf: ({ state }) => state })

/**
 * Decides where users without the superadmin role may place rules. All fillers must agree; without a filler only
 * superadmins place rules.
 */
export interface Admission {
  readonly errors?: readonly ErrorCode[] // of `admit`, for OpenAPI; default: all codes of the plugin
  /** Returns the ids of the clients on which the user may place rules; `admit` decides which. */
  clients(userId: string, em: EntityManager): Promise<readonly string[]>
  /** Throws a Fault when the owner may not place this rule. Runs in the transaction that saves it. */
  admit(rule: RuleCore, em: EntityManager): Promise<void>
}

export const admitSlot = defineSlot<Admission>('rules.admit')

/**
 * Supports rules beyond one TCP port with one target. A rule with a shape that no plugin supports is refused at create;
 * a stored one fails.
 */
export interface ShapeSupport {
  readonly shape: 'udp' | 'range' | 'targets'
  readonly requires: CapabilityRequirement
  /** Throws a Fault with a `validation.` code. Called for every new rule, whatever its shape. */
  readonly validate?: (rule: RuleDraft) => void
  readonly errors?: readonly ErrorCode[] // of `validate`, for OpenAPI; default: all codes of the plugin
  /** A core property that the body of create has only with this shape. */
  readonly bodyField?: 'listen_port_end'
}

export const shapeSlot = defineSlot<ShapeSupport>('rules.shape', { keyOf: ({ shape }) => shape })

/** A rule with the keys of its fields, from which port sharing is decided. */
export type RuleWithFields = RuleCore & Pick<Rule, 'fields'>

/** Lets rules share a port. */
export interface PortSharing {
  readonly errors?: readonly ErrorCode[] // of `mayJoin`, for OpenAPI; default: all codes of the plugin
  /**
   * Decides whether a new rule, whose fields are saved, may join `others`, which overlap its ports. Throws a Fault when
   * they conflict by the rules of this plugin. False: this plugin does not apply, and the port is in use.
   */
  mayJoin(rule: RuleWithFields, others: readonly RuleWithFields[], em: EntityManager): Promise<boolean>
}

export const portSharingSlot = defineSlot<PortSharing>('rules.sharing', { keyOf: () => 'port' })

/** Adds a read-only property to each target of a rule record. */
export interface TargetView<V extends TSchema = TSchema> {
  readonly key: string // 'health'
  readonly schema: V
  /** Returns values by rule id, one for each target, in the order of the targets. Every rule must have them. */
  load(
    rules: readonly Pick<RuleCore, 'id' | 'clientId' | 'targets'>[]
  ): ReadonlyMap<string, readonly Static<V>[]>
}

export const targetViewSlot = defineSlot<TargetView>('rules.target', { keyOf: ({ key }) => key })

/** Options of `rule push`: `args` declares them, `body` converts them to properties of the request. */
export interface PushOptions {
  readonly args: TProperties
  readonly body: (
    args: Readonly<Record<string, unknown>>,
    api: Api
  ) => Readonly<Record<string, unknown>> | Promise<Readonly<Record<string, unknown>>>
  /** True if these options say where the rule is: then the command has no argument CLIENT. */
  readonly places?: (args: Readonly<Record<string, unknown>>) => boolean
}

export const pushOptionsSlot = defineSlot<PushOptions>('rules.push-options')

/** Adds a column to `rule list`. */
export const columnSlot = defineSlot<Column<RuleRecord>>('rules.column')

/** Counts the live connections and flows of a rule, which end when `apply` removes the rule. */
export const liveTrafficSlot = defineSlot<(ruleId: string, api: Api) => Promise<number>>('rules.live-traffic')

export const slots = [
  ruleFieldSlot,
  derivedFieldSlot,
  shapeSlot,
  portSharingSlot,
  targetViewSlot,
  admitSlot,
  removedSlot,
  stateSlot,
  journalEntrySlot,
  shownStateSlot,
  pushOptionsSlot,
  columnSlot,
  documentKindSlot,
  documentPlaceSlot,
  liveTrafficSlot
]
