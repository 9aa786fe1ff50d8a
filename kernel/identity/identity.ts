import type { EntityManager } from '@mikro-orm/sql'
import { type Clock, latest } from '../base/clock.ts'
import { Fault, unauthenticated, userDisabled } from '../base/errors.ts'
import type { AuthenticatedCaller } from '../http/principal.ts'
import type { Database } from '../store/open.ts'
import { Credential, type Token, User } from './entities.ts'
import { hashOf, isSame } from './secret.ts'

/** The built-in superadmin of `operator_token`. It is not stored, so onboarding stays open. */
export const operatorId = '_operator'
const operator = { userId: operatorId, role: 'superadmin', method: 'operator_token' } as const

export const superadmins = { role: 'superadmin', disabled: false, kind: 'user' } as const // who can sign in

type Judge = (token: Token) => boolean

export interface Identity {
  /** Authenticates an Authorization header. Inside a change, pass its `em`. Throws `unauthenticated`, also if `judge` returns false for the token, or `user_disabled`. */
  authenticate(authorization: string, judge: Judge, em?: EntityManager): Promise<AuthenticatedCaller>
  /** True once an enabled superadmin user exists; the operator token alone does not count. */
  isBootstrapped(): Promise<boolean>
}

interface Options {
  readonly store: Omit<Database, 'close'>
  readonly clock: Clock
  readonly operatorToken: string | null
}

type Bearer = Token & Pick<Credential, 'userId' | 'revokedAt'> & Pick<User, 'role' | 'disabled'>

/** Finds the owner of a token by its hash. */
async function findBearer(tokenHash: string, em: EntityManager): Promise<Bearer | null> {
  const [found] = await em.execute<Bearer[]>(
    `select credential.id, user_id as "userId", role, disabled, last_used_at as "lastUsedAt", expires_at as "expiresAt",
     revoked_at as "revokedAt", scopes, allowed_sources as "allowedSources" from kernel_credential credential
     join kernel_user own on own.id = user_id where token_hash = ?`,
    [tokenHash]
  )
  return found ? { ...found, disabled: Boolean(found.disabled) } : null // SQLite returns a number
}

export function openIdentity({ store, clock, operatorToken }: Options): Identity {
  let hasSuperadmin = false // the last superadmin cannot be removed
  const operatorHash = operatorToken === null ? null : hashOf(operatorToken)
  const bearerOf = store.remembered([Credential.meta.tableName, User.meta.tableName], findBearer)

  const authenticate: Identity['authenticate'] = async (authorization, judge, em) => {
    const [, token = ''] = /^Bearer +([\x21-\x7e]{1,512})$/i.exec(authorization) ?? []
    const hash = hashOf(token)
    if (operatorHash !== null && isSame(hash, operatorHash)) return { principal: operator }
    const bearer = await bearerOf(hash, em)
    const now = latest(clock)
    if (!bearer || bearer.revokedAt !== null || (bearer.expiresAt ?? now + 1) <= now || !judge(bearer))
      throw new Fault(unauthenticated, 'the bearer token is unknown, expired or revoked')
    const { userId, role } = bearer
    if (bearer.disabled) throw new Fault(userDisabled, `user ${userId} is disabled`)
    return { principal: { userId, role, method: 'api_token', token: bearer } }
  }

  async function isBootstrapped(): Promise<boolean> {
    hasSuperadmin ||= (await store.read(em => em.count(User, superadmins))) > 0
    return hasSuperadmin
  }

  return { authenticate, isBootstrapped }
}
