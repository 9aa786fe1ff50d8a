import { defineEntity, type InferEntity, p } from '@mikro-orm/core'

/** A series of samples for a pair, a user, a client, or everything. '*' stands for all users or all clients. */
export const TrafficSeries = defineEntity({
  name: 'TrafficSeries',
  tableName: 'traffic_series',
  uniques: [{ name: 'traffic_series_user_id_client_id_unique', properties: ['userId', 'clientId'] }],
  properties: { id: p.integer().primary(), userId: p.string().length(32), clientId: p.string().length(26) }
})
export type TrafficSeries = InferEntity<typeof TrafficSeries>

/** Bytes delivered in a minute or an hour. Rows without bytes do not exist. */
export const TrafficSample = defineEntity({
  name: 'TrafficSample',
  tableName: 'traffic_sample',
  properties: {
    series: p.integer().primary(),
    spanSecs: p.integer().primary(), // 60 or 3600
    ts: p.integer().primary(), // its start, Unix seconds
    bytesIn: p.bigint('number'),
    bytesOut: p.bigint('number')
  }
})
