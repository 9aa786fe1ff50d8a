import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import type { RateLimit } from './limits.ts'

/** Limits for all rules of an owner on a client together. Ids, not foreign keys: see lifecycle.ts. */
export const Envelope = defineEntity({
  name: 'RateLimitEnvelope',
  tableName: 'rate_limit_envelope',
  properties: {
    clientId: p.string().length(26).primary(),
    ownerId: p.string().length(32).primary().index('rate_limit_envelope_owner_id_index'),
    limits: p.json().$type<RateLimit>(),
    enforced: p.boolean().defaultRaw('false'), // as last reported by the agent
    createdAt: p.bigint('number'), // ms
    updatedAt: p.bigint('number')
  }
})
export type Envelope = InferEntity<typeof Envelope>
