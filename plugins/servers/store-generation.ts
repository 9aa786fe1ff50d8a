// The generation of the store, within which revisions mean something. A restore makes another.
// As plain SQL: commands begin one in a store without its entities.
import { randomBytes } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/sql'
import type { Revocation } from '../../kernel/store/revocation.ts'
import { readFact, writeFact } from './facts.ts'

export const generationDigits = 32
export const newGeneration = (): string => randomBytes(generationDigits / 2).toString('hex')

/** Returns the generation of the store; makes it at the first start. */
export async function readGeneration(em: EntityManager): Promise<string> {
  const found = await readFact('generation', em)
  if (found !== null) return found
  const value = newGeneration()
  await writeFact('generation', value, em)
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
  const lineage = (await readFact('lineage', em)) ?? (await readFact('generation', em)) ?? ''
  await writeFact('lineage', lineage, em)
  await writeFact('generation', newGeneration(), em)
  for (const { sql, isUnconditional } of revocations) if (isUnconditional) await em.execute(sql, [], 'run')
  return lineage
}
