// The slots of this plugin except those of rule fields and commands.
import type { EntityManager } from '@mikro-orm/sql'
import type { Static, TSchema } from 'typebox'
import type { TargetMatch } from '../../agent/wire/target-match.ts'
import { defineCode, type ErrorCode } from '../../kernel/base/errors.ts'
import { defineSlot } from '../../kernel/slot.ts'
import { columnSlot, liveTrafficSlot, pushOptionsSlot } from './command-slots.ts'
import { documentClientsSlot, documentKindSlot, documentPlaceSlot } from './commands/document.ts'
import { derivedObjectSlot } from './derived/derived-object.ts'
import type { Rule, State } from './entities.ts'
import {
  type CapabilityRequirement,
  derivedFieldSlot,
  type RuleCore,
  type RuleDraft,
  type RuleOwnership,
  ruleFieldSlot
} from './fields/rule-field.ts'
import { targetFieldSlot } from './fields/target-field.ts'
import { journalEntrySlot, journalKindSlot } from './journal-entry.ts'

export const clientNotGranted = defineCode('client_not_granted', 403, 5)

/**
 * Called before the row of a rule is deleted, in the same transaction, to delete data of the rule. The client of a group rule
 * is ''; its members have its id as `parent`.
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
  readonly parent?: string // for a member: the id of its group rule
  readonly from: State // the state before; the same if only the reason has changed
  readonly state: State
  readonly reason: string | null
}

/** Called in the transaction that changes the state of a rule, or its reason. */
export const stateSlot = defineSlot<(change: StateChange, em: EntityManager) => Promise<void>>('rules.state')

/**
 * A state that a field gives to active or paused rules, for example 'expired'. It is computed when a rule is read, even if
 * its client is offline. The agent reports the same code as the reason of the closed rule.
 */
export interface ShownState {
  readonly state: string
  /** 'free': other rules may take the port, and a change that ends the state needs it again. */
  readonly port: 'reserved' | 'free'
  /** Returns the `state_reason` of the rules in this state, by id. */
  load(
    rules: readonly (RuleOwnership & Pick<RuleCore, 'id'>)[],
    em: EntityManager
  ): Promise<ReadonlyMap<string, string>>
}

export const shownStateSlot = defineSlot<ShownState>('rules.shown-state', { keyOf: ({ state }) => state })

/**
 * Decides where callers with the role user may place rules. All fillers must agree; without a filler only operators and
 * superadmins place rules.
 */
export interface Admission {
  readonly errors?: readonly ErrorCode[] // of `admit`, for OpenAPI; default: all codes of the plugin
  /**
   * Returns the ids of the clients on which the user may place rules; `admit` decides which rules. Call
   * `rules.admissionChanged` when they change: group rules join and leave clients.
   */
  clients(userId: string, em: EntityManager): Promise<readonly string[] | 'all'>
  /**
   * Throws a Fault if the owner must not place this rule. Runs in the transaction that saves it. `textOf` returns the text by
   * which the request names a client, so that a refusal does not say that the client exists. A path may have text that names no
   * client that the caller may see.
   */
  admit(rule: RuleCore, em: EntityManager, textOf: (clientId: string) => string): Promise<void>
}

export const admitSlot = defineSlot<Admission>('rules.admit')

/** The targets that the exits of a rule may dial, by the client id of the exit. */
export type ExitTargets = ReadonlyMap<string, readonly TargetMatch[]>

/**
 * Limits the targets of rules with paths: returns limits by rule id. A rule or an exit that is missing has none. Gets only
 * rules that `rules.admit` limits. Call `rules.refresh` when the limits change.
 */
export const exitTargetsSlot = defineSlot<
  (rules: readonly RuleCore[], em: EntityManager) => Promise<ReadonlyMap<string, ExitTargets>>
>('rules.exit-targets', { keyOf: () => 'exit' })

/**
 * Returns the clients on the paths of a rule that its owner may not use. Gets only rules that `rules.admit` limits. For
 * explanations: a rule that loses a client of its path is refused or removed.
 */
