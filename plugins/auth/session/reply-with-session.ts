import type { Call } from '../../../kernel/http/route.ts'
import type { NewLogin } from '../login.ts'
import type { LoggedIn } from '../schema.ts'
import { cookieName } from './session-cookie.ts'
import { maxAgeMs } from './sessions.ts'

/** Sets the cookie of a new session, and returns the reply of the login. */
export function replyWithSession(
  { token, changeRequired, isEnrollmentRequired }: NewLogin,
  { setCookie }: Pick<Call, 'setCookie'>
): LoggedIn {
  setCookie(cookieName, token, maxAgeMs / 1000)
  return {
    password_change_required: changeRequired,
    second_factor_enrollment_required: isEnrollmentRequired
  }
}
