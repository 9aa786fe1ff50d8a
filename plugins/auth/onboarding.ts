import type { EntityManager } from '@mikro-orm/sql'
import type { Static } from 'typebox'
import { Fault } from '../../kernel/base/errors.ts'
import type { Call } from '../../kernel/http/route.ts'
import { User } from '../../kernel/identity/entities.ts'
import { superadmins } from '../../kernel/identity/identity.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Users } from '../users/exports.ts'
import { alreadyBootstrapped, setupTokenInvalid, setupTokenRequired } from './codes.ts'
import type { Setup } from './exports.ts'
import type { HashPool } from './password/hash-pool.ts'
import { refuseNew } from './password/password-strength.ts'
import type { Passwords } from './password/passwords.ts'
import type { OnboardBody, Onboarded } from './schema.ts'
import { openSetupToken } from './setup-token.ts'
import type { Attempts } from './throttle/attempts.ts'
import type { RunningTime } from './throttle/running-time.ts'

interface Deps extends Kernel {
  readonly users: Users
  readonly attempt: Attempts
  readonly hashPool: HashPool
  readonly passwords: Passwords
  readonly runningTime: RunningTime
}

/** Creates the first superadmin, who needs the setup token. */
export interface Onboarding extends Setup {
  /** True while there is no superadmin. */
  isRequired(): Promise<boolean>
  /** Makes and logs a setup token while there is no superadmin. */
  announce(): Promise<void>
  /** Creates the superadmin. Throws `already_bootstrapped`, or for a wrong token or an invalid body. */
  onboard(body: OnboardBody, call: Pick<Call, 'requestInfo' | 'change'>): Promise<Static<typeof Onboarded>>
}

export function openOnboarding(deps: Deps): Onboarding {
  const { log, identity, users, attempt, hashPool, passwords } = deps
  const token = openSetupToken(deps)

  const isRequired = async (): Promise<boolean> => !(await identity.isBootstrapped())

  async function announce(): Promise<void> {
    if (!(await isRequired())) return
    const secret = await token.make()
    // A warning, so that a higher log level does not hide it: nobody can sign in without it.
    log.warn('onboarding.setup_token', `onboarding setup token, valid for 30 minutes: ${secret}`)
  }

  async function refuseIfBootstrapped(): Promise<void> {
    if (!(await isRequired())) throw new Fault(alreadyBootstrapped, 'a superadmin exists; sign in')
  }

  async function verifyToken(setupToken: string, subject: string, remoteAddr: string): Promise<void> {
    if (setupToken === '')
      throw new Fault(setupTokenRequired, 'setup_token is missing; the server logged it at start')
    const isValid = await attempt({ action: 'onboarding', subject, remoteAddr }, async () => {
      await refuseIfBootstrapped() // another caller may have won the race; that is not a wrong guess
      return (await token.isValid(setupToken)) || null
    })
    if (!isValid)
      throw new Fault(
        setupTokenInvalid,
        'setup_token is wrong or expired; a restart of the server logs a new one'
      )
  }

  async function onboard(body: OnboardBody, { requestInfo, change }: Pick<Call, 'requestInfo' | 'change'>) {
    await refuseIfBootstrapped()
    await verifyToken(body.setup_token ?? '', body.user_id, requestInfo.remoteAddr)
    const { user_id: userId, display_name: displayName } = body
    const user = users.check({ userId, displayName, role: 'superadmin' })
    await refuseNew(body.password, body.password_confirm, user)
    const hash = await hashPool.run(argon => argon.hash(body.password))

    await change({ kind: 'user', id: user.userId }, async em => {
      if (await hasSuperadmin(em)) throw new Fault(alreadyBootstrapped, 'another caller was first; sign in')
      await users.insert(em, user)
      await passwords.set(em, user.userId, hash, 'permanent')
      await token.end(em)
    })
    return { user_id: user.userId, display_name: user.displayName, role: user.role }
  }

  return { isRequired, announce, takeToken: () => token.take(), onboard }
}

/** Call it in the transaction that creates a superadmin, so that only one of two concurrent calls succeeds. */
export const hasSuperadmin = async (em: EntityManager): Promise<boolean> =>
  (await em.count(User, superadmins)) > 0
