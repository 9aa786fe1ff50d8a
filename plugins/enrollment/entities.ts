import { defineEntity, type InferEntity, p } from '@mikro-orm/core'

/** A one-time code. It is kept for a while after it was used or expired, for an exact error message. */
export const Enrollment = defineEntity({
  name: 'Enrollment',
  tableName: 'enrollment',
  properties: {
    id: p.string().length(26).primary(),
    codeHash: p.string().length(64).unique('enrollment_code_hash_unique'),
    pin: p.string().length(64), // fingerprint of the certificate in its URI
    clientId: p.string().length(26).nullable().index('enrollment_client_id_index'), // null: redeem creates the client
    name: p.string().length(255),
    address: p.string().length(255).nullable(),
    fields: p.json().$type<Readonly<Record<string, unknown>>>().nullable(), // of the new client, by other plugins
    endpoint: p.string().length(255).nullable(), // null: the loopback fallback, to be resolved again at redeem
    createdBy: p.string().length(32),
    createdAt: p.bigint('number'),
    expiresAt: p.bigint('number'),
    usedAt: p.bigint('number').nullable(),
    tokenHash: p.string().length(64).nullable() // of the agent that redeemed it
  }
})
export type Enrollment = InferEntity<typeof Enrollment>

/** A key that enrolls several hosts. It stays until an operator deletes it, also when it is used up or has expired. */
export const EnrollmentKey = defineEntity({
  name: 'EnrollmentKey',
  tableName: 'enrollment_key',
  properties: {
    id: p.string().length(26).primary(),
    keyHash: p.string().length(64).unique('enrollment_key_key_hash_unique'),
    pin: p.string().length(64), // fingerprint of the certificate in its URI
    label: p.string().length(255),
    maxUses: p.integer().nullable(), // null: no limit
    used: p.integer(),
    isAddressAuto: p.boolean(), // a client gets the address that the server sees
    isApprovalNeeded: p.boolean(), // a client is pending until an operator approves it
    ephemeralSecs: p.integer().nullable(),
    fields: p.json().$type<Readonly<Record<string, unknown>>>().nullable(), // of new clients, by other plugins
    createdBy: p.string().length(32),
    createdAt: p.bigint('number'),
    expiresAt: p.bigint('number').nullable() // null: never
  }
})
export type EnrollmentKey = InferEntity<typeof EnrollmentKey>
