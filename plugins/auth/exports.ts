import type { EntityManager } from '@mikro-orm/sql'
import type { Call } from '../../kernel/http/route.ts'

/**
 * The service `signIn`: starts and ends sessions for plugins that verify a user in another way, such as OIDC or a passkey.
 * `em` is the transaction of the call's `change`. These sessions have the same limits as those of a password login.
 */
export interface SignIn {
  /**
   * Opens a session and sets its cookie. `method` names the plugin's way to sign in; the audit log shows it for each
   * request of the session. The session is bound to `sessionKey`, else to the header X-Svc-Session-Key of the call; without
   * both, its cookie alone is enough. Throws `user_not_found`, `user_disabled`, or `validation.schema` for a malformed key.
   */
  start(em: EntityManager, user: SignedIn, call: SignInCall): Promise<void>
  /** Ends the caller's session, if the request presents its cookie and key, and clears the cookie. */
  end(em: EntityManager, call: SignInCall): Promise<void>
}

export interface SignedIn {
  readonly userId: string
  readonly method: string // [a-z][a-z0-9_]{0,15}
  readonly sessionKey?: string // the page's key, if the call cannot have the header, as after a redirect
}

export type SignInCall = Pick<Call, 'requestInfo' | 'setCookie'>

/** The service `setup`, for creating the first administrator. */
export interface Setup {
  /** Returns the setup token of this start once; null if it was already returned or an administrator exists. */
  takeToken(): string | null
}
