import { Fault, userDisabled } from '../../kernel/base/errors.ts'
import type { Users } from '../users/exports.ts'
import { Session } from './entities.ts'
import type { SignIn } from './exports.ts'
import { cookieName, maxAgeMs, type Sessions } from './sessions.ts'

interface Deps {
  readonly users: Users
  readonly sessions: Sessions
}

export function openSignIn({ users, sessions }: Deps): SignIn {
  return {
    async start(em, { userId, method }, { requestInfo: { remoteAddr }, setCookie }) {
      if (!/^[a-z][a-z0-9_]{0,15}$/.test(method))
        throw new TypeError(`sign-in method ${method} does not match [a-z][a-z0-9_]{0,15}`)
      const user = await users.get(em, userId)
      if (user.disabled) throw new Fault(userDisabled, `user ${userId} is disabled; ask a superadmin`)
      setCookie(cookieName, await sessions.open(em, { userId, remoteAddr, method }), maxAgeMs / 1000)
    },

    async end(em, call) {
      const tokenHash = sessions.currentHash(call)
      if (tokenHash !== null) await em.nativeDelete(Session, { tokenHash })
      call.setCookie(cookieName, '', 'clear')
    }
  }
}
