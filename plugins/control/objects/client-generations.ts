// A client whose agent claims a revision that the server cannot have given gets a generation of its own: its agent
// forgets all revisions, and everything is sent again.
import type { EntityManager } from '@mikro-orm/sql'
import { hashOf } from '../../../kernel/identity/secret.ts'
import { generationDigits, newGeneration } from '../../servers/exports.ts'
import { ClientGeneration } from '../entities.ts'

/** Derived from the store's generation, so that a restore changes it, too. */
export async function generationOf(clientId: string, ofStore: string, em: EntityManager): Promise<string> {
  const own = await em.findOne(ClientGeneration, { clientId })
  return own ? hashOf(`${ofStore} ${own.salt}`).slice(0, generationDigits) : ofStore
}

export async function renewGeneration(clientId: string, em: EntityManager): Promise<void> {
  await em.upsert(ClientGeneration, { clientId, salt: newGeneration() })
}
