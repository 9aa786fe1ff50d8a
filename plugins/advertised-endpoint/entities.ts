import { defineEntity, p } from '@mikro-orm/core'

/** At most one row: the operator's override of the configured endpoint. */
export const Override = defineEntity({
  name: 'AdvertisedEndpoint',
  tableName: 'advertised_endpoint',
  properties: {
    id: p.string().length(8).primary(), // 'override'
    endpoint: p.string().length(255),
    updatedAt: p.bigint('number')
  }
})
