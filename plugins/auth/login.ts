import { Fault, userDisabled } from '../../kernel/base/errors.ts'
import type { Call } from '../../kernel/http/route.ts'
import type { Users } from '../users/exports.ts'
import { invalidLogin } from './codes.ts'
import { Password } from './entities.ts'
import type { Passwords } from './password/passwords.ts'
import type { LoginBody } from './schema.ts'
import { newKeyHash } from './session/session-cookie.ts'
import type { Sessions } from './session/sessions.ts'
import type { Attempts } from './throttle/attempts.ts'

interface Deps {
  readonly users: Users
  readonly attempt: Attempts
  readonly passwords: Passwords
  readonly sessions: Sessions
}

/** Checks a password and opens a session. Throws `invalid_login` or `user_disabled`. */
export type Login = (body: LoginBody, call: Pick<Call, 'requestInfo' | 'change'>) => Promise<NewLogin>

interface NewLogin {
  readonly token: string // value of the session cookie
  readonly changeRequired: boolean // the password is temporary
}

export function openLogin({ users, attempt, passwords, sessions }: Deps): Login {
  return async ({ user_id: userId, password }, { requestInfo, change }) => {
    const { remoteAddr } = requestInfo
    const keyHash = newKeyHash(requestInfo) // refuses a malformed key before the attempt
    const verified = await attempt({ action: 'login', subject: userId, remoteAddr, keyHash }, async argon => {
      const row = await passwords.verify(argon, userId, password)
      return row && { row, rehashed: argon.isOutdated(row.hash) ? await argon.hash(password) : null }
    })
    if (!verified) throw new Fault(invalidLogin, 'no user with this user_id and password')
    const { row, rehashed } = verified

    const token = await change({ kind: 'user', id: userId }, async em => {
      const user = await users.find(em, userId)
      const isUnchanged = await em.count(Password, { userId, hash: row.hash })
      if (!user || !isUnchanged)
        throw new Fault(invalidLogin, 'the password changed during the login; sign in with the new one')
      if (user.disabled) throw new Fault(userDisabled, `user ${userId} is disabled; ask a superadmin`)
      if (rehashed) await em.nativeUpdate(Password, { userId }, { hash: rehashed })
      return sessions.open(em, { userId, remoteAddr, keyHash })
    })
    return { token, changeRequired: row.changeRequired }
  }
}
