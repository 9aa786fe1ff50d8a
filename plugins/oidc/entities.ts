import { defineEntity, type InferEntity, p } from '@mikro-orm/core'

const time = () => p.bigint('number') // ms since 1970, UTC

/** A user of a provider, who signs in as a user of sluice. */
export const Identity = defineEntity({
  name: 'OidcIdentity',
  tableName: 'oidc_identity',
  properties: {
    id: p.string().length(26).primary(),
    subjectHash: p.string().length(64).unique('oidc_identity_subject_hash_unique'), // SHA-256 of issuer and sub
    userId: p.string().length(32).index('oidc_identity_user_id_index'),
    provider: p.string().length(32), // its name when the identity was added
    issuer: p.string().length(512),
    sub: p.string().length(255),
    createdAt: time(),
    lastUsedAt: time().nullable()
  }
})
export type Identity = InferEntity<typeof Identity>

/** A state that a sign-in has used, or a logout token. */
export const UsedState = defineEntity({
  name: 'OidcUsedState',
  tableName: 'oidc_used_state',
  properties: {
    id: p.string().length(64).primary(), // SHA-256 of the state, or of the token's name
    network: p.string().length(64).index('oidc_used_state_network_index'), // of the caller; 'provider NAME' for a logout token
    expiresAt: time() // of the state or the record of the token
  }
})
