// If an agent has an impossible revision, its client gets a separate generation: the agent forgets all revisions, and the
// server sends everything again.
import type { EntityManager } from '@mikro-orm/sql'
import { hashOf } from '../../../kernel/identity/secret.ts'
import { generationDigits, newGeneration } from '../../servers/exports.ts'
import { ClientGeneration } from '../entities.ts'

/** Returns the generation of the client. It is derived from the store's, so that a restore changes it, too. */
export async function generationOf(clientId: string, ofStore: string, em: EntityManager): Promise<string> {
  const own = await em.findOne(ClientGeneration, { clientId })
  return own ? hashOf(`${ofStore} ${own.salt}`).slice(0, generationDigits) : ofStore
}

export async function renewGeneration(clientId: string, em: EntityManager): Promise<void> {
  await em.upsert(ClientGeneration, { clientId, salt: newGeneration() })
}
