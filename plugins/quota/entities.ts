import { defineEntity, type InferEntity, p } from '@mikro-orm/core'

/** One a pair of user and client; ids, not foreign keys: their plugins take quotas along by hand. */
export const Quota = defineEntity({
  name: 'Quota',
  tableName: 'quota',
  properties: {
    userId: p.string().length(32).primary(),
    clientId: p.string().length(26).primary().index('quota_client_id_index'),
    monthlyBytes: p.bigint('number'),
    anchor: p.bigint('number'), // Unix seconds
    periodStart: p.bigint('number'), // Unix seconds; of the period that the four below speak of
    used: p.bigint('number'), // booked in the period, in plus out; never changed by hand
    credit: p.bigint('number'), // of it, what is forgiven
    exhaustedAt: p.bigint('number').nullable(), // ms
    levelTold: p.integer().nullable(), // percent; the highest that was told of in the period
    holdSecs: p.integer(), // as the agent was told
    createdAt: p.bigint('number'), // ms
    updatedAt: p.bigint('number') // ms
  }
})
export type Quota = InferEntity<typeof Quota>
