import { defineEntity, p } from '@mikro-orm/core'

/** A request with an Idempotency-Key. Without a status, the change was made and its response is unknown. */
export const IdempotencyRecord = defineEntity({
  name: 'IdempotencyRecord',
  tableName: 'http_repeat',
  indexes: [{ name: 'http_repeat_principal_created_at_index', properties: ['principal', 'createdAt'] }],
  properties: {
    id: p.string().length(64).primary(), // SHA-256 of principal, method, path and key
    principal: p.string().length(32),
    bodyMac: p.string().length(64),
    resourceKind: p.string().length(32),
    resourceId: p.string().length(255),
    status: p.integer().nullable(),
    answer: p.text().nullable(), // the response body as JSON; null with a status if it contained a secret
    createdAt: p.bigint('number') // ms
  }
})
