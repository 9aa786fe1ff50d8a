import type { EntityManager } from '@mikro-orm/sql'
import { defineSlot } from '../slot.ts'

export type Role = 'superadmin' | 'user'

export interface Principal {
  readonly userId: string
  readonly role: Role
  /** How the caller was authenticated. An authenticator of a plugin gives its own: [a-z0-9_], at most 16 characters. */
  readonly method: 'operator_token' | 'api_token' | 'session' | 'system' | 'none' | (string & {})
}

/** A request before authentication: nothing here is verified. */
export interface RequestInfo {
  readonly method: string
  readonly path: string // without the query
  readonly authorization: string | undefined
  readonly cookies: Readonly<Record<string, string | undefined>>
  readonly originHeader: string | undefined
  /** Scheme and authority of this server as the caller addressed it; no trailing slash. */
  readonly ownOrigin: string
  readonly csrfHeader: string | undefined
  readonly contentType: string | undefined
  readonly hasBody: boolean
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>> // names in lower case
  readonly peerAddr: string // of the connection: perhaps a proxy
  readonly remoteAddr: string // of the caller, told by `trusted_proxies` where the connection is from one
}

/** An authenticated caller, what it must still prove, and what it may not do. */
export interface AuthenticatedCaller {
  readonly principal: Principal
  /** For a credential that browsers send by themselves: the request needs a CSRF token, too. */
  readonly requires?: 'csrf'
  /** The only actions allowed; others are 403 `password_change_required`. */
  readonly allowedActions?: readonly string[]
  /** Makes the user of a first request, whom the principal already names. Not called inside a transaction. */
  admit?(): Promise<void>
  /** Stores that the credential was used. Not called inside a transaction. */
  touch?(): Promise<void>
}

/** Returns the caller, or null. Asked in the order of starts: the first result counts. Not called with Authorization. */
export type Authenticator = (request: RequestInfo, em: EntityManager) => Promise<AuthenticatedCaller | null>
export const authenticatorSlot = defineSlot<Authenticator>('kernel.authenticator')
