import { randomBytes } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/sql'
import { Fault } from '../../../kernel/base/errors.ts'
import type { Call } from '../../../kernel/http/route.ts'
import { Credential, User } from '../../../kernel/identity/entities.ts'
import { hashOf, newToken } from '../../../kernel/identity/secret.ts'
import { newId } from '../../../kernel/platform/id.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { noteRevoked } from '../../../kernel/store/sql/store-watch.ts'
import { refuseServiceAccount, type Users } from '../../users/exports.ts'
import { alreadyBootstrapped, invalidPasswordReset } from '../codes.ts'
import { hasSuperadmin } from '../onboarding.ts'
import type { ResetBody, ResetReply } from '../schema.ts'
import type { Factors } from '../session/factors.ts'
import { keyHashIn } from '../session/session-cookie.ts'
import type { Sessions } from '../session/sessions.ts'
import type { ResetLimit } from '../throttle/reset-limit.ts'
import type { Throttle } from '../throttle/throttle.ts'
import type { HashPool } from './hash-pool.ts'
import { refuseLength, refuseWeak } from './password-strength.ts'
import { type Duration, type Passwords, passwordUnchangedFault } from './passwords.ts'

const superadminId = '_superadmin'

interface Deps extends Kernel {
  readonly users: Users
  readonly hashPool: HashPool
  readonly passwords: Passwords
  readonly sessions: Sessions
  readonly throttle: Throttle
  readonly resetLimit: ResetLimit
  readonly factors: Factors
}

interface ResetOptions {
  readonly newPassword: string | null // null: make a random one and return it
  readonly duration: Duration
  readonly apiTokens: 'keep' | 'revoke'
}

type ResetCall = Pick<Call, 'principal' | 'requestInfo' | 'change'>

/** Restores access, for superadmins and for the commands that work on the data directory. */
export interface Recovery {
  /** Creates the first superadmin and returns its bearer token. Throws `already_bootstrapped`. */
  bootstrap(): Promise<{ readonly user_id: string; readonly token: string }>
  /** Sets a temporary password, for the command `reset-password`; second factors are kept by default. */
  reset(
    userId: string,
    apiTokens: ResetOptions['apiTokens'],
    secondFactors?: 'keep' | 'drop'
  ): Promise<ResetReply>
  /** Resets a password for a superadmin. */
  resetBy(userId: string, body: ResetBody, call: ResetCall): Promise<ResetReply>
}

export function openRecovery(deps: Deps): Recovery {
  const { store, clock, users, factors, hashPool, passwords, sessions, throttle, resetLimit } = deps

  /** Hashes the password, which is slow, before the transaction. Returns the function to run in it. */
  async function prepare(userId: string, { newPassword, duration, apiTokens }: ResetOptions) {
    const user = await store.read(em => users.get(em, userId)) // do not hash for an unknown user
    refuseServiceAccount(user, userId)
    const { displayName } = user
    if (newPassword !== null) await refuseWeak(newPassword, { userId, displayName })
    const password = newPassword ?? randomBytes(15).toString('base64url')
    const hash = await hashPool.run(async argon => {
      if (newPassword !== null && (await passwords.verify(argon, userId, newPassword)))
        throw passwordUnchangedFault()
      return argon.hash(password)
    })
    return async (em: EntityManager): Promise<ResetReply> => {
      refuseServiceAccount(await users.get(em, userId), userId) // may have been deleted or replaced during the hash
      await passwords.set(em, userId, hash, duration)
      const sessionsRevoked = await sessions.endAll(em, userId)
      const tokensRevoked = apiTokens === 'keep' ? 0 : await revokeTokens(userId, clock.now(), em)
      return {
        user_id: userId,
        ...(newPassword === null && { temporary_password: password }),
        sessions_revoked: sessionsRevoked,
        api_tokens_revoked: tokensRevoked
      }
    }
  }

  async function reset(
    userId: string,
    apiTokens: ResetOptions['apiTokens'],
    secondFactors: 'keep' | 'drop' = 'keep'
  ): Promise<ResetReply> {
    const apply = await prepare(userId, { newPassword: null, duration: 'temporary', apiTokens })
    return store.change(async em => {
      if (secondFactors === 'drop') await factors.drop(userId, em)
      return apply(em)
    })
  }

  async function resetBy(
    userId: string,
    body: ResetBody,
    { principal, requestInfo, change }: ResetCall
  ): Promise<ResetReply> {
    const options = parseResetOptions(body)
    const { remoteAddr } = requestInfo
    const keyHash = keyHashIn(requestInfo)
    await throttle.checkAddress({ action: 'password', subject: principal.userId, remoteAddr, keyHash })
    await store.read(em => resetLimit.check(em, userId))
    const apply = await prepare(userId, options)
    return change({ kind: 'user', id: userId }, async em => {
      await resetLimit.record(em, userId)
      return apply(em)
    })
  }

  return { bootstrap: () => bootstrapSuperadmin(deps), reset, resetBy }
}

async function revokeTokens(userId: string, revokedAt: number, em: EntityManager): Promise<number> {
  noteRevoked(
    em,
    'update kernel_credential set revoked_at = ? where user_id = ? and revoked_at is null and created_at <= ?',
    [revokedAt, userId, revokedAt]
  )
  return em.nativeUpdate(Credential, { userId, revokedAt: null }, { revokedAt })
}

function parseResetOptions({ new_password, temporary = true, keep_api_tokens }: ResetBody): ResetOptions {
  if (new_password !== undefined)
    refuseLength(new_password) // before the user is looked up
  else if (!temporary)
    throw new Fault(
      invalidPasswordReset,
      'temporary: false needs a new_password; a random password is always temporary'
    )
  return {
    newPassword: new_password ?? null,
    duration: temporary ? 'temporary' : 'permanent',
    apiTokens: keep_api_tokens ? 'keep' : 'revoke'
  }
}

async function bootstrapSuperadmin({ store, clock }: Kernel) {
  const token = newToken()
  const createdAt = clock.now()
  await store.change(async em => {
    if (await hasSuperadmin(em))
      throw new Fault(alreadyBootstrapped, 'a superadmin exists; use reset-password to set a new password')
    await em.insert(User, {
      id: superadminId,
      displayName: 'bootstrap superadmin',
      role: 'superadmin',
      disabled: false,
      kind: 'user',
      createdAt
    })
    await em.insert(Credential, {
      id: newId(),
      userId: superadminId,
      label: 'bootstrap-superadmin',
      tokenHash: hashOf(token),
      createdAt,
      lastUsedAt: null,
      expiresAt: null,
      revokedAt: null
    })
  })
  return { user_id: superadminId, token }
}
