import { defineEntity, type InferEntity, p } from 'sluice/plugin'

/** One event for one endpoint: here from the event's transaction until it is delivered, or given up and deleted. */
export const Delivery = defineEntity({
  name: 'WebhooksDelivery',
  tableName: 'webhooks_delivery',
  indexes: [
    { name: 'webhooks_delivery_endpoint_dead_at_id_index', properties: ['endpoint', 'deadAt', 'id'] }
  ],
  properties: {
    id: p.string().length(26).primary(), // ascending: the order of delivery
    endpoint: p.string().length(32),
    event: p.string().length(32),
    body: p.text(), // as it is sent
    attempts: p.integer(),
    nextAt: p.bigint('number'), // ms
    error: p.string().length(255).nullable(), // of the last attempt
    createdAt: p.bigint('number'), // ms
    deadAt: p.bigint('number').nullable() // ms; given up
  }
})
export type Delivery = InferEntity<typeof Delivery>