export const pathDenialSlot = defineSlot<(rule: RuleCore, em: EntityManager) => Promise<readonly string[]>>(
  'rules.path-denial',
  { keyOf: () => 'path' }
)

/** A user who may place rules on other clients than before. */
export interface AdmissionChange {
  readonly userId: string
  readonly clientId: string | null // null: any client
}

/** Called in the transaction that changes where a user may place rules. */
export const admissionChangedSlot =
  defineSlot<(change: AdmissionChange, em: EntityManager) => Promise<void>>('rules.admission-changed')

/**
 * Supports rules beyond one TCP port with one target. A new rule with an unsupported shape is refused; a stored one fails.
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

/** A rule with the keys of its fields, for decisions about port sharing. */
export type RuleWithFields = RuleCore & Pick<Rule, 'fields'>

/** Lets rules share a port. */
export interface PortSharing {
  readonly errors?: readonly ErrorCode[] // of `mayJoin`, for OpenAPI; default: all codes of the plugin
  /**
   * Returns true if a new rule may share its ports with the overlapping rules; its fields are saved already. Returns false
   * if this plugin does not apply: then the port is in use. Throws a Fault if the rules conflict.
   */
  mayJoin(rule: RuleWithFields, others: readonly RuleWithFields[], em: EntityManager): Promise<boolean>
}

export const portSharingSlot = defineSlot<PortSharing>('rules.sharing', { keyOf: () => 'port' })

/** Ports of clients that rules must not have, because the agent itself listens on them. */
export interface PortReservation {
  /** Returns the reserved ports, of TCP and UDP, by client id. */
  load(clientIds: readonly string[], em: EntityManager): Promise<ReadonlyMap<string, readonly number[]>>
}

export const portReservationSlot = defineSlot<PortReservation>('rules.port-reservation')

/** A rule on a client. While a change is pending, `before` has the definition that is still in force. */
export type FollowedRule = RuleCore & Pick<Rule, 'before'>

/** Keeps data of a plugin in step with the rules on clients. Both methods run in the transaction of the change. */
export interface RuleFollower {
  readonly errors?: readonly ErrorCode[] // thrown by `changed`, for OpenAPI; default: all codes of the plugin
  /** Called after rules were stored or changed. Throws a Fault to refuse the change, unless `isStored`: then it is older. */
  changed(
    rules: readonly FollowedRule[],
    options: { readonly isStored: boolean },
    em: EntityManager
  ): Promise<void>
  /** Called when the agent of a rule has applied the last change: `before` is no longer in force. */
  applied(rule: RuleCore, em: EntityManager): Promise<void>
}

export const ruleFollowerSlot = defineSlot<RuleFollower>('rules.follower')

/** Adds a read-only property to each target of a rule record. */
export interface TargetView<V extends TSchema = TSchema> {
  readonly key: string // 'health'
  readonly schema: V
  /** Returns one value for each target of every rule, by rule id, in the order of the targets. */
  load(
    rules: readonly Pick<RuleCore, 'id' | 'clientId' | 'targets'>[]
  ): ReadonlyMap<string, readonly Static<V>[]>
}

export const targetViewSlot = defineSlot<TargetView>('rules.target', { keyOf: ({ key }) => key })

export const slots = [
  ruleFieldSlot,
  targetFieldSlot,
  derivedFieldSlot,
  derivedObjectSlot,
  shapeSlot,
  portSharingSlot,
  portReservationSlot,
  ruleFollowerSlot,
  targetViewSlot,
  admitSlot,
  exitTargetsSlot,
  pathDenialSlot,
  admissionChangedSlot,
  removedSlot,
  stateSlot,
  journalEntrySlot,
  journalKindSlot,
  shownStateSlot,
  pushOptionsSlot,
  columnSlot,
  documentKindSlot,
  documentPlaceSlot,
  documentClientsSlot,
  liveTrafficSlot
]
