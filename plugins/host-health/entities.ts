import { defineEntity, p } from '@mikro-orm/core'

/** A minute of an edge host. */
export const HostHealthSample = defineEntity({
  name: 'HostHealthSample',
  tableName: 'host_health_sample',
  properties: {
    clientId: p.string().length(26).primary(),
    at: p.integer().primary().index('host_health_sample_at_index'), // Unix seconds of the server's clock: start of the minute
    cpuPercent: p.double().$type<number>(),
    memoryUsedBytes: p.bigint('number'),
    memoryTotalBytes: p.bigint('number'),
    openDescriptors: p.bigint('number').nullable(),
    rttMs: p.double().$type<number>().nullable()
  }
})
