import type { EntityManager } from '@mikro-orm/sql'
import type { Role, Token } from '../identity/entities.ts'
import { defineSlot } from '../slot.ts'

export type { Role }

export interface Principal {
  readonly userId: string
  readonly role: Role
  /** How the caller was authenticated. Plugins add methods: [a-z0-9_], at most 16 characters. */
  readonly method: 'operator_token' | 'api_token' | 'session' | 'system' | 'none' | (string & {})
  readonly token?: Token // of 'api_token'
}

/** A request before authentication. Nothing here is verified. */
export interface RequestInfo {
  readonly method: string
  readonly path: string // without the query
  readonly authorization: string | undefined
  readonly cookies: Readonly<Record<string, string | undefined>>
  readonly originHeader: string | undefined
  readonly ownOrigin: string // scheme and authority of this server as the caller addressed it, without a trailing slash
  readonly csrfHeader: string | undefined
  readonly contentType: string | undefined
  readonly hasBody: boolean
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>> // names in lower case
  readonly peerAddr: string // of the connection, perhaps a proxy
  readonly remoteAddr: string // of the caller, as reported by a proxy in `trusted_proxies`
}

/** An authenticated caller, with further requirements and limits. */
export interface AuthenticatedCaller {
  readonly principal: Principal
  readonly requires?: 'csrf' // browsers send the credential automatically, so the request also needs a CSRF token
  readonly allowedActions?: readonly string[] // others are 403 `password_change_required`
  readonly enrollmentActions?: readonly string[] // others are 403 `second_factor_enrollment_required`
  readonly freshUntil?: number // by Clock.steady; from then on, routes with `needsFresh` are 403 `reauthentication_required`
  /** Creates the user at the first request; the principal already names it. Not called inside a transaction. */
  admit?(): Promise<void>
  /** Stores the use of the credential. Not called inside a transaction. */
  touch?(): Promise<void>
}

/** Returns the caller, or null. The first result in start order counts. Not called for requests with Authorization. */
export type Authenticator = (request: RequestInfo, em: EntityManager) => Promise<AuthenticatedCaller | null>
export const authenticatorSlot = defineSlot<Authenticator>('kernel.authenticator')
