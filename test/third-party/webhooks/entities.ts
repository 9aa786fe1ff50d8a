import { defineEntity, type InferEntity, p } from 'sluice/plugin'

/** An event for one endpoint. Deleted after delivery, by an operator, or as the oldest of too many dead letters. */
export const Delivery = defineEntity({
  name: 'WebhooksDelivery',
  tableName: 'webhooks_delivery',
  indexes: [
    { name: 'webhooks_delivery_endpoint_dead_at_id_index', properties: ['endpoint', 'deadAt', 'id'] }
  ],
  properties: {
    id: p.string().length(26).primary(), // ascending in the order of delivery
    endpoint: p.string().length(32),
    event: p.string().length(32),
    body: p.text(), // JSON of the delivery
    attempts: p.integer(),
    nextAt: p.bigint('number'), // ms
    error: p.string().length(255).nullable(), // of the last attempt, or the reason for giving up
    createdAt: p.bigint('number'), // ms
    deadAt: p.bigint('number').nullable() // ms; null unless it is a dead letter
  }
})
export type Delivery = InferEntity<typeof Delivery>
