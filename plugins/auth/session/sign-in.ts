import { Fault, userDisabled } from '../../../kernel/base/errors.ts'
import type { Users } from '../../users/exports.ts'
import { Session } from '../entities.ts'
import type { SignIn } from '../exports.ts'
import { cookieName, newKeyHash } from './session-cookie.ts'
import { maxAgeMs, type Sessions } from './sessions.ts'

interface Deps {
  readonly users: Users
  readonly sessions: Sessions
}

export function openSignIn({ users, sessions }: Deps): SignIn {
  return {
    async start(em, { userId, method, sessionKey }, { requestInfo, setCookie }) {
      if (!/^[a-z][a-z0-9_]{0,15}$/.test(method))
        throw new TypeError(`sign-in method ${method} does not match [a-z][a-z0-9_]{0,15}`)
      const user = await users.get(em, userId)
      if (user.disabled) throw new Fault(userDisabled, `user ${userId} is disabled; ask a superadmin`)
      const keyHash = newKeyHash(requestInfo, sessionKey)
      const { remoteAddr } = requestInfo
      setCookie(cookieName, await sessions.open(em, { userId, remoteAddr, keyHash, method }), maxAgeMs / 1000)
    },

    async end(em, call) {
      const current = await sessions.findCurrent(em, call)
      if (current) await em.nativeDelete(Session, { id: current.id })
      call.setCookie(cookieName, '', 'clear')
    }
  }
}
