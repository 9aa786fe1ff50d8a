import { defineEntity, type InferEntity, p } from '@mikro-orm/core'

const count = () => p.bigint('number')

/**
 * A series of samples for a pair of user and client, a user, a client, everything, a rule, or a target of a user. '*' stands
 * for all users or all clients; '' for no rule or no target.
 */
export const TrafficSeries = defineEntity({
  name: 'TrafficSeries',
  tableName: 'traffic_series',
  uniques: [{ name: 'traffic_series_key_unique', properties: ['userId', 'clientId', 'ruleId', 'target'] }],
  indexes: [
    { name: 'traffic_series_rule_id_index', properties: ['ruleId'], where: "rule_id <> ''" },
    { name: 'traffic_series_shown_id_index', properties: ['shownId'], where: "shown_id <> ''" }
  ],
  properties: {
    id: p.integer().primary(),
    userId: p.string().length(32),
    clientId: p.string().length(26),
    ruleId: p.string().length(26).default(''),
    shownId: p.string().length(26).default(''), // of the rule in the API: for a member, the id of its group rule
    target: p.string().length(264).default('')
  }
})
export type TrafficSeries = InferEntity<typeof TrafficSeries>

/** The counts of a minute or an hour. Rows without counts do not exist. */
export const TrafficSample = defineEntity({
  name: 'TrafficSample',
  tableName: 'traffic_sample',
  properties: {
    series: p.integer().primary(),
    spanSecs: p.integer().primary(), // 60 or 3600
    ts: p.integer().primary(), // its start, Unix seconds
    bytesIn: count(),
    bytesOut: count(),
    connections: count().defaultRaw('0'),
    refused: count().defaultRaw('0'),
    datagramsIn: count().defaultRaw('0'),
    datagramsOut: count().defaultRaw('0')
  }
})

/** Committed counts of a client that are not in the samples yet: see pending.ts. */
export const TrafficPending = defineEntity({
  name: 'TrafficPending',
  tableName: 'traffic_pending',
  properties: {
    clientId: p.string().length(26).primary(),
    id: p.string().length(26).primary(),
    body: p.text()
  }
})

/** A deleted rule, until its samples are deleted. */
export const TrafficRemovedRule = defineEntity({
  name: 'TrafficRemovedRule',
  tableName: 'traffic_removed_rule',
  properties: {
    ruleId: p.string().length(26).primary(),
    shownId: p.string().length(26),
    owner: p.string().length(32).index('traffic_removed_rule_owner_index'), // '': the user is deleted
    removedAt: p.bigint('number').index('traffic_removed_rule_removed_at_index') // ms
  }
})
export type TrafficRemovedRule = InferEntity<typeof TrafficRemovedRule>
