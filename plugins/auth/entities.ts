import { defineEntity, type InferEntity, p } from '@mikro-orm/core'

const time = () => p.bigint('number') // ms since 1970, UTC

/** A user without a row has no web login. */
export const Password = defineEntity({
  name: 'Password',
  tableName: 'auth_password',
  properties: {
    userId: p.string().length(32).primary(),
    hash: p.string().length(255), // Argon2id, with its parameters and salt
    changeRequired: p.boolean(),
    changedAt: time(),
    expiresAt: time().nullable() // null: permanent
  }
})
export type Password = InferEntity<typeof Password>

export const Session = defineEntity({
  name: 'Session',
  tableName: 'auth_session',
  properties: {
    id: p.string().length(26).primary(),
    userId: p.string().length(32).index('auth_session_user_id_index'),
    tokenHash: p.string().length(64).unique('auth_session_token_hash_unique'),
    keyHash: p.string().length(64).nullable(), // of X-Svc-Session-Key; null: not bound to a key
    remoteAddr: p.string().length(45),
    createdAt: time(),
    lastSeenAt: time(),
    method: p.string().length(16).default('session'), // how the user signed in: by password, or the method of a plugin
    factors: p.json().$type<readonly string[]>(), // that the user has proved, such as password and totp
    freshAt: time(), // of the last proof of a factor
    provider: p.string().length(32).nullable(), // that has signed the user in
    maxAgeSecs: p.integer().nullable(), // null: the longest of all sessions
    sidHash: p.string().length(64).nullable().index('auth_session_sid_hash_index') // SHA-256 of the provider's id of the session
  }
})
export type Session = InferEntity<typeof Session>

/** A user has signed in from this address. */
export const KnownAddress = defineEntity({
  name: 'KnownAddress',
  tableName: 'auth_known_address',
  properties: {
    id: p.string().length(64).primary(), // SHA-256 of user and network
    userId: p.string().length(32).index('auth_known_address_user_id_index'),
    usedAt: time() // of the last sign-in
  }
})
export type KnownAddress = InferEntity<typeof KnownAddress>

/** Recent failures of a key (throttle.ts), or resets of a user (reset-limit.ts), in the time of running-time.ts. */
export const Failures = defineEntity({
  name: 'Failures',
  tableName: 'auth_throttle',
  properties: {
    id: p.string().length(64).primary(), // SHA-256 of the key, which may contain submitted text of any length
    times: p.json().$type<readonly number[]>(), // within the window
    locks: p.integer(), // number of locks so far; each lasts longer
    lockedUntil: p.bigint('number'),
    updatedAt: p.bigint('number').index('auth_throttle_updated_at_index')
  }
})
export type Failures = InferEntity<typeof Failures>

/** A sign-in with the right password that waits for the answer to a further step. */
export const Ticket = defineEntity({
  name: 'SignInTicket',
  tableName: 'auth_ticket',
  properties: {
    id: p.string().length(64).primary(), // SHA-256 of the ticket
    userId: p.string().length(32).index('auth_ticket_user_id_index'),
    keyHash: p.string().length(64).nullable(), // of X-Svc-Session-Key at the password
    network: p.string().length(64), // of the caller who gave the password
    step: p.string().length(32),
    methods: p.json().$type<readonly string[]>(),
    passed: p.json().$type<readonly string[]>(), // earlier steps of this sign-in
    factors: p.json().$type<readonly string[]>(), // that the user has proved in it
    tries: p.integer(),
    expiresAt: p.bigint('number') // in the time of running-time.ts
  }
})
export type Ticket = InferEntity<typeof Ticket>
