import { Fault, userDisabled } from '../../../kernel/base/errors.ts'
import { afterCommit } from '../../../kernel/store/after-commit.ts'
import { refuseServiceAccount, type Users } from '../../users/exports.ts'
import { Session } from '../entities.ts'
import type { SignIn } from '../exports.ts'
import type { Keys } from '../password/password-policy.ts'
import type { AnswerStep } from '../steps/answer-step.ts'
import type { Reauthenticate } from './reauthenticate.ts'
import { replyWithSession } from './reply-with-session.ts'
import { cookieName, newKeyHash } from './session-cookie.ts'
import { maxAgeMs, type Sessions } from './sessions.ts'
import type { SignInCounts } from './sign-in-counts.ts'

interface Deps {
  readonly config: Keys
  readonly users: Users
  readonly sessions: Sessions
  readonly answerStep: AnswerStep
  readonly reauthenticate: Reauthenticate
  readonly signInCounts: SignInCounts
}

export function openSignIn(deps: Deps): SignIn {
  const { config, users, sessions, answerStep, reauthenticate, signInCounts } = deps
  return {
    async start(em, { userId, method, factors = [method], ...given }, { requestInfo, setCookie }) {
      if (!/^[a-z][a-z0-9_]{0,15}$/.test(method))
        throw new TypeError(`sign-in method ${method} does not match [a-z][a-z0-9_]{0,15}`)
      const user = await users.get(em, userId)
      refuseServiceAccount(user, userId)
      if (user.disabled) throw new Fault(userDisabled, `user ${userId} is disabled; ask a superadmin`)
      const { keyHash = newKeyHash(requestInfo), provider } = given
      const { remoteAddr } = requestInfo
      const session = { userId, remoteAddr, keyHash, method, factors, ...(provider && { provider }) }
      const token = await sessions.open(em, session)
      setCookie(cookieName, token, provider?.maxAgeSecs ?? maxAgeMs / 1000)
      afterCommit(em, () => signInCounts.count(method, 'ok'))
    },

    count: signInCounts.count,

    async answer(step, { challenge, ...given }, call) {
      return replyWithSession(await answerStep({ ticket: challenge, ...given }, call, step), call)
    },

    reauthenticate,
    hasPasswords: config.password_sign_in !== 'off',
    keyHash: requestInfo => newKeyHash(requestInfo),

    async current(em, requestInfo) {
      const session = await sessions.findCurrent(em, { requestInfo })
      const user = session && (await users.find(em, session.userId))
      return session && user && !user.disabled ? { sessionId: session.id, userId: user.id } : null
    },

    refresh: (em, sessionId, factor) => sessions.refreshOne(em, sessionId, factor),

    async end(em, call) {
      const current = await sessions.findCurrent(em, call)
      if (current) await em.nativeDelete(Session, { id: current.id })
      call.setCookie(cookieName, '', 'clear')
    },

    endAll: (em, userId) => sessions.endAll(em, userId),
    endOfProvider: (em, ended) => sessions.endOfProvider(em, ended)
  }
}
