import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { operatorId } from '../../kernel/identity/identity.ts'

const time = () => p.bigint('number') // ms since 1970, UTC

export type Protocol = 'tcp' | 'udp'
export type State = 'pending' | 'active' | 'paused' | 'failed' | 'draining'

/** What becomes of live connections that a change leaves without a target, or with a paused rule. */
export type Existing = 'keep' | 'drain' | 'cut'

export interface Ports {
  readonly from: number
  readonly to: number
}

export interface Target {
  readonly host: string
  readonly port: number
  readonly priority: number
  readonly weight?: number // absent: 1
}

/** What an agent last applied, while a change of it is not applied yet. Ports that were moved are in columns. */
export interface Before {
  readonly rule: Pick<Rule, 'placedBy' | 'targets' | 'preferIpv6' | 'paused'>
  readonly values: Readonly<Record<string, unknown>> // of the fields that were changed; null: there was none
  /** Of a refusal with `port_in_use`: the port of what runs may be free, that of what does not run is not. */
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
    { name: 'rules_owner_parent_id_index', properties: ['owner', 'parent', 'id'] }
  ],
  properties: {
    id: p.string().length(26).primary(),
    clientId: p.string().length(26), // '' of a whole, whose parts are on clients
    parent: p.string().length(26).nullable().index('rules_parent_index'), // of a part: the id of its whole
    owner: p.string().length(32),
    placedBy: p.string().length(32).defaultRaw("''").index('rules_placed_by_index'), // its owner, or a superadmin
    /** By the role of today; `rules.admit` does not apply to such a rule. */
    placedBySuperadmin: p.boolean().formula(
      rule => `(${rule['placedBy']} = '${operatorId}' or exists (select 1 from kernel_user placer
        where placer.id = ${rule['placedBy']} and placer.role = 'superadmin'))`
    ),
    protocol: p.string().length(3).$type<Protocol>(),
    listenFrom: p.integer(),
    listenTo: p.integer(),
    targets: p.json().$type<readonly Target[]>(),
    // What it forwarded to, and listened on, before: the client may report their last bytes.
    formerTargets: p.json().$type<readonly Target[]>().nullable(),
    formerPorts: p.json().$type<readonly Ports[]>().nullable(),
    preferIpv6: p.boolean(),
    fields: p.json().$type<readonly string[]>(), // keys of its fields: all must be loaded for a push
    paused: p.boolean().default(false),
    before: p.json().$type<Before>().nullable(),
    // The ports that the agent last applied, while a move from them is not applied yet: both are reserved.
    movedFrom: p.integer().nullable(),
    movedTo: p.integer().nullable(),
    existing: p.string().length(5).$type<Existing>().nullable(), // of the changes that are not applied yet
    state: p.string().length(8).$type<State>(),
    stateReason: p.string().length(64).nullable(),
    createdAt: time(),
    updatedAt: time(),
    stateChangedAt: time(),
    activatedAt: time().nullable() // when it first became active; a rule that never did is not retried
  }
})
export type Rule = InferEntity<typeof Rule>

/** What records show, or need to know what to show. */
export const shownColumns = [
  ...(['clientId', 'owner', 'placedBy', 'protocol', 'listenFrom', 'listenTo', 'targets'] as const),
  ...(['preferIpv6', 'fields', 'paused', 'state', 'stateReason'] as const),
  ...(['createdAt', 'updatedAt', 'stateChangedAt'] as const)
]
export type ShownRule = Pick<Rule, 'id' | (typeof shownColumns)[number]>

/** A client that is to have a part of a whole, and cannot. */
export const RefusedMember = defineEntity({
  name: 'RefusedPart',
  tableName: 'rules_refused_part',
  properties: {
    parent: p.string().length(26).primary(),
    clientId: p.string().length(26).primary().index('rules_refused_part_client_id_index'),
    code: p.string().length(64) // of the refusal
  }
})

export type RefusedMember = InferEntity<typeof RefusedMember>

/** The value of a field that has no table of its own. It is deleted with its rule. */
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

/** The client of a whole: a rule that has a part on each of its clients. It is on no agent itself. */
export const noClient = ''

/** Leaves out wholes. */
export const onClients = { clientId: { $ne: noClient } }

export const isGroupRule = ({ clientId }: Pick<Rule, 'clientId'>): boolean => clientId === noClient

/** Nothing of the rule waits for its agent. */
export const nothingPending = { before: null, movedFrom: null, movedTo: null, existing: null } as const

/** Primary key for the table of a field: the rule's id. The row is deleted with the rule. */
export const ruleKey = () => p.oneToOne(Rule).mapToPk().owner().primary().deleteRule('cascade')
