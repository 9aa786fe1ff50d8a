import type { EntityManager } from '@mikro-orm/sql'
import type { Static, TProperties, TSchema } from 'typebox'
import { defineCode, type ErrorCode } from '../../kernel/base/errors.ts'
import type { Column } from '../../kernel/cli/command.ts'
import { defineSlot, type Fill } from '../../kernel/slot.ts'
import type { Capability, Message } from '../../kernel/wire/message.ts'
import type { Rule, State } from './entities.ts'
import type { RuleRecord } from './schema.ts'

export { ruleKey } from './entities.ts'
export { requireClient } from './find-client.ts'

export const ruleNotFound = defineCode('rule_not_found', 404, 8)

export const clientNotGranted = defineCode('client_not_granted', 403, 5)

/** The refusal of a field's gate that has no code of its own. */
export const fieldUnsupported = defineCode('rule_field_unsupported_by_client', 422, 3)

/** What a rule is before any field: for checks and gates. */
export type RuleCore = Pick<
  Rule,
  'id' | 'clientId' | 'owner' | 'placedBySuperadmin' | 'protocol' | 'listenFrom' | 'listenTo' | 'targets'
>

/** Whose a rule is. */
export type RuleOwnership = Pick<RuleCore, 'clientId' | 'owner'>

/** What else ends with a rule: called in the transaction in which its row is deleted, just before, whatever the cause. */
export const removedSlot =
  defineSlot<(rule: RuleOwnership & Pick<RuleCore, 'id'>, em: EntityManager) => Promise<void>>(
    'rules.removed'
  )

/** A rule as it has just become; a `reason` is the code of what failed. */
export interface StateChange extends RuleOwnership, Pick<RuleCore, 'id'> {
  readonly state: State
  readonly reason: string | null
}

/** Told in the transaction in which a rule enters another state, or the same for another reason. */
export const stateSlot = defineSlot<(rule: StateChange, em: EntityManager) => Promise<void>>('rules.state')

/** What a user without the superadmin role may place. All fillers must agree; without one only superadmins place rules. */
export interface Admission {
  /** Ids of the clients on which the user may place rules at all. */
  clients(userId: string, em: EntityManager): Promise<readonly string[]>
  /** Throws a Fault where its owner may not place this rule. In the transaction that saves it. */
  admit(rule: RuleCore, em: EntityManager): Promise<void>
}

export const admitSlot = defineSlot<Admission>('rules.admit')

/** What the client must be able to do, and the code that says it cannot. */
export interface CapabilityRequirement {
  readonly capability: Capability
  readonly refusal: ErrorCode
}

/** What a field may look at before anything is stored. */
export type RuleDraft = Omit<RuleCore, 'id' | 'placedBySuperadmin' | keyof RuleOwnership>

interface FieldParts<B extends TSchema, W extends TSchema> {
  readonly key: string // 'sni_pattern', in JSON and on the wire
  readonly body: B // request and reply fragment; absent and null both say that the rule has none
  readonly absent?: Static<B> // what a record shows in place of null
  readonly requires: CapabilityRequirement
  readonly message: Message<W> // what the agent receives under the key
  /**
   * The value as it will be kept, null where it says nothing, or a Fault with a `validation.` code. Looks at nothing
   * but its arguments; `given` is the whole body.
   */
  parse(value: Static<B>, rule: RuleDraft, given: Readonly<Record<string, unknown>>): Static<B> | null
  /** Against what is stored: throws a Fault where it clashes. In the transaction that saves it. */
  check(value: Static<B>, rule: RuleCore, em: EntityManager): Promise<void>
  /** Of a hot field also in place of another value. */
  save(ruleId: string, value: Static<B>, em: EntityManager): Promise<void>
  load(ruleIds: readonly string[], em: EntityManager): Promise<ReadonlyMap<string, Static<B>>>
  encode(value: Static<B>, rule: RuleCore): Static<W>
}

/** After create it stays as it is. */
export interface FrozenField<B extends TSchema = TSchema, W extends TSchema = TSchema>
  extends FieldParts<B, W> {
  readonly change: 'frozen'
}

/** May be changed while the rule runs; the agent's half tunes what lives. */
export interface HotField<B extends TSchema = TSchema, W extends TSchema = TSchema> extends FieldParts<B, W> {
  readonly change: 'hot'
  readonly updateEmpty: ErrorCode // of an update that is not the whole body and has no hot field
  clear(ruleId: string, em: EntityManager): Promise<void>
}

