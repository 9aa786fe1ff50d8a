import { defineEntity, type InferEntity, p } from 'sluice/plugin'

/** An event for one endpoint. It is deleted when it is delivered, forgotten, or the oldest of too many dead letters. */
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
    body: p.text(), // the JSON that is sent
    attempts: p.integer(),
    nextAt: p.bigint('number'), // ms
    error: p.string().length(255).nullable(), // of the last attempt, or why no more are made
    createdAt: p.bigint('number'), // ms
    deadAt: p.bigint('number').nullable() // ms; set when it became a dead letter
  }
})
export type Delivery = InferEntity<typeof Delivery>
