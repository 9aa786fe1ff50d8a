import type { EntityManager } from '@mikro-orm/sql'
import type { Principal } from '../../kernel/http/principal.ts'

export { credentialTooBroad, invalidScopes } from './codes.ts'
export { refuseLongLabel } from './refuse-long-label.ts'
export { Label, Scope } from './schema.ts'

/** A credential to issue. */
interface TokenGrant {
  readonly label: string
  readonly scopes: readonly string[] | null // null: everything that the user may do; for a viewer `*:read`
  readonly mostMs: number // its lifetime, unless `credential_max_secs` is shorter
}

interface GrantedToken {
  readonly token: string // stored only as its hash
  readonly scopes: readonly string[] | null
  readonly createdAt: number
  readonly expiresAt: number
}

/** Has a session and no token: a new credential would have the limits of the token. */
type SignedInUser = Pick<Principal, 'userId' | 'role'>

/**
 * The service `tokenGrants`: issues credentials to signed-in users, for plugins that hand the token over later. Until then
 * the credential has no token. `em` is the transaction of a change.
 */
export interface TokenGrants {
  /** Returns the scopes, each once. Throws `validation.scopes`. */
  parseScopes(scopes: readonly string[] | null): readonly string[] | null
  /** Returns the id of the new credential. Throws `credential_too_broad` or `limit_reached`. */
  issue(em: EntityManager, to: SignedInUser, grant: TokenGrant): Promise<string>
  /** True while the credential has no token, and is neither revoked nor expired. */
  isPending(em: EntityManager, id: string): Promise<boolean>
  /** Makes the token of a pending credential. Returns null for another credential: the user has revoked or rotated it. */
  handOver(em: EntityManager, id: string): Promise<GrantedToken | null>
  /** Revokes a pending credential. Returns false for another one. */
  withdraw(em: EntityManager, id: string): Promise<boolean>
}
