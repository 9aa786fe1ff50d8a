import type { EntityManager } from '@mikro-orm/sql'
import { type Clock, latest } from '../base/clock.ts'
import { Fault, unauthenticated, userDisabled } from '../base/errors.ts'
import type { AuthenticatedCaller } from '../http/principal.ts'
import type { Database } from '../store/open.ts'
import { Credential, SpentToken, User } from './entities.ts'
import { hashOf, isSame } from './secret.ts'

/** The built-in superadmin of `operator_token`. It is not stored, so onboarding stays open. */
export const operatorId = '_operator'

export interface Identity {
  /** Authenticates an Authorization header. Inside a change, pass its `em`. Throws `unauthenticated` or `user_disabled`. */
  authenticate(authorization: string, em?: EntityManager): Promise<AuthenticatedCaller>
  /** True once an enabled superadmin user exists; the operator token alone does not count. */
  isBootstrapped(): Promise<boolean>
  /** Records a former agent token. Its use is answered with `token_revoked`. */
  recordSpentToken(em: EntityManager, clientId: string, tokenHash: string): Promise<void>
}

interface Options {
  readonly store: Omit<Database, 'close'>
  readonly clock: Clock
  readonly operatorToken: string | null
}

type Bearer = Omit<Credential, 'label' | 'tokenHash' | 'createdAt'> & Pick<User, 'role' | 'disabled'>

/** Finds the owner of a token by its hash. */
async function findBearer(tokenHash: string, em: EntityManager): Promise<Bearer | null> {
  const [found] = await em.execute<Bearer[]>(
    `select credential.id, user_id as "userId", role, disabled, last_used_at as "lastUsedAt", expires_at as "expiresAt",
     revoked_at as "revokedAt" from kernel_credential credential join kernel_user own on own.id = user_id
     where token_hash = ?`,
    [tokenHash]
  )
  return found ? { ...found, disabled: Boolean(found.disabled) } : null // SQLite returns a number
}

export function openIdentity({ store, clock, operatorToken }: Options): Identity {
  let hasSuperadmin = false // the last superadmin cannot be removed
  const operatorHash = operatorToken === null ? null : hashOf(operatorToken)
  const bearerOf = store.remembered([Credential.meta.tableName, User.meta.tableName], findBearer)

  const operator: AuthenticatedCaller = {
    principal: { userId: operatorId, role: 'superadmin', method: 'operator_token' }
  }

  async function authenticate(authorization: string, em?: EntityManager): Promise<AuthenticatedCaller> {
    const [, token = ''] = /^Bearer ([\x21-\x7e]{1,512})$/i.exec(authorization) ?? []
    const hash = hashOf(token)
    if (operatorHash !== null && isSame(hash, operatorHash)) return operator
    const bearer = await bearerOf(hash, em)
    const now = latest(clock)
    if (!bearer || bearer.revokedAt !== null || (bearer.expiresAt ?? now + 1) <= now)
      throw new Fault(unauthenticated, 'the bearer token is unknown, expired or revoked')
    const { userId, role } = bearer
    if (bearer.disabled) throw new Fault(userDisabled, `user ${userId} is disabled`)
    return { principal: { userId, role, method: 'api_token' }, touch: () => touch(bearer) }
  }

  /** Writes at most once a minute per token. */
  async function touch({ id, lastUsedAt }: Bearer): Promise<void> {
    const now = clock.now()
    if (Math.abs(now - (lastUsedAt ?? 0)) < 60_000) return
    await store.change(em => em.nativeUpdate(Credential, { id }, { lastUsedAt: now }))
  }

  async function isBootstrapped(): Promise<boolean> {
    hasSuperadmin ||= (await store.read(em => em.count(User, { role: 'superadmin', disabled: false }))) > 0
    return hasSuperadmin
  }

  return {
    authenticate,
    isBootstrapped,
    recordSpentToken: async (em, clientId, hash) =>
      void (await em.upsert(SpentToken, { hash, clientId, spentAt: clock.now() }))
  }
}
