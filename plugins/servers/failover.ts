// A PostgreSQL store counts as restored if a connection leads to another database or an earlier state. Before anything else
// uses the connection, the store gets a new generation and the revocations of this server are repeated. Agents reconnect.
import type { EntityManager } from '@mikro-orm/sql'
import { reasonOf } from '../../kernel/base/errors.ts'
import type { ControlOptions } from '../../kernel/control/host.ts'
import { isUnfit } from '../../kernel/store/postgres/failures.ts'
import { revocationSlot } from '../../kernel/store/revocation.ts'
import { type Statement, type Watch, watchStore } from '../../kernel/store/sql/store-watch.ts'
import { openRevocationLog } from './revocation-log.ts'
import { readFact, writeFact } from './store-facts.ts'
import { beginGeneration, readGeneration } from './store-generation.ts'

interface Options extends Pick<ControlOptions, 'store' | 'log' | 'filled' | 'dataDir'> {
  readonly restored: () => void // called when the generation of the store changes
}

/** Watches the store. Returns a function that returns its generation. */
export async function openFailover(options: Options): Promise<() => string> {
  const { store, log, filled, dataDir, restored } = options
  const revocations = filled(revocationSlot).map(({ value }) => value)
  const revoked = openRevocationLog(dataDir)
  const seen = async (em: EntityManager): Promise<number> => Number((await readFact(revoked.fact, em)) ?? 0)
  let generation: string | null = null

  const watch: Watch = {
    async opened(cluster, em) {
      const known = await readFact('cluster', em)
      const lost = revoked.after(await seen(em))
      const isRestored = lost.length > 0 || (cluster !== null && known !== null && cluster !== known)
      if (cluster !== null && cluster !== known) await writeFact('cluster', cluster, em)
      if (isRestored) await beginGeneration(revocations, em)
      for (const { number, statements } of lost) {
        for (const statement of statements) await repeat(statement, log, em)
        await writeFact(revoked.fact, String(number), em)
      }
      const found = await readGeneration(em)
      return () => {
        const isNew = generation !== null && generation !== found // a peer may have begun it
        generation = found
        if (isRestored || isNew) {
          const fields = { cluster, cluster_before: known, revoked_again: lost.length }
          log.warn('store.restored', 'the store is another database, or lacks acknowledged changes', fields)
        }
        if (isNew) restored()
      }
    },
    async revoked(statements, em) {
      const number = revoked.next(await seen(em))
      await writeFact(revoked.fact, String(number), em)
      return () => {
        try {
          revoked.append({ number, statements: [...statements] })
        } catch (error) {
          log.error('store.revocation_not_saved', reasonOf(error), { data_dir: dataDir })
        }
      }
    }
  }

  if (!(await store.read(em => watchStore(em, watch)))) generation = await store.change(readGeneration)
  return () => {
    if (generation === null) throw new TypeError('the generation of the store has not been read')
    return generation
  }
}

/** Logs a statement that does not fit the tables, such as one of an older release; the others are still repeated. */
async function repeat({ sql, values }: Statement, log: Options['log'], em: EntityManager): Promise<void> {
  try {
    await em.transactional(part => part.execute(sql, values, 'run'))
  } catch (error) {
    if (!isUnfit(error)) throw error
    log.error('store.revocation_failed', reasonOf(error), { sql })
  }
}
