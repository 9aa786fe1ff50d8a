import { Fault } from '../../kernel/base/errors.ts'
import type { SignInStep } from '../auth/exports.ts'
import type { Authenticators, Method } from './authenticators.ts'
import { invalidSecondFactor, secondFactorRequired } from './codes.ts'

export const stepName = 'second-factor'

interface Deps {
  readonly authenticators: Authenticators
}

/** Demands a second factor after the right password, of users who have one. */
export const signInStep = ({ authenticators }: Deps): SignInStep => ({
  name: stepName,
  route: {
    url: 'POST /v1/auth/second-factor',
    required: secondFactorRequired,
    failed: invalidSecondFactor
  },
  errors: [secondFactorRequired],
  prompts: {
    totp: { en: 'Code of your authenticator app' },
    recovery_code: { en: 'Recovery code' }
  },
  async demand({ userId }, _requestInfo, em) {
    const methods = await authenticators.methods(userId, em)
    return methods.length > 0 ? { methods } : null
  },
  verify: ({ method, answer }, { userId }, em) => authenticators.verify(userId, method as Method, answer, em)
})

export const invalidFault = (): Fault =>
  new Fault(invalidSecondFactor, 'the code is wrong, or it was used before; wait for the next one')
