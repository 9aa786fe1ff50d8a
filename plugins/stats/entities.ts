import { defineEntity, type InferEntity, p } from '@mikro-orm/core'

const count = () => p.bigint('number')
const counts = () => ({
  bytesIn: count(),
  bytesOut: count(),
  datagramsIn: count().defaultRaw('0'),
  datagramsOut: count().defaultRaw('0'),
  connections: count(),
  dnsFailures: count(),
  failovers: count(),
  overflows: count().defaultRaw('0'),
  rejected: count()
})

/** A row of an agent's journal as last reported: absolute within its epoch. Whole minutes go after two days. */
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

/** What was booked of a rule over all epochs; minutes and hours are part of the kind 'rule'. */
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

/** How far a journal has been booked. */
export const StatsEpoch = defineEntity({
  name: 'StatsEpoch',
  tableName: 'stats_epoch',
  properties: {
    clientId: p.string().length(26).primary(),
    epoch: p.string().length(32).primary(),
    seq: p.bigint('number'),
    minute: p.bigint('number').defaultRaw('0'), // of what was booked last, Unix seconds: those before it are whole
    whole: p.bigint('number').defaultRaw('0'), // the seq of the complete report that was booked last
    bookedAt: p.bigint('number') // ms, of the last report that told anything new
  }
})

/** Whose a rule was that is gone: see holders.ts. */
export const StatsHolder = defineEntity({
  name: 'StatsHolder',
  tableName: 'stats_holder',
  properties: {
    ruleId: p.string().length(26).primary(),
    clientId: p.string().length(26).index('stats_holder_client_id_index'),
    owner: p.string().length(32),
    isLast: p.boolean() // the agent has it no more, and its next complete report is the last to name it
  }
})
