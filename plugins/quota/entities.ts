import { defineEntity, type InferEntity, p } from '@mikro-orm/core'

/** One for each pair of user and client. Ids, not foreign keys: see lifecycle.ts. */
export const Quota = defineEntity({
  name: 'Quota',
  tableName: 'quota',
  properties: {
    userId: p.string().length(32).primary(),
    clientId: p.string().length(26).primary().index('quota_client_id_index'),
    monthlyBytes: p.bigint('number'),
    anchor: p.bigint('number'), // Unix seconds
    periodStart: p.bigint('number'), // Unix seconds; the four columns below belong to this period
    used: p.bigint('number'), // committed in the period, in plus out; only the ledger adds to it
    credit: p.bigint('number'), // the part of `used` that was cleared
    exhaustedAt: p.bigint('number').nullable(), // ms
    levelNotified: p.integer().nullable(), // percent; the highest level of the period that was notified
    holdSecs: p.integer(), // as sent to the agent
    enforced: p.boolean().defaultRaw('false'), // the agent has it in force, as last heard
    instanceId: p.string().length(64).nullable(), // the agent process that was connected last; null: none since it was made
    createdAt: p.bigint('number'), // ms
    updatedAt: p.bigint('number') // ms
  }
})
export type Quota = InferEntity<typeof Quota>
