import type { EntityManager } from '@mikro-orm/sql'
import type { Clock } from '../base/clock.ts'
import { Fault, unauthenticated, userDisabled } from '../base/errors.ts'
import type { AuthenticatedCaller } from '../http/principal.ts'
import type { Database } from '../store/open.ts'
import { Credential, SpentToken, User } from './entities.ts'
import { hashOf, isSame } from './secret.ts'

/** The built-in superadmin of `operator_token`. It is not a stored user, so onboarding stays open. */
export const operatorId = '_operator'

export interface Identity {
  /** Takes the value of an Authorization header; throws 401 `unauthenticated` or `user_disabled`. */
  authenticate(authorization: string): Promise<AuthenticatedCaller>
  /** True once an enabled superadmin user exists; the operator token alone does not count. */
  isBootstrapped(): Promise<boolean>
  /** Remembers a former agent token: whoever uses it gets `token_revoked`. */
  recordSpentToken(em: EntityManager, clientId: string, tokenHash: string): Promise<void>
}

interface Options {
  readonly store: Pick<Database, 'read' | 'change'>
  readonly clock: Clock
  readonly operatorToken: string | null
}

export function openIdentity({ store, clock, operatorToken }: Options): Identity {
  let hasSuperadmin = false // the last superadmin cannot be removed

  const operator: AuthenticatedCaller = {
    principal: { userId: operatorId, role: 'superadmin', method: 'operator_token' }
  }

  async function authenticate(authorization: string): Promise<AuthenticatedCaller> {
    const [, token = ''] = /^Bearer ([\x21-\x7e]{1,512})$/i.exec(authorization) ?? []
    if (operatorToken !== null && token !== '' && isSame(token, operatorToken)) return operator
    const found = await store.read(async em => {
      const credential = await em.findOne(Credential, { tokenHash: hashOf(token) })
      return credential && { credential, user: await em.findOne(User, { id: credential.userId }) }
    })
    const now = clock.now()
    if (!found?.user || found.credential.revokedAt !== null || (found.credential.expiresAt ?? now + 1) <= now)
      throw new Fault(unauthenticated, 'the bearer token is not known here, has expired, or was revoked')
    if (found.user.disabled) throw new Fault(userDisabled, `user ${found.user.id} is disabled`)
    await touch(found.credential, now)
    return { principal: { userId: found.user.id, role: found.user.role, method: 'api_token' } }
  }

  /** Writes at most once a minute for each credential. */
  async function touch({ id, lastUsedAt }: Credential, now: number): Promise<void> {
    if (now - (lastUsedAt ?? 0) < 60_000) return
    await store.change(em => em.nativeUpdate(Credential, { id }, { lastUsedAt: now }))
  }

  async function isBootstrapped(): Promise<boolean> {
    hasSuperadmin ||= (await store.read(em => em.count(User, { role: 'superadmin', disabled: false }))) > 0
    return hasSuperadmin
  }

  async function recordSpentToken(em: EntityManager, clientId: string, hash: string): Promise<void> {
    await em.upsert(SpentToken, { hash, clientId, spentAt: clock.now() })
  }

  return { authenticate, isBootstrapped, recordSpentToken }
}
