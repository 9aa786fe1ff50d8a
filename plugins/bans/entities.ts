import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { ruleKey } from '../rules/exports.ts'
import type { Ban as WireBan } from './wire.ts'

export const BanPolicy = defineEntity({
  name: 'BanPolicy',
  tableName: 'bans_policy',
  properties: {
    rule: ruleKey(),
    newConnections: p.integer().nullable(),
    failedHandshakes: p.integer().nullable(),
    withinSecs: p.integer(),
    forSecs: p.integer(),
    live: p.string().length(4).$type<WireBan['live']>()
  }
})
export type BanPolicy = InferEntity<typeof BanPolicy>

/** A ban on one client, whether in force, ended or lifted. */
export const Ban = defineEntity({
  name: 'Ban',
  tableName: 'bans_ban',
  indexes: [
    { name: 'bans_ban_client', properties: ['clientId', 'untilMs'] },
    { name: 'bans_ban_cause', properties: ['clientId', 'cause', 'isSent'] },
    { name: 'bans_ban_owner', properties: ['clientId', 'owner', 'id'] },
    { name: 'bans_ban_rule', properties: ['ruleId', 'id'] }
  ],
  properties: {
    id: p.string().length(26).primary(),
    clientId: p.string().length(26),
    ruleId: p.string().length(26), // '': all rules of the client
    owner: p.string().length(32), // of the rule that caused it; '': an operator made it
    source: p.string().length(64),
    cause: p.string().length(32).$type<WireBan['cause']>(),
    live: p.string().length(4).$type<WireBan['live']>(),
    times: p.integer(),
    reason: p.string().length(256).nullable(),
    madeBy: p.string().length(32).nullable(), // null: the agent
    fromMs: p.bigint('number'),
    untilMs: p.bigint('number'),
    liftedAt: p.bigint('number').nullable(),
    liftedBy: p.string().length(32).nullable(),
    isSent: p.boolean() // the agent has it or will get it
  }
})
export type Ban = InferEntity<typeof Ban>
