import type { EntitySchema } from '@mikro-orm/core'
import { type Migration, Migrator } from '@mikro-orm/migrations'
import { type EntityManager, MikroORM } from '@mikro-orm/sql'
import { withTimeout } from '../base/attribution.ts'
import { Fault, pluginFailed, reasonOf, schemaTooNew } from '../base/errors.ts'
import { StoreDriver } from './sqlite/connection.ts'
import { StoreEntityManager } from './sqlite/entity-manager.ts'
import { type Memory, openMemory } from './sqlite/remember.ts'
import { copyTo } from './sqlite/words.ts'

export interface Database {
  /** Runs for at most 30 s, with an identity map of its own. Not to be called inside `change`: use its `em`. */
  read<T>(work: (em: EntityManager) => Promise<T>): Promise<T>
  /** Runs one transaction, for at most 15 s; other changes wait for it. Resolves when it is on disk. */
  change<T>(work: (em: EntityManager) => Promise<T>): Promise<T>
  readonly remembered: Memory
  close(): Promise<void>
}

/** Judges the disk of a running server; both throw. */
export interface Disk {
  requireWritable(): void
  /** Takes the error of a failed change. */
  failed(error: unknown): never
  /** Called before a store that has data is migrated; a rejection leaves it as it is. `copyTo` makes a new file. */
  beforeMigrations(copyTo: (file: string) => Promise<unknown>): Promise<void>
}

/** The tables of one plugin. */
export interface Store {
  readonly entities: readonly EntitySchema[]
  /** Named '<number>-<what>'; never renamed after a release. */
  readonly migrations: readonly { readonly name: string; readonly class: MigrationClass }[]
}
export type MigrationClass = new (...args: ConstructorParameters<typeof Migration>) => Migration

export interface PluginStore {
  readonly name: string
  readonly store?: Store
}

/** Opens the database and runs pending migrations. */
export async function openStore(
  file: string,
  plugins: readonly PluginStore[],
  openDisk?: (file: string) => Disk
): Promise<Database> {
  const orm = new MikroORM({
    driver: StoreDriver,
    entityManager: StoreEntityManager,
    dbName: file,
    entities: plugins.flatMap(({ store }) => [...(store?.entities ?? [])]),
    extensions: [Migrator],
    discovery: { warnWhenNoEntities: false },
    migrations: {
      tableName: 'schema_migration',
      migrationsList: plugins.flatMap(migrationsOf),
      snapshot: false, // it would write files
      silent: true
    }
  })
  await orm.connect()
  const disk = openDisk?.(file)
  const started: string[] = []
  try {
    const migrator = new Migrator(orm.em)
    migrator.on('migrating', ({ name }) => void started.push(name))
    const executed = await migrator.getStorage().executed()
    refuseNewer(executed, plugins)
    if (executed.length > 0 && (await migrator.getPending()).length > 0)
      await disk?.beforeMigrations(to => copyTo(to, orm.em))
    await migrator.up()
  } catch (error) {
    await orm.close(true)
    if (started.length === 0) throw error
    throw new Fault(pluginFailed, `migration ${started.at(-1)}: ${reasonOf(error)}`, { cause: error })
  }
  const connection = orm.driver.getConnection()
  connection.openReader()
  const read: Database['read'] = work => withTimeout(30, 'reading the store', () => work(orm.em.fork()))
  return {
    read,
    remembered: openMemory(connection.versions, read),
    async change(work) {
      disk?.requireWritable()
      return connection.groups
        .change(async transaction => {
          const em = orm.em.fork()
          em.setTransactionContext(transaction)
          const result = await withTimeout(15, 'a transaction', () => work(em))
          await em.flush()
          return result
        })
        .catch((error: unknown) => disk?.failed(error) ?? Promise.reject(error))
    },
    close: () => orm.close(true)
  }
}

const migrationsOf = ({ name, store }: PluginStore) =>
  (store?.migrations ?? []).map(migration => ({ ...migration, name: `${name}/${migration.name}` }))

/** A plugin's schema version is the number of its last migration. Migrations of absent plugins are ignored. */
function refuseNewer(executed: readonly string[], plugins: readonly PluginStore[]): void {
  for (const { name, store } of plugins) {
    const found = executed.filter(id => id.startsWith(`${name}/`)).map(id => id.slice(name.length + 1))
    const [database, ours] = [newest(found), newest((store?.migrations ?? []).map(known => known.name))]
    if (database > ours)
      throw new Fault(
        schemaTooNew,
        `${name}: the database has schema ${database}, this build knows ${ours}; start the newer build again`
      )
  }
}

const newest = (names: readonly string[]): number =>
  Math.max(0, ...names.map(name => Number.parseInt(name, 10)))
