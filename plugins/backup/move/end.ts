// One end of a move: a store, or the place for one, in one transaction.
import { MigrationRunner, MigrationStorage } from '@mikro-orm/migrations'
import type { EntityManager } from '@mikro-orm/sql'
import { ormOf } from '../../../kernel/store/open.ts'
import type { CopyWords } from '../../../kernel/store/sql/copy.ts'
import type { Place } from '../../../kernel/store/sql/database.ts'
import { migrationsOf, type PluginStore } from '../../../kernel/store/sql/migrations.ts'
import { sqliteCopy } from '../../../kernel/store/sqlite/copy.ts'

export interface End {
  readonly words: CopyWords
  /** Runs one transaction, which may take any time. */
  within<T>(work: (em: EntityManager) => Promise<T>): Promise<T>
  /** Makes the tables of `stores` in an empty database, as a part of the transaction. */
  makeTables(em: EntityManager): Promise<void>
  close(): Promise<void>
}

/** `isAlone`: throws Fault while a server has the database. */
export async function openEnd(place: Place, stores: readonly PluginStore[], isAlone: boolean): Promise<End> {
  const orm = await ormOf(place, stores, isAlone)
  const close = (): Promise<void> => orm.close(true)
  await orm.connect().catch(async (error: unknown) => {
    await close()
    throw error
  })
  return {
    words:
      typeof place === 'string'
        ? sqliteCopy
        : (await import('../../../kernel/store/postgres/copy.ts')).postgresCopy,
    within: work =>
      orm.driver.getConnection().change(transaction => {
        const em = orm.em.fork()
        em.setTransactionContext(transaction)
        return work(em)
      }),
    async makeTables(em) {
      const { driver, config } = orm
      const transaction = em.getTransactionContext()
      const storage = new MigrationStorage(driver, config.get('migrations'))
      const runner = new MigrationRunner(driver, config.get('migrations'), config)
      for (const part of [storage, runner]) part.setMasterMigration(transaction)
      await storage.ensureTable()
      for (const { name, class: Migration } of stores.flatMap(migrationsOf)) {
        await runner.run(new Migration(driver, config), 'up')
        await storage.logMigration({ name })
      }
    },
    close
  }
}
