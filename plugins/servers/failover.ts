// A store in PostgreSQL that has become another database, or an earlier state of itself, counts as restored: it gets a new
// generation, what was revoked is revoked again, and agents come again to be compared in full. Nothing is done before on it.
import type { EntityManager } from '@mikro-orm/sql'
import { reasonOf } from '../../kernel/base/errors.ts'
import type { ControlOptions } from '../../kernel/control/host.ts'
import { isUnfit } from '../../kernel/store/postgres/failures.ts'
import { revocationSlot } from '../../kernel/store/revocation.ts'
import { type Statement, type Watch, watchStore } from '../../kernel/store/sql/watch.ts'
import { readFact, writeFact } from './facts.ts'
import { openRevocationLog } from './revocation-log.ts'
import { beginGeneration, readGeneration } from './store-generation.ts'

interface Options extends Pick<ControlOptions, 'store' | 'log' | 'filled' | 'dataDir'> {
  readonly restored: () => void // called when the store has another generation
}

/** Opens the watch of the store. Returns a function that returns its generation. */
export async function openFailover(options: Options): Promise<() => string> {
  const { store, log, filled, dataDir, restored } = options
  const revocations = filled(revocationSlot).map(({ value }) => value)
  const kept = openRevocationLog(dataDir)
  const seen = async (em: EntityManager): Promise<number> => Number((await readFact(kept.fact, em)) ?? 0)
  let generation: string | null = null

  const watch: Watch = {
    async opened(cluster, em) {
      const known = await readFact('cluster', em)
      const lost = kept.after(await seen(em))
      const isRestored = lost.length > 0 || (cluster !== null && known !== null && cluster !== known)
      if (cluster !== null && cluster !== known) await writeFact('cluster', cluster, em)
      if (isRestored) await beginGeneration(revocations, em)
      for (const { number, statements } of lost) {
        for (const statement of statements) await repeat(statement, log, em)
        await writeFact(kept.fact, String(number), em)
      }
      const found = await readGeneration(em)
      return () => {
        const isNew = generation !== null && generation !== found // another server may have begun it
        generation = found
        if (isRestored || isNew) {
          const fields = { cluster, cluster_before: known, revoked_again: lost.length }
          log.warn('store.restored', 'the store is another database, or lacks what was acknowledged', fields)
        }
        if (isNew) restored()
      }
    },
    async revoked(statements, em) {
      const number = kept.next(await seen(em))
      await writeFact(kept.fact, String(number), em)
      return () => {
        try {
          kept.keep({ number, statements: [...statements] })
        } catch (error) {
          log.error('store.revocation_not_kept', reasonOf(error), { data_dir: dataDir })
        }
      }
    }
  }

  if (!(await store.read(em => watchStore(em, watch)))) generation = await store.change(readGeneration)
  return () => {
    if (generation === null) throw new TypeError('the store has not been looked at')
    return generation
  }
}

/** A statement of an older release may not fit the tables of this one: the others are repeated. */
async function repeat({ sql, values }: Statement, log: Options['log'], em: EntityManager): Promise<void> {
  try {
    await em.transactional(part => part.execute(sql, values, 'run'))
  } catch (error) {
    if (!isUnfit(error)) throw error
    log.error('store.revocation_not_repeated', reasonOf(error), { sql })
  }
}
