import { Fault, userDisabled } from '../../kernel/base/errors.ts'
import type { Call } from '../../kernel/http/route.ts'
import type { Users } from '../users/exports.ts'
import type { Attempts } from './attempts.ts'
import { Password } from './entities.ts'
import { invalidLogin, type Passwords } from './passwords.ts'
import type { LoginBody } from './schema.ts'
import type { Sessions } from './sessions.ts'

interface Deps {
  readonly users: Users
  readonly attempt: Attempts
  readonly passwords: Passwords
  readonly sessions: Sessions
}

export interface LoggedIn {
  readonly token: string // the cookie's value
  readonly changeRequired: boolean
}

export type Login = ReturnType<typeof openLogin>

export function openLogin({ users, attempt, passwords, sessions }: Deps) {
  return async function login(
    { user_id: userId, password }: LoginBody,
    { requestInfo: { remoteAddr }, change }: Pick<Call, 'requestInfo' | 'change'>
  ): Promise<LoggedIn> {
    const right = await attempt({ action: 'login', subject: userId, remoteAddr }, async argon => {
      const row = await passwords.verify(argon, userId, password)
      return row && { row, stronger: argon.isOutdated(row.hash) ? await argon.hash(password) : null }
    })
    if (!right) throw new Fault(invalidLogin, 'no user with this user_id and password')
    const { row, stronger } = right

    const token = await change({ kind: 'user', id: userId }, async em => {
      const user = await users.find(em, userId)
      const isStill = await em.count(Password, { userId, hash: row.hash })
      if (!user || !isStill) throw new Fault(invalidLogin, 'the password has been changed meanwhile')
      if (user.disabled) throw new Fault(userDisabled, `user ${userId} is disabled; ask a superadmin`)
      if (stronger) await em.nativeUpdate(Password, { userId }, { hash: stronger })
      return sessions.open(em, userId, remoteAddr)
    })
    return { token, changeRequired: row.changeRequired }
  }
}
