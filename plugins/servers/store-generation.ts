// The generation of the store. Revisions are comparable only within one; a restore begins another.
// Plain SQL, because commands begin one in a store without its entities.
import { randomBytes } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/sql'
import type { Revocation } from '../../kernel/store/revocation.ts'
import { readFact, writeFact } from './store-facts.ts'

export const generationDigits = 32
export const newGeneration = (): string => randomBytes(generationDigits / 2).toString('hex')

/** Returns the generation of the store. Makes one at the first start. */
export async function readGeneration(em: EntityManager): Promise<string> {
  const found = await readFact('generation', em)
  if (found !== null) return found
  const value = newGeneration()
  await writeFact('generation', value, em)
  return value
}

/**
 * Begins a generation in a restored store, so that agents do not compare their revisions with it, and runs unconditional
 * revocations. Returns the lineage: the first generation, which restores keep.
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
