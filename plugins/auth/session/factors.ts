import type { EntityManager } from '@mikro-orm/sql'
import type { Kernel } from '../../../kernel/plugin.ts'
import { defineSlot } from '../../../kernel/slot.ts'

/** Second factors of users, such as an authenticator app. The service `factors` has those of all plugins. */
export interface Factors {
  /** Returns the factors of each user, such as `totp`; users without any are absent. */
  load(userIds: readonly string[], em: EntityManager): Promise<ReadonlyMap<string, readonly string[]>>
  /** True if the user has a factor. Called for each request of a session, so the answer should be remembered. */
  has(userId: string, em: EntityManager): Promise<boolean>
  /** Removes all factors of a user, for someone who has lost them. */
  drop(userId: string, em: EntityManager): Promise<void>
}

export const factorsSlot = defineSlot<Factors>('auth.factors')

export function openFactors({ filled }: Pick<Kernel, 'filled'>): Factors {
  return {
    async load(userIds, em) {
      const all = new Map<string, readonly string[]>()
      for (const { value } of filled(factorsSlot))
        for (const [userId, found] of await value.load(userIds, em))
          all.set(userId, [...(all.get(userId) ?? []), ...found])
      return all
    },
    async has(userId, em) {
      for (const { value } of filled(factorsSlot)) if (await value.has(userId, em)) return true
      return false
    },
    async drop(userId, em) {
      for (const { value } of filled(factorsSlot)) await value.drop(userId, em)
    }
  }
}
