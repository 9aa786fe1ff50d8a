import { Type } from 'typebox'
import { Fault, unauthenticated, userDisabled, userNotFound } from '../../kernel/base/errors.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { defineList, type MountedPlugins, reauthenticationRequired } from '../http/exports.ts'
import {
  invalidDisplayName,
  invalidUserId,
  reservedUserId,
  serviceAccount,
  userAlreadyExists
} from '../users/exports.ts'
import * as codes from './codes.ts'
import type { Setup, SignIn } from './exports.ts'
import type { Login } from './login.ts'
import type { Onboarding } from './onboarding.ts'
import type { Passwords } from './password/passwords.ts'
import type { Recovery } from './password/recovery.ts'
import * as schemas from './schema.ts'
import { isSignedIn } from './session/is-signed-in.ts'
import { providerLogoutAddress } from './session/provider-logout.ts'
import { replyWithSession } from './session/reply-with-session.ts'
import { logoutAction, passwordChangeAction, type Sessions } from './session/sessions.ts'
import type { AnswerStep } from './steps/answer-step.ts'
import { stepErrors } from './steps/steps.ts'

/** The services that the routes use. */
export interface RouteDeps extends Kernel {
  readonly login: Login
  readonly answerStep: AnswerStep
  readonly onboarding: Onboarding
  readonly passwords: Passwords
  readonly sessions: Sessions
  readonly signIn: SignIn
  readonly setup: Setup
  readonly recovery: Recovery
  readonly mountedPlugins: MountedPlugins
}

const newPassword = [codes.passwordTooShort, codes.passwordTooLong, codes.passwordTooWeak, codes.busy]
const onboardErrors = [
  codes.setupTokenRequired,
  codes.setupTokenInvalid,
  codes.alreadyBootstrapped,
  userAlreadyExists,
  invalidUserId,
  reservedUserId,
  invalidDisplayName,
  codes.passwordMismatch,
  ...newPassword
]
const passwordErrors = [
  codes.invalidLogin,
  codes.passwordMismatch,
  codes.passwordUnchanged,
  userNotFound,
  serviceAccount,
  ...newPassword
]
const resetErrors = [
  serviceAccount,
  codes.invalidPasswordReset,
  codes.passwordUnchanged,
  userNotFound,
  ...newPassword
]

const status = defineRoute({
  method: 'GET',
  url: '/v1/auth/status',
  action: 'auth.status',
  access: 'public',
  summary: 'Returns whether the first administrator must still be created, and whether a user is signed in.',
  schema: () => ({ reply: schemas.Status, errors: [] }),
  run: async (deps: RouteDeps, { requestInfo }) => ({
    onboarding_required: await deps.onboarding.isRequired(),
    signed_in: await isSignedIn(deps, requestInfo)
  })
})

const onboard = defineRoute({
  method: 'POST',
  url: '/v1/auth/onboarding',
  action: 'auth.onboard',
  access: 'public',
  status: 201,
  summary: 'Creates the first administrator.',
  description: 'Needs the setup token from the log of the server. Log in afterwards.',
  schema: () => ({ body: schemas.OnboardBody, reply: schemas.Onboarded, errors: onboardErrors }),
  run: ({ onboarding }: RouteDeps, call) => onboarding.onboard(call.body, call)
})

const login = defineRoute({
  method: 'POST',
  url: '/v1/auth/login',
  action: 'auth.login',
  access: 'public',
  summary: 'Opens a web session.',
  description:
    'Checks a password and sets the cookie `svc_session`. With `X-Svc-Session-Key`, the session accepts its cookie only together with the same header.',
  schema: filled => ({
    body: schemas.LoginBody,
    reply: schemas.LoggedIn,
    errors: [
      codes.invalidLogin,
      userDisabled,
      codes.passwordSignInOff,
      codes.busy,
      codes.stepRequired,
      ...stepErrors(filled)
    ]
  }),
  run: async ({ login }: RouteDeps, call) => replyWithSession(await login(call.body, call), call)
})

