import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { operatorId } from '../../kernel/identity/identity.ts'

const time = () => p.bigint('number') // ms since 1970, UTC

export type Protocol = 'tcp' | 'udp'
export type State = 'pending' | 'active' | 'paused' | 'failed' | 'draining'

/** How a change treats live connections if it removes their target or pauses their rule. */
export type ExistingMode = 'keep' | 'drain' | 'cut'

export interface Ports {
  readonly from: number
  readonly to: number
}

export interface Target {
  readonly host: string
  readonly port: number
  readonly priority: number
  readonly weight?: number // absent: 1
  /**
   * The ids of the clients after the rule's client, in order: the last one dials. Absent: the rule's client dials. A field
   * computes it; a group rule has the whole path, and each member the part after its own client.
   */
  readonly path?: readonly string[]
}

/**
 * The rule as it was before the pending changes: what its agent last applied, and the fields that only the server uses.
 * Moved ports have columns.
 */
export interface EarlierDefinition {
  readonly rule: Pick<Rule, 'placedBy' | 'targets' | 'preferIpv6' | 'paused'>
  readonly values: Readonly<Record<string, unknown>> // of the changed fields; null: no value
  readonly updatedAt?: number
  readonly failedWith?: string // its reason, if it was failed
  /** After a refusal with `port_in_use`. 'keep': the earlier definition has the same port, so undoing does not help. */
  readonly whenPortInUse: 'undo' | 'keep'
}

export const Rule = defineEntity({
  name: 'Rule',
  tableName: 'rules',
  indexes: [
    { name: 'rules_client_id_listen_from_index', properties: ['clientId', 'listenFrom'] },
    { name: 'rules_range_index', properties: ['clientId', 'listenTo'], where: 'listen_to > listen_from' },
    { name: 'rules_moved_index', properties: ['clientId'], where: 'moved_from is not null' },
    { name: 'rules_client_id_owner_state_index', properties: ['clientId', 'owner', 'state'] },
    { name: 'rules_owner_parent_id_index', properties: ['owner', 'parent', 'id'] },
    { name: 'rules_name_index', properties: ['name'], where: 'name is not null' }
  ],
  uniques: [
    {
      name: 'rules_name_unique',
      properties: ['clientId', 'owner', 'name'],
      where: "name is not null and client_id <> '' and state <> 'draining'"
    }
  ],
  properties: {
    id: p.string().length(26).primary(),
    clientId: p.string().length(26), // '' for a group rule
    parent: p.string().length(26).nullable().index('rules_parent_index'), // for a member: the id of its group rule
    owner: p.string().length(32),
    placedBy: p.string().length(32).defaultRaw("''").index('rules_placed_by_index'), // the owner, or one who manages all
    /** Placed by one who is an operator or a superadmin now: `rules.admit` does not apply. */
    isExempt: p.boolean().formula(
      rule => `(${rule['placedBy']} = '${operatorId}' or exists (select 1 from kernel_user placer
        where placer.id = ${rule['placedBy']} and placer.role in ('operator', 'superadmin')))`
    ),
    name: p.string().length(63).nullable(), // members have that of their group rule
    description: p.string().length(255).nullable(),
    protocol: p.string().length(3).$type<Protocol>(),
    listenFrom: p.integer(),
    listenTo: p.integer(),
    targets: p.json().$type<readonly Target[]>(),
    // Former targets and ports: the client may still report their last bytes.
    formerTargets: p.json().$type<readonly Target[]>().nullable(),
    formerPorts: p.json().$type<readonly Ports[]>().nullable(),
    preferIpv6: p.boolean(),
    fields: p.json().$type<readonly string[]>(), // keys of its fields; a push needs all of them loaded
    paused: p.boolean().default(false),
    before: p.json().$type<EarlierDefinition>().nullable(),
    // The ports that the agent last applied, while a move is pending: old and new ports are reserved.
    movedFrom: p.integer().nullable(),
    movedTo: p.integer().nullable(),
    existing: p.string().length(5).$type<ExistingMode>().nullable(), // for the pending changes
    state: p.string().length(8).$type<State>(),
    stateReason: p.string().length(64).nullable(),
    createdAt: time(),
    updatedAt: time(),
    stateChangedAt: time(),
    activatedAt: time().nullable() // when it first became active; null: the agent does not retry it
  }
})
export type Rule = InferEntity<typeof Rule>

/** The columns that records need. */
export const shownColumns = [
  ...(['clientId', 'owner', 'placedBy', 'protocol', 'listenFrom', 'listenTo', 'targets'] as const),
  ...(['name', 'description', 'preferIpv6', 'fields', 'paused', 'state', 'stateReason'] as const),
  ...(['createdAt', 'updatedAt', 'stateChangedAt', 'before'] as const)
]
export type ShownRule = Pick<Rule, 'id' | (typeof shownColumns)[number]>

/** A client on which the member of a group rule is refused. */
export const RefusedMember = defineEntity({
  name: 'RefusedMember',
  tableName: 'rules_refused_member',
  properties: {
    parent: p.string().length(26).primary(),
    clientId: p.string().length(26).primary().index('rules_refused_member_client_id_index'),
    code: p.string().length(64) // why
  }
})

export type RefusedMember = InferEntity<typeof RefusedMember>

/** The value of a field without its own table. It is deleted with its rule. */
export const FieldValue = defineEntity({
  name: 'RuleFieldValue',
  tableName: 'rules_field_value',
  properties: {
    rule: p.manyToOne(Rule).mapToPk().primary().deleteRule('cascade'),
    key: p.string().length(64).primary().index('rules_field_value_key_index'),
    value: p.json().$type<unknown>()
  }
})
export type FieldValue = InferEntity<typeof FieldValue>

/** The object of a kind that a plugin derives from a rule for another client. */
export const DerivedPartRow = defineEntity({
  name: 'RuleDerivedPart',
  tableName: 'rules_derived_part',
  indexes: [{ name: 'rules_derived_part_client_id_owner_index', properties: ['clientId', 'owner'] }],
  properties: {
    rule: p.manyToOne(Rule).mapToPk().primary().deleteRule('cascade'),
    clientId: p.string().length(26).primary(),
    kind: p.string().length(64).primary(),
    owner: p.string().length(32), // of the rule
    body: p.json().$type<unknown>(),
    isApplied: p.boolean(), // its client has acknowledged this body
    isLeaving: p.boolean() // the rule no longer has it: it goes when the client of the rule has applied that
  }
})
export type DerivedPartRow = InferEntity<typeof DerivedPartRow>

/** The client of a group rule, which is on no agent itself. */
export const noClient = ''

/** Matches all rules except group rules. */
export const onClients = { clientId: { $ne: noClient } }

export const isGroupRule = ({ clientId }: Pick<Rule, 'clientId'>): boolean => clientId === noClient

/** The columns of a rule without a pending change. */
export const nothingPending = { before: null, movedFrom: null, movedTo: null, existing: null } as const

/** Primary key of a field's table: the rule's id. The row is deleted with the rule. */
export const ruleKey = () => p.oneToOne(Rule).mapToPk().owner().primary().deleteRule('cascade')
