import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { type Counter, eachCounter } from '../../agent/wire/counters.ts'

const count = () => p.bigint('number')
const addedLater: readonly Counter[] = ['datagramsIn', 'datagramsOut', 'overflows'] // by migration 0002
const counts = () =>
  eachCounter(counter => (addedLater.includes(counter) ? count().defaultRaw('0') : count()))

/** A row of an agent's journal as last reported: totals within its epoch. Minutes and hours are kept for two days. */
export const StatsRow = defineEntity({
  name: 'StatsRow',
  tableName: 'stats_row',
  indexes: [{ name: 'stats_row_kind_key_index', properties: ['kind', 'key'] }],
  properties: {
    clientId: p.string().length(26).primary(),
    epoch: p.string().length(32).primary(),
    ruleId: p.string().length(26).primary(),
    kind: p.string().length(16).primary(),
    key: p.string().length(264).primary(),
    ...counts()
  }
})

/** Committed counts over all epochs; minutes and hours are added to the kind 'rule'. */
export const StatsTotal = defineEntity({
  name: 'StatsTotal',
  tableName: 'stats_total',
  properties: {
    ruleId: p.string().length(26).primary(),
    kind: p.string().length(16).primary(),
    key: p.string().length(264).primary(),
    clientId: p.string().length(26).index('stats_total_client_id_index'),
    owner: p.string().length(32).index('stats_total_owner_index'),
    ...counts(),
    updatedAt: p.bigint('number') // ms
  }
})
export type StatsTotal = InferEntity<typeof StatsTotal>

/** How far an epoch is committed. */
export const StatsEpoch = defineEntity({
  name: 'StatsEpoch',
  tableName: 'stats_epoch',
  properties: {
    clientId: p.string().length(26).primary(),
    epoch: p.string().length(32).primary(),
    seq: p.bigint('number'),
    minute: p.bigint('number').defaultRaw('0'), // the last committed one, Unix seconds: earlier ones are complete
    whole: p.bigint('number').defaultRaw('0'), // seq of the last complete report
    bookedAt: p.bigint('number') // ms, of the last report with a higher seq
  }
})
export type StatsEpoch = InferEntity<typeof StatsEpoch>

/** Client and owner of a deleted rule: see rule-owners.ts. */
export const StatsRemovedRule = defineEntity({
  name: 'StatsRemovedRule',
  tableName: 'stats_holder',
  properties: {
    ruleId: p.string().length(26).primary(),
    clientId: p.string().length(26).index('stats_holder_client_id_index'),
    owner: p.string().length(32),
    isLast: p.boolean() // the agent dropped it, and its next complete report is the last to include it
  }
})