/** One property of the rule, owned whole by one plugin. A part that is left out does not compile. */
export type RuleField<B extends TSchema = TSchema, W extends TSchema = TSchema> =
  | FrozenField<B, W>
  | HotField<B, W>

export const ruleFieldSlot = defineSlot<RuleField>('rules.field', { keyOf: ({ key }) => key })

/** Exists for its inference. */
export function ruleField<B extends TSchema, W extends TSchema>(field: RuleField<B, W>): Fill {
  return ruleFieldSlot.fill(field)
}

/**
 * One more thing that the agent is told of a rule, worked out by its owner: no body has it, and no record shows it.
 * When it may have changed, its owner calls `rules.refresh`.
 */
export interface DerivedField<W extends TSchema = TSchema> {
  readonly key: string
  readonly requires: CapabilityRequirement
  readonly message: Message<W>
  /** By rule; one that is left out goes without the field. */
  derive(rules: readonly RuleCore[], em: EntityManager): Promise<ReadonlyMap<string, Static<W>>>
}

export const derivedFieldSlot = defineSlot<DerivedField>('rules.derived', { keyOf: ({ key }) => key })

/** Exists for its inference. */
export function derivedField<W extends TSchema>(field: DerivedField<W>): Fill {
  return derivedFieldSlot.fill(field)
}

/**
 * What goes beyond one TCP port with one target. Each must be claimed: unclaimed, a rule that has it is refused at
 * create, and failed where it is stored.
 */
export interface ShapeSupport {
  readonly shape: 'udp' | 'range' | 'targets'
  readonly requires: CapabilityRequirement
  /** Throws a Fault with a `validation.` code. Asked of every new rule, whatever its shape. */
  readonly validate?: (rule: RuleDraft) => void
  /** What it adds to the body of create; `listen_port_end` is the one that there is. */
  readonly bodyField?: 'listen_port_end'
}

export const shapeSlot = defineSlot<ShapeSupport>('rules.shape', { keyOf: ({ shape }) => shape })

export const shapesOf = ({
  protocol,
  listenFrom,
  listenTo,
  targets
}: Omit<RuleCore, 'id' | 'placedBySuperadmin'>) => {
  const has: Readonly<Record<ShapeSupport['shape'], boolean>> = {
    udp: protocol === 'udp',
    range: listenTo > listenFrom,
    targets: targets.length > 1
  }
  return (['udp', 'range', 'targets'] as const).filter(shape => has[shape])
}

/** A rule in its place, as those see it who judge its port. */
export type RuleWithFields = RuleCore & Pick<Rule, 'fields'>

/** Rules that may have one port together. */
export interface PortSharing {
  /**
   * May a new rule (its fields are saved) join these, which have its port or part of its range? Throws a Fault where
   * they clash in terms of its own; false: it is none of its business, and the port is in use.
   */
  mayJoin(rule: RuleWithFields, holders: readonly RuleWithFields[], em: EntityManager): Promise<boolean>
  /** In which order rules of one port are opened: the lowest first, and never a higher one before. Default 0. */
  ranks(rules: readonly RuleWithFields[], em: EntityManager): Promise<ReadonlyMap<string, number>>
}

export const portSharingSlot = defineSlot<PortSharing>('rules.sharing', { keyOf: () => 'port' })

/** What a record says of each target beyond where it is; nobody may set it. */
export interface TargetView<V extends TSchema = TSchema> {
  readonly key: string // 'health'
  readonly schema: V
  /** By rule, as many as it has targets and in their order. Every rule is asked for. */
  load(
    rules: readonly Pick<RuleCore, 'id' | 'clientId' | 'targets'>[]
  ): ReadonlyMap<string, readonly Static<V>[]>
}

export const targetViewSlot = defineSlot<TargetView>('rules.target', { keyOf: ({ key }) => key })

/** Options of `rule push`: `args` as a command has them, `body` what they put into the request. */
export interface PushOptions {
  readonly args: TProperties
  readonly body: (args: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>
}

export const pushOptionsSlot = defineSlot<PushOptions>('rules.push-options')

/** One more column of `rule list`. */
export const columnSlot = defineSlot<Column<RuleRecord>>('rules.column')

export const slots = [
  ruleFieldSlot,
  derivedFieldSlot,
  shapeSlot,
  portSharingSlot,
  targetViewSlot,
  admitSlot,
  removedSlot,
  stateSlot,
  pushOptionsSlot,
  columnSlot
]
