import type { EntityManager } from '@mikro-orm/sql'
import { Fault, notFound } from '../../kernel/base/errors.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { noteRevoked } from '../../kernel/store/sql/store-watch.ts'
import type { Factors } from '../auth/exports.ts'
import type { Secrets } from '../secrets/exports.ts'
import { RecoveryCode, Totp } from './entities.ts'
import { dropRecoveryCodes, replaceRecoveryCodes, useRecoveryCode } from './recovery-codes.ts'
import { matchingStep, newSecret } from './totp.ts'

/** How a user proves this factor; the first is offered first. */
export type Method = 'totp' | 'recovery_code'

/** The authenticator apps of users, with their recovery codes. `em` is the transaction of the change. */
export interface Authenticators extends Factors {
  /** Makes a secret that works once a code has confirmed it. An earlier app works until then. */
  begin(userId: string, em: EntityManager): Promise<string>
  /** Puts the new secret and the recovery codes in force. Returns false for a wrong code. Throws `not_found` without a secret. */
  confirm(
    userId: string,
    given: { code: string; recoveryCodes: readonly string[] },
    em: EntityManager
  ): Promise<boolean>
  /** Replaces the recovery codes. Throws `not_found` without an app. */
  renew(userId: string, recoveryCodes: readonly string[], em: EntityManager): Promise<void>
  /** Removes app and recovery codes. Throws `not_found` without an app. */
  remove(userId: string, em: EntityManager): Promise<void>
  /** Returns how the user can prove the factor; empty without an app. */
  methods(userId: string, em: EntityManager): Promise<readonly Method[]>
  /** Uses up a code. Returns false if it is wrong or was used. */
  verify(userId: string, method: Method, answer: string, em: EntityManager): Promise<boolean>
}

interface Deps extends Pick<Kernel, 'store' | 'clock'> {
  readonly secrets: Secrets
}

export function openAuthenticators({ store, clock, secrets }: Deps): Authenticators {
  /** Returns the step of a right code that was not used. */
  function stepOf(userId: string, sealed: string, code: string, after: number): number | null {
    const secret = secrets.open(sealed, contextOf(userId))
    return matchingStep(secret, code.replaceAll(/\s/g, ''), { now: clock.now(), after })
  }

  async function useCode(userId: string, code: string, em: EntityManager): Promise<boolean> {
    const row = await em.findOne(Totp, { userId })
    const step = row?.secret == null ? null : stepOf(userId, row.secret, code, row.lastStep)
    return step !== null && useStep(userId, step, em)
  }

  return {
    async begin(userId, em) {
      const secret = newSecret()
      const pendingSecret = await secrets.seal(secret, contextOf(userId), em)
      if ((await em.nativeUpdate(Totp, { userId }, { pendingSecret })) === 0)
        await em.insert(Totp, { userId, secret: null, pendingSecret, lastStep: 0 })
      return secret
    },

    async confirm(userId, { code, recoveryCodes }, em) {
      const row = await em.findOne(Totp, { userId })
      const sealed = row?.pendingSecret
      if (sealed == null)
        throw new Fault(notFound, `there is no new secret of ${userId}; begin with POST /v1/users/me/totp`)
      const step = stepOf(userId, sealed, code, 0)
      if (step === null) return false
      const sql =
        'update second_factor_totp set secret = ?, pending_secret = null, last_step = ? where user_id = ?'
      noteRevoked(em, sql, [sealed, step, userId]) // the replaced app
      await em.nativeUpdate(Totp, { userId }, { secret: sealed, pendingSecret: null, lastStep: step })
      await replaceRecoveryCodes(em, userId, recoveryCodes)
      return true
    },

    async renew(userId, recoveryCodes, em) {
      await requireApp(userId, em)
      await replaceRecoveryCodes(em, userId, recoveryCodes)
    },

    async remove(userId, em) {
      await requireApp(userId, em)
      await drop(userId, em)
    },

    verify: (userId, method, answer, em) =>
      method === 'totp' ? useCode(userId, answer, em) : useRecoveryCode(em, userId, answer),

    methods: methodsOf,
    load,
    has: store.remembered([Totp.meta.tableName], hasApp),
    drop
  }
}

/** Marks a step as used. Returns false if a concurrent request has used it. */
async function useStep(userId: string, step: number, em: EntityManager): Promise<boolean> {
  const sql = 'update second_factor_totp set last_step = ? where user_id = ? and last_step < ?'
  noteRevoked(em, sql, [step, userId, step])
  return (await em.nativeUpdate(Totp, { userId, lastStep: { $lt: step } }, { lastStep: step })) === 1
}

/** False for an app that no code has confirmed. */
const hasApp = async (userId: string, em: EntityManager): Promise<boolean> =>
  (await em.count(Totp, { userId, secret: { $ne: null } })) > 0

async function requireApp(userId: string, em: EntityManager): Promise<void> {
  if (!(await hasApp(userId, em)))
    throw new Fault(notFound, `${userId} has no authenticator app; set one up first`)
}

async function drop(userId: string, em: EntityManager): Promise<void> {
  noteRevoked(em, 'delete from second_factor_totp where user_id = ?', [userId])
  await em.nativeDelete(Totp, { userId })
  await dropRecoveryCodes(em, userId)
}

async function methodsOf(userId: string, em: EntityManager): Promise<readonly Method[]> {
  if (!(await hasApp(userId, em))) return []
  return (await em.count(RecoveryCode, { userId })) > 0 ? ['totp', 'recovery_code'] : ['totp']
}

const load: Factors['load'] = async (userIds, em) => {
  const confirmed = { userId: { $in: [...userIds] }, secret: { $ne: null } }
  const apps = await em.find(Totp, confirmed, { fields: ['userId'] })
  return new Map(apps.map(({ userId }) => [userId, ['totp']]))
}

const contextOf = (userId: string): string => `second_factor_totp.secret ${userId}`
