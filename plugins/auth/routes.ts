import { Type } from 'typebox'
import { Fault, unauthenticated } from '../../kernel/base/errors.ts'
import { defineList } from '../../kernel/http/list-route.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { SignIn } from './exports.ts'
import type { Login } from './login.ts'
import type { Onboarding } from './onboarding.ts'
import type { Passwords } from './passwords.ts'
import type { Recovery } from './recovery.ts'
import * as schemas from './schema.ts'
import { cookieName, logoutAction, maxAgeMs, passwordChangeAction, type Sessions } from './sessions.ts'

/** The services that the routes use. */
export interface RouteDeps extends Kernel {
  readonly login: Login
  readonly onboarding: Onboarding
  readonly passwords: Passwords
  readonly sessions: Sessions
  readonly signIn: SignIn
  readonly recovery: Recovery
}

const status = defineRoute({
  method: 'GET',
  url: '/v1/auth/status',
  action: 'auth.status',
  access: 'public',
  summary: 'Tells whether the first administrator must still be created.',
  schema: () => ({ reply: schemas.Status }),
  run: async ({ onboarding }: RouteDeps) => ({ onboarding_required: await onboarding.isRequired() })
})

const onboard = defineRoute({
  method: 'POST',
  url: '/v1/auth/onboarding',
  action: 'auth.onboard',
  access: 'public',
  status: 201,
  summary: 'Creates the first administrator, with the setup token from the log.',
  schema: () => ({ body: schemas.OnboardBody, reply: schemas.Onboarded }),
  run: ({ onboarding }: RouteDeps, call) => onboarding.onboard(call.body, call)
})

const login = defineRoute({
  method: 'POST',
  url: '/v1/auth/login',
  action: 'auth.login',
  access: 'public',
  summary: 'Opens a web session: checks a password and sets the cookie svc_session.',
  schema: () => ({ body: schemas.LoginBody, reply: schemas.LoggedIn }),
  async run({ login }: RouteDeps, call) {
    const { token, changeRequired } = await login(call.body, call)
    call.setCookie(cookieName, token, maxAgeMs / 1000)
    return { password_change_required: changeRequired }
  }
})

const logout = defineRoute({
  method: 'POST',
  url: '/v1/auth/logout',
  action: logoutAction,
  access: 'user',
  status: 204,
  summary: 'Ends the web session of the cookie.',
  schema: () => ({ reply: Type.Void() }),
  async run({ sessions, signIn }: RouteDeps, call) {
    if (sessions.currentHash(call) === null)
      throw new Fault(unauthenticated, 'only a web session can log out; revoke a bearer token instead')
    await call.change({ kind: 'user', id: call.principal.userId }, em => signIn.end(em, call))
  }
})

const changePassword = defineRoute({
  method: 'POST',
  url: '/v1/users/me/password',
  action: passwordChangeAction,
  access: 'user',
  status: 204,
  summary: 'Changes your own password; your other sessions end.',
  schema: () => ({ body: schemas.ChangeBody, reply: Type.Void() }),
  run: ({ passwords }: RouteDeps, call) => passwords.changeOwn(call.body, call)
})

const resetPassword = defineRoute({
  method: 'POST',
  url: '/v1/users/:id/password',
  action: 'password.reset',
  access: 'superadmin',
  summary: 'Resets a password; sessions and, unless they are kept, bearer tokens end.',
  secrets: ['temporary_password'],
  schema: () => ({ params: schemas.UserParams, body: schemas.ResetBody, reply: schemas.ResetReply }),
  run: ({ recovery }: RouteDeps, call) => recovery.resetBy(call.params.id, call.body, call)
})

const listSessions = defineList({
  url: '/v1/users/me/sessions',
  action: 'session.list',
  access: 'user',
  summary: 'Lists your own web sessions.',
  schema: () => ({ row: schemas.SessionRow }),
  run: ({ sessions }: RouteDeps, call) => sessions.list(call)
})

const endSession = defineRoute({
  method: 'DELETE',
  url: '/v1/users/me/sessions/:id',
  action: 'session.end',
  access: 'user',
  status: 204,
  summary: 'Ends one of your own web sessions.',
  schema: () => ({ params: schemas.SessionParams, reply: Type.Void() }),
  run: ({ sessions }: RouteDeps, { params: { id }, principal, change }) =>
    change({ kind: 'session', id }, em => sessions.end(em, principal.userId, id))
})

export const routes = [
  status,
  onboard,
  login,
  logout,
  changePassword,
  resetPassword,
  listSessions,
  endSession
]
