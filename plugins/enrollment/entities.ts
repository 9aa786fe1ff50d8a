import { defineEntity, type InferEntity, p } from '@mikro-orm/core'

/** A one-time code. It stays a while after it was used or ran out, to tell a late agent which it was. */
export const Enrollment = defineEntity({
  name: 'Enrollment',
  tableName: 'enrollment',
  properties: {
    id: p.string().length(26).primary(),
    codeHash: p.string().length(64).unique('enrollment_code_hash_unique'),
    clientId: p.string().length(26).nullable().index('enrollment_client_id_index'), // null: made at redeem
    name: p.string().length(255),
    address: p.string().length(255).nullable(),
    endpoint: p.string().length(255).nullable(), // null: the loopback fallback, resolved again at redeem
    createdBy: p.string().length(32),
    createdAt: p.bigint('number'),
    expiresAt: p.bigint('number'),
    usedAt: p.bigint('number').nullable(),
    tokenHash: p.string().length(64).nullable() // of the agent that redeemed it
  }
})
export type Enrollment = InferEntity<typeof Enrollment>
