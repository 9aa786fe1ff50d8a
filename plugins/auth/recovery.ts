import { randomBytes } from 'node:crypto'
import { Fault } from '../../kernel/base/errors.ts'
import { newId } from '../../kernel/base/id.ts'
import { Credential, User } from '../../kernel/identity/entities.ts'
import { hashOf, newToken } from '../../kernel/identity/secret.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Users } from '../users/users.ts'
import { Session } from './entities.ts'
import type { Turn } from './hashing.ts'
import { alreadyBootstrapped, hasSuperadmin } from './onboarding.ts'
import type { Passwords } from './passwords.ts'

export const superadminId = '_superadmin'

interface Deps extends Kernel {
  readonly users: Users
  readonly turn: Turn
  readonly passwords: Passwords
}

export interface Reset {
  readonly user_id: string
  readonly temporary_password: string
  readonly sessions_revoked: number
  readonly api_tokens_revoked: number
}

export type Recovery = ReturnType<typeof openRecovery>

/** The ways in for whoever holds the data directory. Each secret is told once, to the caller. */
export function openRecovery({ store, clock, users, turn, passwords }: Deps) {
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

  async function reset(userId: string, apiTokens: 'keep' | 'revoke'): Promise<Reset> {
    await store.read(em => users.get(em, userId)) // before the hash
    const password = randomBytes(15).toString('base64url')
    const hash = await turn(argon => argon.hash(password))
    return store.change(async em => {
      await passwords.setTemporary(em, userId, hash)
      const sessions = await em.nativeDelete(Session, { userId })
      const tokens =
        apiTokens === 'keep'
          ? 0
          : await em.nativeUpdate(Credential, { userId, revokedAt: null }, { revokedAt: clock.now() })
      return {
        user_id: userId,
        temporary_password: password,
        sessions_revoked: sessions,
        api_tokens_revoked: tokens
      }
    })
  }

  return { bootstrap, reset }
}
