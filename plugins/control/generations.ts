// The generation of the store, within which revisions mean something. A restore makes another.
// A client whose agent claims a revision that the server cannot have given gets a generation of its own: its agent
// forgets all revisions, and everything is sent again.
import { randomBytes } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/sql'
import { hashOf } from '../../kernel/identity/secret.ts'
import type { Revocation } from '../../kernel/store/revocation.ts'
import { ClientGeneration } from './entities.ts'
import { factOf, setFact } from './facts.ts'

const hexDigits = 32
const newValue = (): string => randomBytes(hexDigits / 2).toString('hex')

/** Returns the generation of the store; makes it at the first start. */
export async function generationIn(em: EntityManager): Promise<string> {
  const found = await factOf('generation', em)
  if (found !== null) return found
  const value = newValue()
  await setFact('generation', value, em)
  return value
}

/**
 * Begins a generation in a store that was restored, so that agents do not compare revisions with those before, and revokes
 * what may have been used since. Returns the first one, which restores keep.
 */
export async function beginGeneration(
  revocations: readonly Revocation[],
  em: EntityManager
): Promise<string> {
  const lineage = (await factOf('lineage', em)) ?? (await factOf('generation', em)) ?? ''
  await setFact('lineage', lineage, em)
  await setFact('generation', newValue(), em)
  for (const { sql, isUnconditional } of revocations) if (isUnconditional) await em.execute(sql, [], 'run')
  return lineage
}

/** Derived from the store's generation, so that a restore changes it, too. */
export async function generationOf(clientId: string, ofStore: string, em: EntityManager): Promise<string> {
  const own = await em.findOne(ClientGeneration, { clientId })
  return own ? hashOf(`${ofStore} ${own.salt}`).slice(0, hexDigits) : ofStore
}

export async function renewGeneration(clientId: string, em: EntityManager): Promise<void> {
  await em.upsert(ClientGeneration, { clientId, salt: newValue() })
}
