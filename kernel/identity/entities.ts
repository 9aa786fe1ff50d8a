import { defineEntity, type InferEntity, p } from '@mikro-orm/core'

/** Each may do what those before it may, except that viewers change only their own account. */
export type Role = 'user' | 'viewer' | 'operator' | 'superadmin'

const time = () => p.bigint('number') // ms since 1970, UTC

export const User = defineEntity({
  name: 'User',
  tableName: 'kernel_user',
  properties: {
    id: p.string().length(32).primary(),
    displayName: p.string().length(64),
    role: p.string().length(10).$type<Role>(),
    disabled: p.boolean(),
    kind: p.string().length(8).$type<'user' | 'service'>().default('user'), // a service account has tokens, but no sign-in
    createdAt: time()
  }
})
export type User = InferEntity<typeof User>

/** A bearer token. There is no foreign key: code that deletes a user deletes the tokens. */
export const Credential = defineEntity({
  name: 'Credential',
  tableName: 'kernel_credential',
  properties: {
    id: p.string().length(26).primary(),
    userId: p.string().length(32).index('kernel_credential_user_id_index'),
    label: p.string().length(255),
    tokenHash: p.string().length(64).unique('kernel_credential_token_hash_unique'),
    createdAt: time(),
    lastUsedAt: time().nullable(),
    lastUsedFrom: p.string().length(45).nullable(),
    expiresAt: time().nullable(),
    revokedAt: time().nullable(),
    scopes: p.text().nullable(), // separated by spaces; null: all
    allowedSources: p.text().nullable() // networks, separated by spaces; null: all
  }
})
export type Credential = InferEntity<typeof Credential>
export type Token = Pick<Credential, 'id' | 'lastUsedAt' | 'expiresAt' | 'scopes' | 'allowedSources'>

/** The record of an edge host. Its agent generates the token; the server stores only the hash. */
export const Client = defineEntity({
  name: 'Client',
  tableName: 'kernel_client',
  properties: {
    id: p.string().length(26).primary(),
    name: p.string().length(255).index('kernel_client_name_index'),
    address: p.string().length(255).nullable().index('kernel_client_address_index'),
    remoteAddr: p.string().length(64).nullable().index('kernel_client_remote_addr_index'), // of its agent, when last connected
    tokenHash: p.string().length(64).nullable().unique('kernel_client_token_hash_unique'),
    agentVersion: p.string().length(64).nullable(),
    capabilities: p.json().$type<Readonly<Record<string, string>> | null>().nullable(),
    revision: p.bigint('number'), // the last one used
    changed: p.bigint('number').defaultRaw('0').index('kernel_client_changed_index'), // sequence number of the last object change, which peer servers poll
    enrolledAt: time(),
    connectedAt: time().nullable(),
    lastSeenAt: time().nullable(),
    revokedAt: time().nullable()
  }
})
export type Client = InferEntity<typeof Client>

/** Hashes of former agent tokens, stored for 400 days to answer `token_revoked`. */
export const SpentToken = defineEntity({
  name: 'SpentToken',
  tableName: 'kernel_spent_token',
  properties: { hash: p.string().length(64).primary(), clientId: p.string().length(26), spentAt: time() }
})

export const ManagedObjectRow = defineEntity({
  name: 'ManagedObject',
  tableName: 'kernel_managed_object',
  indexes: [{ name: 'kernel_managed_object_client_id_revision_index', properties: ['clientId', 'revision'] }],
  properties: {
    clientId: p.string().length(26).primary(),
    kind: p.string().length(32).primary(),
    id: p.string().length(64).primary(),
    revision: p.bigint('number'),
    removal: p.string().length(5).$type<'drain' | 'cut'>().nullable()
  }
})

/** Key-value rows, such as 'generation': 32 hex digits that are new with each store and each restore. */
export const StoreValue = defineEntity({
  name: 'StoreValue',
  tableName: 'kernel_store_value',
  properties: { name: p.string().length(32).primary(), value: p.string().length(255) }
})