const step = defineRoute({
  method: 'POST',
  url: '/v1/auth/step',
  action: 'auth.step',
  access: 'public',
  summary: 'Answers a further step of a login.',
  description:
    'A login that needs one is refused with `step_required`, whose details have the ticket. The answer opens the session, or is refused with `step_required` for the next step. A ticket is valid for 5 minutes and 5 tries, with the `X-Svc-Session-Key` of the login.',
  schema: filled => ({
    body: schemas.StepBody,
    reply: schemas.LoggedIn,
    errors: [
      codes.stepRequired,
      codes.stepFailed,
      codes.stepExpired,
      userDisabled,
      codes.busy,
      ...stepErrors(filled)
    ]
  }),
  run: async ({ answerStep }: RouteDeps, call) => replyWithSession(await answerStep(call.body, call), call)
})

const logout = defineRoute({
  method: 'POST',
  url: '/v1/auth/logout',
  action: logoutAction,
  access: 'self',
  needsScope: false, // for a token, the answer is that it has no session
  status: 204,
  summary: 'Ends the web session of the cookie.',
  description: 'Replies with an address if the browser is to end its session at a provider, too.',
  schema: () => ({ reply: Type.Union([schemas.LoggedOut, Type.Null()]), errors: [] }),
  async run(deps: RouteDeps, call) {
    const { store, sessions, signIn } = deps
    const session = await store.read(em => sessions.findCurrent(em, call))
    if (!session)
      throw new Fault(unauthenticated, 'only a web session can log out; revoke a bearer token instead')
    await call.change({ kind: 'user', id: call.principal.userId }, em => signIn.end(em, call))
    const redirect = session.provider && (await providerLogoutAddress(deps, session.provider))
    return redirect ? { redirect } : null
  }
})

const changePassword = defineRoute({
  method: 'POST',
  url: '/v1/users/me/password',
  action: passwordChangeAction,
  access: 'self',
  status: 204,
  summary: 'Changes your own password.',
  description: 'Ends your other sessions.',
  schema: () => ({ body: schemas.ChangeBody, reply: Type.Void(), errors: passwordErrors }),
  run: ({ passwords }: RouteDeps, call) => passwords.changeOwn(call.body, call)
})

const resetPassword = defineRoute({
  method: 'POST',
  url: '/v1/users/:user_id/password',
  action: 'password.reset',
  access: 'superadmin',
  needsFresh: true,
  summary: 'Resets the password of a user.',
  description: 'Ends the sessions of the user and, without `keep_api_tokens`, revokes the bearer tokens.',
  secrets: ['temporary_password'],
  schema: () => ({
    params: schemas.UserParams,
    body: schemas.ResetBody,
    reply: schemas.ResetReply,
    errors: resetErrors
  }),
  run: ({ recovery }: RouteDeps, call) => recovery.resetBy(call.params.user_id, call.body, call)
})

const listSessions = defineList({
  url: '/v1/users/me/sessions',
  action: 'session.list',
  access: 'user',
  summary: 'Lists your own web sessions.',
  schema: () => ({ row: schemas.SessionRow, errors: [userNotFound] }),
  run: ({ sessions }: RouteDeps, call) => sessions.list(call)
})

const endSession = defineRoute({
  method: 'DELETE',
  url: '/v1/users/me/sessions/:session_id',
  action: 'session.end',
  access: 'self',
  status: 204,
  summary: 'Ends one of your own web sessions.',
  description: 'A session must be fresh to end another one.',
  schema: () => ({
    params: schemas.SessionParams,
    reply: Type.Void(),
    errors: [codes.sessionNotFound, userNotFound, reauthenticationRequired]
  }),
  run({ sessions }: RouteDeps, call) {
    const { session_id: id } = call.params
    return call.change({ kind: 'session', id }, em => sessions.end(em, id, call))
  }
})

export const routes = [
  status,
  onboard,
  login,
  step,
  logout,
  changePassword,
  resetPassword,
  listSessions,
  endSession
]
