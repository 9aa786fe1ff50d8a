import { Migrator } from '@mikro-orm/migrations'
import { type EntityManager, MikroORM } from '@mikro-orm/sql'
import { withTimeout } from '../base/attribution.ts'
import { Fault, pluginFailed, reasonOf } from '../base/errors.ts'
import { inSpan } from '../base/trace.ts'
import { noted } from './after-commit.ts'
import type { Plan, Upgrade } from './postgres/upgrade.ts'
import type { DatabaseOptions, Place, Signals } from './sql/database.ts'
import { migrationsOf, type PluginStore, refuseNewer } from './sql/migrations.ts'
import { openQueryCache, type QueryCache } from './sql/query-cache.ts'
import { StoreDriver } from './sqlite/connection.ts'
import { copyTo } from './sqlite/dialect.ts'
import { SqliteEntityManager } from './sqlite/entity-manager.ts'

export interface Database {
  /** Runs for at most 30 s. Inside `change`, use its `em` instead. */
  read<T>(work: (em: EntityManager) => Promise<T>): Promise<T>
  /** Runs one transaction for at most 15 s; other changes wait. Resolves once it is on disk. */
  change<T>(work: (em: EntityManager) => Promise<T>): Promise<T>
  readonly remembered: QueryCache
  /** Signals of peer servers; null if there cannot be any. */
  readonly signals: Signals | null
  readonly upgrade: Upgrade | null
  share(by: Sharing): void
  close(): Promise<void>
}

/** Coordinates with the peer servers of a store. */
export interface Sharing {
  /** True while peers can change the store, which disables caching. */
  isShared(): boolean
  /** Resolves once the peers know that this server will change the store. */
  mayChange(): Promise<void>
  /** Resolves once the peers know of a change by this server. */
  hasChanged(): Promise<void>
}

/** Monitors the disk of a running server. */
export interface Disk {
  requireWritable(): void
  /** Takes the error of a failed change, and throws. */
  failed(error: unknown): never
  /** Called before the migration of a store with data, which a rejection prevents. `copyTo` creates a new file. */
  beforeMigrations(copyTo: (file: string) => Promise<unknown>): Promise<void>
}

type Orm = Awaited<ReturnType<typeof ormOf>>

/** Returns an ORM that is not connected yet. `isAlone` excludes other servers of a PostgreSQL database. */
export async function ormOf(place: Place, plugins: readonly PluginStore[], isAlone: boolean) {
  const database: DatabaseOptions =
    typeof place === 'string'
      ? { driver: StoreDriver, entityManager: SqliteEntityManager, dbName: place }
      : (await import('./postgres/options.ts')).optionsOf(place, isAlone)
  return new MikroORM({
    ...database,
    entities: plugins.flatMap(({ store }) => [...(store?.entities ?? [])]),
    extensions: [Migrator],
    disableIdentityMap: true, // entities are plain rows, which every query reads again
    discovery: { warnWhenNoEntities: false },
    migrations: {
      tableName: 'schema_migration',
      migrationsList: plugins.flatMap(migrationsOf),
      snapshot: false, // it would write files
      silent: true
    }
  })
}

/** Opens the database and runs pending migrations. Without plugins there are none, and a server may be using it. */
export async function openStore(
  place: Place,
  plugins: readonly PluginStore[],
  openDisk?: (file: string) => Disk
): Promise<Database> {
  const file = typeof place === 'string' ? place : null
  const isShared = typeof place !== 'string' && place.isShared
  const orm = await ormOf(place, plugins, plugins.length > 0 && !isShared)
  const started: string[] = []
  let disk: Disk | undefined
  let plan: Plan | null = null
  try {
    await orm.connect()
    disk = file === null ? undefined : openDisk?.(file)
    const migrator = new Migrator(orm.em)
    migrator.on('migrating', ({ name }) => void started.push(name))
    const executed = await migrator.getStorage().executed()
    refuseNewer(executed, plugins, isShared)
    if (isShared) plan = await (await import('./postgres/upgrade.ts')).planOf(plugins, executed, orm)
    if (executed.length > 0 && (await migrator.getPending()).length > 0)
      await disk?.beforeMigrations(to => copyTo(to, orm.em))
    await migrator.up(plan?.now)
  } catch (error) {
    await orm.close(true)
    if (started.length === 0 || error instanceof Fault) throw error
    throw new Fault(pluginFailed, `migration ${started.at(-1)}: ${reasonOf(error)}`, { cause: error })
  }
  await orm.driver.getConnection().openReader()
  return databaseOn(orm, plan, disk)
}

function databaseOn(orm: Orm, upgrade: Upgrade | null, disk: Disk | undefined): Database {
  const connection = orm.driver.getConnection()
  let sharing: Sharing | null = null
  const reading = <T>(work: (em: EntityManager) => Promise<T>, ready?: () => Promise<void>): Promise<T> =>
    withTimeout(30, 'reading the store', async () => {
      await ready?.()
      return work(orm.em.fork())
    })
  return {
    read: work => reading(work, () => connection.settled()), // hooks that start in a change see it, in the context of its payer
    remembered: openQueryCache(connection.versions, work => reading(work)), // cached values do not wait
    signals: connection.signals,
    upgrade,
    share(by) {
      sharing = by
      connection.versions.isShared = by.isShared
    },
    async change(work) {
      disk?.requireWritable()
      if (sharing) await sharing.mayChange()
      const { result, committed } = await inSpan('transaction', () =>
        connection
          .change(async transaction => {
            const em = orm.em.fork()
            em.setTransactionContext(transaction)
            const result = await withTimeout(15, 'a transaction', () => work(em))
            const entities = em.getUnitOfWork(false) // rarely used
            if (entities.getPersistStack().size + entities.getRemoveStack().size > 0) await em.flush()
            return { result, committed: noted(transaction) }
          })
          .catch((error: unknown) => disk?.failed(error) ?? Promise.reject(error))
      )
      for (const call of committed) call()
      if (sharing) await sharing.hasChanged()
      return result
    },
    close: () => orm.close(true)
  }
}
