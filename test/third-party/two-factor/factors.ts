import type { auth, EntityManager, Kernel, Secrets, SignIn } from 'sluice/plugin'
import { Factor } from './entities.ts'
import { matchingStep, recoveryHash } from './totp.ts'

export interface Deps extends Kernel {
  readonly secrets: Secrets
  readonly signIn: SignIn
}

export const contextOf = (userId: string): string => `two_factor.secret ${userId}`

/** The step of the sign-in: users with an active factor need a code. */
export const step = ({ clock, secrets }: Pick<Deps, 'clock' | 'secrets'>): auth.SignInStep => ({
  name: 'two-factor',
  errors: [],
  prompts: {
    totp: { en: 'Code of your authenticator app', de: 'Code aus deiner Authenticator-App' },
    recovery_code: { en: 'Recovery code', de: 'Wiederherstellungscode' }
  },

  async demand({ userId }, _requestInfo, em) {
    const factor = await em.findOne(Factor, { userId, isActive: true })
    if (!factor) return null
    return { methods: factor.recovery.length > 0 ? ['totp', 'recovery_code'] : ['totp'] }
  },

  async verify({ method, answer }, { userId }, em) {
    const factor = await em.findOneOrFail(Factor, { userId })
    if (method === 'recovery_code') {
      const used = recoveryHash(answer)
      const recovery = factor.recovery.filter(hash => hash !== used)
      if (recovery.length === factor.recovery.length) return false
      await em.nativeUpdate(Factor, { userId }, { recovery })
      return true
    }
    return useCode(factor, answer, { clock, secrets }, em)
  }
})

interface Stored {
  readonly userId: string
  readonly secret: string
  readonly lastStep: number
}

/** Marks the code as used. Returns false for a wrong or used code. */
export async function useCode(
  { userId, secret, lastStep }: Stored,
  code: string,
  { clock, secrets }: Pick<Deps, 'clock' | 'secrets'>,
  em: EntityManager
): Promise<boolean> {
  const used = matchingStep(secrets.open(secret, contextOf(userId)), code.trim(), clock.now(), lastStep)
  if (used === null) return false
  return (await em.nativeUpdate(Factor, { userId, lastStep }, { lastStep: used })) === 1
}
