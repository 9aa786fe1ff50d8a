import { defineEntity, type InferEntity, p } from '@mikro-orm/core'

/** One row per user and client. Has ids instead of foreign keys: see lifecycle.ts. */
export const Quota = defineEntity({
  name: 'Quota',
  tableName: 'quota',
  properties: {
    userId: p.string().length(32).primary(),
    clientId: p.string().length(26).primary().index('quota_client_id_index'),
    monthlyBytes: p.bigint('number'),
    anchor: p.bigint('number'), // Unix seconds
    periodStart: p.bigint('number'), // Unix seconds; the next four columns and levelNotified belong to this period
    used: p.bigint('number'), // committed in the period, in plus out; only the ledger increases it
    credit: p.bigint('number'), // the cleared part of `used`
    exhaustedAt: p.bigint('number').nullable(), // ms
    levelNotified: p.integer().nullable(), // percent; the highest notified level of the period
    holdSecs: p.integer(), // as sent to the agent
    enforced: p.boolean().defaultRaw('false'), // whether the agent enforces it, by its last result
    instanceId: p.string().length(64).nullable(), // the last connected agent process; null: none since the quota was created
    createdAt: p.bigint('number'), // ms
    updatedAt: p.bigint('number') // ms
  }
})
export type Quota = InferEntity<typeof Quota>
