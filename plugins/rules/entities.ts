import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { operatorId } from '../../kernel/identity/identity.ts'

const time = () => p.bigint('number') // ms since 1970, UTC

export type Protocol = 'tcp' | 'udp'
export type State = 'pending' | 'active' | 'failed' | 'draining'

export interface Target {
  readonly host: string
  readonly port: number
  readonly priority: number
}

/** The part of a rule that a replacement may change. */
export interface Definition {
  readonly placedBy: string
  readonly targets: readonly Target[]
  readonly preferIpv6: boolean
  readonly fields: readonly string[]
}

export interface DefinitionBefore {
  readonly rule: Definition
  readonly values: Readonly<Record<string, unknown>> // of its fields
}

export const Rule = defineEntity({
  name: 'Rule',
  tableName: 'rules',
  indexes: [{ name: 'rules_client_id_listen_from_index', properties: ['clientId', 'listenFrom'] }],
  properties: {
    id: p.string().length(26).primary(),
    clientId: p.string().length(26),
    owner: p.string().length(32).index('rules_owner_index'),
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
    formerTargets: p.json().$type<readonly Target[]>().nullable(), // the client may report their last bytes
    preferIpv6: p.boolean(),
    fields: p.json().$type<readonly string[]>(), // keys of its fields: all must be loaded for a push
    // The hot values that the agent last applied, while a change of them is not applied yet.
    valuesBefore: p.json().$type<Readonly<Record<string, unknown>>>().nullable(),
    // What the agent last applied, while a replacement of it is not applied yet.
    definitionBefore: p.json().$type<DefinitionBefore>().nullable(),
    state: p.string().length(8).$type<State>(),
    stateReason: p.string().length(64).nullable(),
    createdAt: time(),
    updatedAt: time(),
    stateChangedAt: time(),
    activatedAt: time().nullable() // when it first became active; a rule that never did is not retried
  }
})
export type Rule = InferEntity<typeof Rule>

/** Primary key for the table of a field: the rule's id. The row is deleted with the rule. */
export const ruleKey = () => p.oneToOne(Rule).mapToPk().owner().primary().deleteRule('cascade')
