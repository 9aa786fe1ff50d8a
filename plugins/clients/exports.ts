import type { EntityManager } from '@mikro-orm/sql'
import type { Client } from '../../kernel/identity/entities.ts'
import { defineSlot } from '../../kernel/slot.ts'

export { clientIdOf, clientNameAmbiguous, pickClient } from './pick.ts'

/** Ids of clients that a user without the superadmin role may see; what the fillers name is united. */
export const visibleSlot =
  defineSlot<(userId: string, em: EntityManager) => Promise<readonly string[]>>('clients.visible')

/** What else ends when a client is revoked, in the same transaction. */
export const revokingSlot =
  defineSlot<(client: Client, em: EntityManager) => Promise<void>>('clients.revoking')

/** What else goes when a client is deleted, in the same transaction. */
export const removingSlot =
  defineSlot<(client: Client, em: EntityManager) => Promise<void>>('clients.removing')
