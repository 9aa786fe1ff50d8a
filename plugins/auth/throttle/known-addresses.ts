// Users have signed in from these addresses before. They can sign in during a lockout of the address, which others may have caused.
import type { EntityManager } from '@mikro-orm/sql'
import { networkOf } from '../../../kernel/base/network.ts'
import { hashOf } from '../../../kernel/identity/secret.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { KnownAddress } from '../entities.ts'

const maxPerUser = 20

export interface KnownAddresses {
  /** Records a sign-in. Forgets the addresses of the user beyond the latest 20. */
  record(em: EntityManager, userId: string, remoteAddr: string): Promise<void>
  /** True if the user has signed in from this address (IPv6: from its /64). */
  has(em: EntityManager, userId: string, remoteAddr: string): Promise<boolean>
  /** Forgets all addresses of a deleted user. */
  forget(em: EntityManager, userId: string): Promise<number>
}

export function openKnownAddresses({ clock }: Pick<Kernel, 'clock'>): KnownAddresses {
  return {
    async record(em, userId, remoteAddr) {
      await em.upsert(KnownAddress, { id: idOf(userId, remoteAddr), userId, usedAt: clock.steady() })
      const latestFirst = { usedAt: 'desc', id: 'asc' } as const
      const page = { orderBy: latestFirst, offset: maxPerUser, limit: maxPerUser, fields: ['id'] as const }
      const excess = await em.find(KnownAddress, { userId }, page)
      if (excess.length > 0) await em.nativeDelete(KnownAddress, { id: excess.map(({ id }) => id) })
    },
    has: async (em, userId, remoteAddr) =>
      (await em.count(KnownAddress, { id: idOf(userId, remoteAddr) })) > 0,
    forget: (em, userId) => em.nativeDelete(KnownAddress, { userId })
  }
}

const idOf = (userId: string, remoteAddr: string): string =>
  hashOf(JSON.stringify([userId, networkOf(remoteAddr)]))
