import type { EntityManager } from '@mikro-orm/sql'
import { Type } from 'typebox'
import { Fault, invalidSchema, notFound, userDisabled, userNotFound } from '../../kernel/base/errors.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { busy, type Factors, invalidLogin, LoggedIn, type SignIn, stepRequired } from '../auth/exports.ts'
import type { Users } from '../users/exports.ts'
import type { Authenticators, Method } from './authenticators.ts'
import { invalidSecondFactor } from './codes.ts'
import { newRecoveryCodes } from './recovery-codes.ts'
import * as schemas from './schema.ts'
import { confirmAction, createAction, reauthenticateAction } from './session-rule.ts'
import { invalidFault, stepName } from './sign-in-step.ts'
import { otpauthUri } from './totp.ts'

/** The services that the routes use. */
export interface RouteDeps extends Kernel {
  readonly authenticators: Authenticators
  readonly signIn: SignIn
  readonly factors: Factors
  readonly users: Users
}

const create = defineRoute({
  method: 'POST',
  url: '/v1/users/me/totp',
  action: createAction,
  access: 'session',
  needsFresh: true,
  status: 201,
  summary: 'Makes the secret of a new authenticator app.',
  description: 'The app is in force once a code has confirmed it. An earlier app works until then.',
  secrets: ['secret', 'uri'],
  schema: () => ({ reply: schemas.Created, errors: [] }),
  async run({ authenticators }: RouteDeps, { principal: { userId }, requestInfo, change }) {
    const secret = await change({ kind: 'user', id: userId }, em => authenticators.begin(userId, em))
    const { host } = new URL(requestInfo.ownOrigin)
    return { secret, uri: otpauthUri(secret, `${userId}@${host}`) }
  }
})

const confirm = defineRoute({
  method: 'POST',
  url: '/v1/users/me/totp/confirm',
  action: confirmAction,
  access: 'session',
  summary: 'Puts the new authenticator app in force, and returns ten recovery codes once.',
  description: 'Needs a code of the app. Recovery codes and secret of an earlier app end.',
  secrets: ['recovery_codes'],
  schema: () => ({
    body: schemas.ConfirmBody,
    reply: schemas.RecoveryCodes,
    errors: [invalidSecondFactor, notFound, busy]
  }),
  async run({ authenticators, signIn }: RouteDeps, call) {
    const { principal, body } = call
    const recoveryCodes = newRecoveryCodes()
    const given = { code: body.code, recoveryCodes }
    await signIn.reauthenticate(
      {
        factor: 'totp',
        refusal: invalidFault,
        verify: em => authenticators.confirm(principal.userId, given, em)
      },
      call
    )
    return { recovery_codes: recoveryCodes }
  }
})

const renew = defineRoute({
  method: 'POST',
  url: '/v1/users/me/totp/recovery-codes',
  action: 'second_factor.renew-codes',
  access: 'session',
  needsFresh: true,
  summary: 'Makes ten new recovery codes, and returns them once.',
  description: 'The earlier ones end.',
  secrets: ['recovery_codes'],
  schema: () => ({ reply: schemas.RecoveryCodes, errors: [notFound] }),
  async run({ authenticators }: RouteDeps, { principal: { userId }, change }) {
    const recoveryCodes = newRecoveryCodes()
    await change({ kind: 'user', id: userId }, em => authenticators.renew(userId, recoveryCodes, em))
    return { recovery_codes: recoveryCodes }
  }
})

const remove = defineRoute({
  method: 'DELETE',
  url: '/v1/users/me/totp',
  action: 'second_factor.delete',
  access: 'session',
  needsFresh: true,
  status: 204,
  summary: 'Removes your authenticator app and recovery codes.',
  schema: () => ({ reply: Type.Void(), errors: [notFound] }),
  run: ({ authenticators }: RouteDeps, { principal: { userId }, change }) =>
    change({ kind: 'user', id: userId }, em => authenticators.remove(userId, em))
})

const drop = defineRoute({
  method: 'DELETE',
  url: '/v1/users/:user_id/second-factors',
  action: 'second_factor.drop',
  access: 'superadmin',
  needsFresh: true,
  status: 204,
  summary: 'Removes all second factors of a user.',
  description: 'For a user who has lost them. Sessions stay; a reset of the password ends them.',
  schema: () => ({ params: schemas.UserParams, reply: Type.Void(), errors: [userNotFound] }),
  run: ({ factors, users }: RouteDeps, { params: { user_id: userId }, change }) =>
    change({ kind: 'user', id: userId }, async em => {
      await users.get(em, userId)
      await factors.drop(userId, em)
    })
})

const answer = defineRoute({
  method: 'POST',
  url: '/v1/auth/second-factor',
  action: 'auth.second-factor',
  access: 'public',
  summary: 'Answers the second factor of a login.',
  description:
    'A login of a user with a second factor is refused with `second_factor_required`; the details have the challenge. Send it with `code` or `recovery_code`, and with the `X-Svc-Session-Key` of the login. A challenge is valid for 5 minutes and 5 tries.',
  schema: () => ({
    body: schemas.AnswerBody,
    reply: LoggedIn,
    errors: [invalidSecondFactor, stepRequired, userDisabled, busy]
  }),
  async run({ signIn }: RouteDeps, call) {
    const { challenge, ...given } = call.body
    return signIn.answer(stepName, { challenge, ...answerIn(given) }, call)
  }
})

const reauthenticate = defineRoute({
  method: 'POST',
  url: '/v1/auth/reauthenticate',
  action: reauthenticateAction,
  access: 'session',
  status: 204,
  summary: 'Makes the session fresh for 15 minutes.',
  description: 'Needs one of password, code and recovery code. Changes of credentials need a fresh session.',
  schema: () => ({
    body: schemas.ReauthenticateBody,
    reply: Type.Void(),
    errors: [invalidLogin, invalidSecondFactor, busy]
  }),
  async run({ authenticators, signIn }: RouteDeps, call) {
    const { password, ...given } = call.body
    if (password !== undefined) return signIn.reauthenticate({ password }, call)
    const { method, answer } = answerIn(given)
    const { userId } = call.principal
    const verify = (em: EntityManager) => authenticators.verify(userId, method, answer, em)
    return signIn.reauthenticate({ factor: method, refusal: invalidFault, verify }, call)
  }
})

interface Given {
  readonly code?: string
  readonly recovery_code?: string
}

function answerIn({ code, recovery_code: recovery }: Given): { method: Method; answer: string } {
  if (code !== undefined) return { method: 'totp', answer: code }
  if (recovery !== undefined) return { method: 'recovery_code', answer: recovery }
  throw new Fault(invalidSchema, 'code or recovery_code is missing', {
    details: { field: '/code', reason: 'required' }
  })
}

export const routes = [create, confirm, renew, remove, drop, answer, reauthenticate]
