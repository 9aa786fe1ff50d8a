import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { ruleKey } from '../rules/exports.ts'

const time = () => p.bigint('number') // ms since 1970, UTC

/** Client and user are ids without foreign keys: slot fills delete the grants of a deleted client or user. */
export const Grant = defineEntity({
  name: 'Grant',
  tableName: 'grants',
  properties: {
    id: p.string().length(26).primary(),
    userId: p.string().length(32).index('grants_user_id_index'),
    clientId: p.string().length(26).nullable().index('grants_client_id_index'), // null: every client
    use: p.string().length(6).default('listen').$type<'listen' | 'exit'>(),
    portFrom: p.integer(), // 0 for an exit grant, which has no ports
    portTo: p.integer(),
    protocols: p.json().$type<readonly ('tcp' | 'udp')[]>(),
    targets: p.json().$type<readonly string[] | null>().nullable(), // in the form of formatTarget; null: any
    entries: p.json().$type<readonly string[] | null>().nullable(), // of an exit grant: ids of clients, sorted; null: any
    note: p.string().length(255).nullable(),
    source: p.string().length(40).nullable(), // who gives the grant, such as 'oidc:corp'; null: given by hand
    createdAt: time()
  }
})
export type Grant = InferEntity<typeof Grant>

/** A rule that a source left without a covering grant. It stays closed until a grant covers it again. */
export const LostRule = defineEntity({
  name: 'GrantLostRule',
  tableName: 'grants_lost_rule',
  properties: {
    rule: ruleKey(),
    actor: p.string().length(32), // who removes the rule in the end
    lostAt: time().index('grants_lost_rule_lost_at_index')
  }
})
