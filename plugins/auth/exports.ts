import type { EntityManager } from '@mikro-orm/sql'
import type { ErrorCode } from '../../kernel/base/errors.ts'
import type { RequestInfo } from '../../kernel/http/principal.ts'
import type { Call } from '../../kernel/http/route.ts'
import type { LoggedIn } from './schema.ts'
import type { Proof, ReauthenticateCall } from './session/reauthenticate.ts'
import type { EndedAtProvider, SessionProvider } from './session/session-provider.ts'
import type { AnswerCall } from './steps/answer-step.ts'

export { busy, invalidLogin, stepRequired } from './codes.ts'
export { otherSignInSlot } from './password/password-policy.ts'
export { LoggedIn } from './schema.ts'
export { type Factors, factorsSlot } from './session/factors.ts'
export { type ProviderLogout, providerLogoutSlot } from './session/provider-logout.ts'
export type { FactorProof, Proof, ReauthenticateCall } from './session/reauthenticate.ts'
export { type SessionFacts, type SessionRule, sessionRuleSlot } from './session/session-rule.ts'
export { logoutAction, passwordChangeAction } from './session/sessions.ts'

export {
  type SignInStep,
  type StepAnswer,
  type StepDemand,
  type StepPrompt,
  type StepRoute,
  type StepUser,
  stepSlot
} from './steps/step-slot.ts'

/**
 * The service `signIn`: starts and ends sessions for plugins that verify a user in another way, such as OIDC or a passkey.
 * `em` is the transaction of the call's `change`. These sessions have the same limits as those of a password login.
 */
export interface SignIn {
  /**
   * Opens a session and sets its cookie. `method` names the plugin's way to sign in; the audit log shows it for each
   * request of the session. The session is bound to the key of `keyHash`, else to the header X-Svc-Session-Key of the call;
   * without both, its cookie alone is enough. Throws `user_not_found`, `user_disabled`, `service_account`, or
   * `validation.schema` for a malformed key. Counts the sign-in once it is committed.
   */
  start(em: EntityManager, user: SignedIn, call: SignInCall): Promise<void>
  /** Counts a sign-in without `start`, or a refused one, for the metric `svc_sign_ins_total`. */
  count(method: string, outcome: 'ok' | ErrorCode): void
  /**
   * Judges the answer to the plugin's own step, for its own route. Sets the cookie and returns the reply of the login, or
   * throws `failed` of the step's route, or the demand of the next step.
   */
  answer(step: string, given: ChallengeAnswer, call: AnswerCall & SignInCall): Promise<LoggedIn>
  /**
   * Judges another proof of the signed-in user, throttled. The session is then fresh, and has the factor. Throws
   * `invalid_login` for a wrong password, `unauthenticated` without a session of this plugin, or the proof's refusal.
   */
  reauthenticate(proof: Proof, call: ReauthenticateCall): Promise<void>
  /** False if nobody may sign in with a password. */
  readonly hasPasswords: boolean
  /** Returns the hash of the header X-Svc-Session-Key, or null without it. Throws `validation.schema` for a malformed key. */
  keyHash(requestInfo: RequestInfo): string | null
  /** Returns the session of a request, with its key if it is bound to one; null for none, and for a disabled user. */
  current(em: EntityManager, requestInfo: RequestInfo): Promise<CurrentSession | null>
  /** Records that the user of a session has proved the factor: the session is fresh. Returns false if it has ended. */
  refresh(em: EntityManager, sessionId: string, factor: string): Promise<boolean>
  /** Ends the caller's session, if the request presents its cookie and key, and clears the cookie. */
  end(em: EntityManager, call: SignInCall): Promise<void>
  /** Ends all sessions of the user, and sign-ins that wait for a step. Returns the number of sessions. */
  endAll(em: EntityManager, userId: string): Promise<number>
  /** Ends sessions that have ended at their provider: that with this `sid`, or all of the user there. Returns their number. */
  endOfProvider(em: EntityManager, ended: EndedAtProvider): Promise<number>
}

export interface CurrentSession {
  readonly sessionId: string
  readonly userId: string
}

export interface ChallengeAnswer {
  readonly challenge: string // in the details of `required`
  readonly method: string
  readonly answer: string
}

export interface SignedIn {
  readonly userId: string
  readonly method: string // [a-z][a-z0-9_]{0,15}
  readonly factors?: readonly string[] // that the user has proved; default: the method. Two meet the policy of second factors
  readonly keyHash?: string | null // of the page's key, if the call cannot have the header, as after a redirect; null: none
  readonly provider?: SessionProvider
}

export type SignInCall = Pick<Call, 'requestInfo' | 'setCookie'>

/** The service `setup`, for creating the first administrator. */
export interface Setup {
  /** Returns the setup token of this start once; null if it was already returned or an administrator exists. */
  takeToken(): string | null
}
