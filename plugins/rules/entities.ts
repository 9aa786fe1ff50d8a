import { defineEntity, type InferEntity, p } from '@mikro-orm/core'

const time = () => p.bigint('number') // ms since 1970, UTC

export type Protocol = 'tcp' | 'udp'
export type State = 'pending' | 'active' | 'failed' | 'draining'

export interface Target {
  readonly host: string
  readonly port: number
  readonly priority: number
}

export const Rule = defineEntity({
  name: 'Rule',
  tableName: 'rules',
  indexes: [{ name: 'rules_client_id_listen_from_index', properties: ['clientId', 'listenFrom'] }],
  properties: {
    id: p.string().length(26).primary(),
    clientId: p.string().length(26),
    owner: p.string().length(32).index('rules_owner_index'),
    placedBySuperadmin: p.boolean(), // `rules.admit` does not apply to such a rule
    protocol: p.string().length(3).$type<Protocol>(),
    listenFrom: p.integer(),
    listenTo: p.integer(),
    targets: p.json().$type<readonly Target[]>(),
    preferIpv6: p.boolean(),
    fields: p.json().$type<readonly string[]>(), // keys of its fields: all must be loaded for a push
    // The hot values that the agent last applied, while a change of them is not applied yet.
    valuesBefore: p.json().$type<Readonly<Record<string, unknown>>>().nullable(),
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
