import { Fault, userDisabled } from '../../kernel/base/errors.ts'
import type { Call } from '../../kernel/http/route.ts'
import type { Users } from '../users/exports.ts'
import { invalidLogin } from './codes.ts'
import { Password } from './entities.ts'
import type { PasswordPolicy } from './password/password-policy.ts'
import type { Passwords } from './password/passwords.ts'
import type { LoginBody } from './schema.ts'
import { newKeyHash } from './session/session-cookie.ts'
import type { SignInCounts } from './session/sign-in-counts.ts'
import { changeSignIn, type Opened, type Refusal, type Steps } from './steps/steps.ts'
import type { Attempts } from './throttle/attempts.ts'

interface Deps {
  readonly users: Users
  readonly attempt: Attempts
  readonly passwords: Passwords
  readonly passwordPolicy: PasswordPolicy
  readonly steps: Steps
  readonly signInCounts: SignInCounts
}

/** Checks a password and opens a session. Throws `invalid_login`, `user_disabled`, or `step_required` for a further step. */
export type Login = (body: LoginBody, call: LoginCall) => Promise<NewLogin>
type LoginCall = Pick<Call, 'requestInfo' | 'change'>

export interface NewLogin extends Opened {
  readonly changeRequired: boolean // the password is temporary
}

export const openLogin =
  (deps: Deps): Login =>
  (body, call) =>
    deps.signInCounts.judged(() => logIn(deps, body, call))

async function logIn(
  { users, attempt, passwords, passwordPolicy, steps }: Deps,
  { user_id: userId, password }: LoginBody,
  call: LoginCall
): Promise<NewLogin | Refusal> {
  const { requestInfo } = call
  const { remoteAddr } = requestInfo
  const keyHash = newKeyHash(requestInfo) // refuses a malformed key before the attempt
  const verified = await attempt({ action: 'login', subject: userId, remoteAddr, keyHash }, async argon => {
    const row = await passwords.verify(argon, userId, password)
    return row && { row, rehashed: argon.isOutdated(row.hash) ? await argon.hash(password) : null }
  })
  if (!verified) throw new Fault(invalidLogin, 'no user with this user_id and password')
  const { row, rehashed } = verified

  const progress = await changeSignIn(call, userId, async em => {
    const user = await users.find(em, userId)
    const isUnchanged = await em.count(Password, { userId, hash: row.hash })
    if (!user || !isUnchanged)
      throw new Fault(invalidLogin, 'the password changed during the login; sign in with the new one')
    if (user.disabled) throw new Fault(userDisabled, `user ${userId} is disabled; ask a superadmin`)
    passwordPolicy.require(user)
    if (rehashed) await em.nativeUpdate(Password, { userId }, { hash: rehashed })
    return steps.proceed(em, { user, keyHash, requestInfo, passed: [], factors: ['password'] })
  })
  return 'refusal' in progress ? progress : { ...progress, changeRequired: row.changeRequired }
}
