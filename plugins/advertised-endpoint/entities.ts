import { defineEntity, p } from '@mikro-orm/core'

/** One row at most: what the operator has set over the seed of the configuration. */
export const Override = defineEntity({
  name: 'AdvertisedEndpoint',
  tableName: 'advertised_endpoint',
  properties: {
    id: p.string().length(8).primary(), // 'override'
    endpoint: p.string().length(255),
    updatedAt: p.bigint('number')
  }
})
