import { randomBytes } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/sql'
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import { newId } from '../../kernel/base/id.ts'
import type { Call } from '../../kernel/http/route.ts'
import { Credential, User } from '../../kernel/identity/entities.ts'
import { hashOf, newToken } from '../../kernel/identity/secret.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Users } from '../users/exports.ts'
import type { HashPool } from './hash-pool.ts'
import { alreadyBootstrapped, hasSuperadmin } from './onboarding.ts'
import { type Passwords, refuseWeak } from './passwords.ts'
import type { ResetLimit } from './reset-limit.ts'
import type { ResetBody, ResetReply } from './schema.ts'
import type { Sessions } from './sessions.ts'
import type { Throttle } from './throttle.ts'

export const invalidPasswordReset = defineCode('invalid_password_reset', 422, 3)

export const superadminId = '_superadmin'

interface Deps extends Kernel {
  readonly users: Users
  readonly turn: HashPool
  readonly passwords: Passwords
  readonly sessions: Sessions
  readonly throttle: Throttle
  readonly resets: ResetLimit
}

interface Plan {
  readonly password: string | null // null: one is made, and told
  readonly lasts: 'temporary' | 'for good'
  readonly apiTokens: 'keep' | 'revoke'
}

export type Recovery = ReturnType<typeof openRecovery>

/** The ways back in: by a superadmin, and for whoever holds the data directory. Each secret is told once, to the caller. */
export function openRecovery({ store, clock, users, turn, passwords, sessions, throttle, resets }: Deps) {
  async function bootstrap(): Promise<{ user_id: string; token: string }> {
    const token = newToken()
    const now = clock.now()
    await store.change(async em => {
      if (await hasSuperadmin(em))
        throw new Fault(alreadyBootstrapped, 'a superadmin exists; reset-password gives it a new password')
      await em.insert(User, {
        id: superadminId,
        displayName: 'bootstrap superadmin',
        role: 'superadmin',
        disabled: false,
        createdAt: now
      })
      await em.insert(Credential, {
        id: newId(),
        userId: superadminId,
        label: 'bootstrap-superadmin',
        tokenHash: hashOf(token),
        createdAt: now,
        lastUsedAt: null,
        expiresAt: null,
        revokedAt: null
      })
    })
    return { user_id: superadminId, token }
  }

  /** All but the change itself: a hash is too dear for a transaction. */
  async function prepare(userId: string, { password, lasts, apiTokens }: Plan) {
    await store.read(em => users.get(em, userId)) // before the hash
    const chosen = password ?? randomBytes(15).toString('base64url')
    const hash = await turn(argon => argon.hash(chosen))
    return async (em: EntityManager): Promise<ResetReply> => {
      await users.get(em, userId) // may have gone since
      await (lasts === 'temporary' ? passwords.setTemporary : passwords.set)(em, userId, hash)
      const ended = await sessions.endAll(em, userId)
      const revoked =
        apiTokens === 'keep'
          ? 0
          : await em.nativeUpdate(Credential, { userId, revokedAt: null }, { revokedAt: clock.now() })
      return {
        user_id: userId,
        ...(password === null && { temporary_password: chosen }),
        sessions_revoked: ended,
        api_tokens_revoked: revoked
      }
    }
  }

  /** With the server stopped. */
  const reset = async (userId: string, apiTokens: Plan['apiTokens']): Promise<ResetReply> =>
    store.change(await prepare(userId, { password: null, lasts: 'temporary', apiTokens }))

  async function resetBy(
    userId: string,
    body: ResetBody,
    { requestInfo: { remoteAddr }, change }: Pick<Call, 'requestInfo' | 'change'>
  ): Promise<ResetReply> {
    const plan = planOf(body)
    await throttle.lookAt({ action: 'password', subject: userId, remoteAddr })
    await store.read(em => resets.look(em, userId))
    const work = await prepare(userId, plan)
    return change({ kind: 'user', id: userId }, async em => {
      await resets.take(em, userId)
      return work(em)
    })
  }

  return { bootstrap, reset, resetBy }
}

function planOf({ new_password: given, temporary = true, keep_api_tokens: keep }: ResetBody): Plan {
  if (given !== undefined) refuseWeak(given)
  else if (!temporary)
    throw new Fault(invalidPasswordReset, 'temporary: false needs a new_password; a made one is temporary')
  return {
    password: given ?? null,
    lasts: temporary ? 'temporary' : 'for good',
    apiTokens: keep ? 'keep' : 'revoke'
  }
}
