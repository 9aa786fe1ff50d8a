import { type Factors, logoutAction, passwordChangeAction, type SessionRule } from '../auth/exports.ts'
import { selfReadAction } from '../users/exports.ts'
import type { Keys } from './settings.ts'

const freshMs = 15 * 60_000

export const createAction = 'second_factor.create'
export const confirmAction = 'second_factor.confirm'
export const reauthenticateAction = 'auth.reauthenticate'

/** The only actions of a session of a provider until its user has proved the second factor. It must not replace the factor. */
const proofActions = [selfReadAction, logoutAction, reauthenticateAction]

/** The only actions of a session while its user needs a second factor and has none. */
const enrollmentActions = [...proofActions, passwordChangeAction, createAction, confirmAction]

/** Factors of a sign-in with a password. They meet the policy only as long as the user has a second one. */
const ofPassword = new Set(['password', 'totp', 'recovery_code'])

interface Deps {
  readonly config: Keys
  readonly factors: Factors
}

/** Limits sessions by the policy `second_factor`, and says how long they are fresh. */
export const sessionRule = ({ config, factors }: Deps): SessionRule => ({
  freshMs,
  async enrollmentActions({ userId, role, factors: proved }, em) {
    const { second_factor: policy } = config
    if (policy === 'optional' || (policy === 'superadmins' && role !== 'superadmin')) return null
    const others = proved.filter(factor => !ofPassword.has(factor))
    if (others.length >= 2) return null
    if (!(await factors.has(userId, em))) return enrollmentActions
    const isAsked = others.length === 0 || new Set(proved).size >= 2 // at the password, a step asks for the second factor
    return isAsked ? null : proofActions
  }
})
