// Addresses and browsers of earlier sign-ins. Their users can sign in during a lockout that others have caused.
import type { EntityManager } from '@mikro-orm/sql'
import { hashOf } from '../../../kernel/identity/secret.ts'
import { networkOf } from '../../../kernel/platform/network.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { KnownAddress } from '../entities.ts'

const maxPerUser = 40 // 20 sign-ins from browsers, each with an address

interface SignInPlace {
  readonly remoteAddr: string
  readonly keyHash: string | null // of the session key; null: not a browser of the console
}

export interface KnownAddresses {
  /** Records a sign-in. Forgets the addresses and browsers of the user beyond the latest 40. */
  record(em: EntityManager, userId: string, from: SignInPlace): Promise<void>
  /** True if the user has signed in from this address (IPv6: from its /64). */
  has(em: EntityManager, userId: string, remoteAddr: string): Promise<boolean>
  /** True if the user has signed in with this session key, which only the pages of one browser know. */
  hasBrowser(em: EntityManager, userId: string, keyHash: string | null): Promise<boolean>
  /** Forgets all addresses of a deleted user. */
  forget(em: EntityManager, userId: string): Promise<number>
}

export function openKnownAddresses({ clock }: Pick<Kernel, 'clock'>): KnownAddresses {
  return {
    async record(em, userId, { remoteAddr, keyHash }) {
      const usedAt = clock.steady()
      await em.upsert(KnownAddress, { id: idOf(userId, remoteAddr), userId, usedAt })
      if (keyHash !== null) await em.upsert(KnownAddress, { id: browserId(userId, keyHash), userId, usedAt })
      const latestFirst = { usedAt: 'desc', id: 'asc' } as const
      const page = { orderBy: latestFirst, offset: maxPerUser, limit: maxPerUser, fields: ['id'] as const }
      const excess = await em.find(KnownAddress, { userId }, page)
      if (excess.length > 0) await em.nativeDelete(KnownAddress, { id: excess.map(({ id }) => id) })
    },
    has: async (em, userId, remoteAddr) =>
      (await em.count(KnownAddress, { id: idOf(userId, remoteAddr) })) > 0,
    hasBrowser: async (em, userId, keyHash) =>
      keyHash !== null && (await em.count(KnownAddress, { id: browserId(userId, keyHash) })) > 0,
    forget: (em, userId) => em.nativeDelete(KnownAddress, { userId })
  }
}

const browserId = (userId: string, keyHash: string): string =>
  hashOf(JSON.stringify(['browser', userId, keyHash]))

const idOf = (userId: string, remoteAddr: string): string =>
  hashOf(JSON.stringify([userId, networkOf(remoteAddr)]))
