import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { type Counter, eachCounter } from '../../agent/wire/counters.ts'

const count = () => p.bigint('number')
const withDefault: readonly Counter[] = ['datagramsIn', 'datagramsOut', 'overflows']
const counts = () =>
  eachCounter(counter => (withDefault.includes(counter) ? count().defaultRaw('0') : count()))

/** The last reported state of an agent's journal row: totals within its epoch. Minutes and hours are pruned after two days. */
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

/** Committed counts over all epochs. Minutes and hours are added to kind 'rule'. */
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

/** The committed position of an epoch. */
export const StatsEpoch = defineEntity({
  name: 'StatsEpoch',
  tableName: 'stats_epoch',
  properties: {
    clientId: p.string().length(26).primary(),
    epoch: p.string().length(32).primary(),
    seq: p.bigint('number'),
    minute: p.bigint('number').defaultRaw('0'), // Unix seconds; the latest committed minute: earlier ones are complete
    completeSeq: p.bigint('number').defaultRaw('0'), // seq of the last complete report
    committedAt: p.bigint('number') // ms; when seq last increased
  }
})
export type StatsEpoch = InferEntity<typeof StatsEpoch>

/** The client and owner of a deleted rule: see rule-owners.ts. */
export const StatsRemovedRule = defineEntity({
  name: 'StatsRemovedRule',
  tableName: 'stats_removed_rule',
  properties: {
    ruleId: p.string().length(26).primary(),
    clientId: p.string().length(26).index('stats_removed_rule_client_id_index'),
    owner: p.string().length(32),
    isLast: p.boolean() // the agent has removed the rule; its next complete report is the last one with this rule
  }
})
