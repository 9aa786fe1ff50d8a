import type { EntityManager } from '@mikro-orm/sql'
import type { Call } from '../../kernel/http/route.ts'

/**
 * The service `signIn`: starts and ends sessions for plugins that verify a user in another way, such as OIDC or a passkey.
 * `em` is the transaction of the call's `change`. A session has the bounds of one that a password has opened.
 */
export interface SignIn {
  /**
   * Opens a session and sets its cookie. `method` is the plugin's own, as that of an authenticator; the session's requests
   * are audited with it. Throws `user_not_found` or `user_disabled`.
   */
  start(em: EntityManager, user: SignedIn, call: SignInCall): Promise<void>
  /** Ends the session of the caller's cookie, if there is one, and clears the cookie. */
  end(em: EntityManager, call: SignInCall): Promise<void>
}

export interface SignedIn {
  readonly userId: string
  readonly method: string // [a-z][a-z0-9_]{0,15}
}

export type SignInCall = Pick<Call, 'requestInfo' | 'setCookie'>

/** The service `setup`: what makes the first administrator. */
export interface Setup {
  /** Returns the setup token of this start, once; null: it was returned before, or there is an administrator. */
  takeToken(): string | null
}
