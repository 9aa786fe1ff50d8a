import type { EntitySchema } from '@mikro-orm/core'
import { type Migration, Migrator } from '@mikro-orm/migrations'
import type { EntityManager } from '@mikro-orm/sql'
import { MikroORM } from '@mikro-orm/sqlite'
import { CompiledQuery, type DatabaseConnection } from 'kysely'
import { withTimeout } from '../base/attribution.ts'
import { Fault, pluginFailed, reasonOf, schemaTooNew } from '../base/errors.ts'

export interface Database {
  /** Runs for at most 30 s, with an identity map of its own. Not to be called inside `change`: use its `em`. */
  read<T>(work: (em: EntityManager) => Promise<T>): Promise<T>
  /** Runs one transaction, for at most 15 s; others wait for it. Resolves when it is on disk. */
  change<T>(work: (em: EntityManager) => Promise<T>): Promise<T>
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

const pragmas = [
  'pragma journal_mode = wal',
  'pragma synchronous = full',
  'pragma foreign_keys = on',
  'pragma trusted_schema = off',
  'pragma busy_timeout = 5000',
  'pragma temp_store = memory',
  'pragma cache_size = -32000'
]

/** Opens the database and runs pending migrations. */
export async function openStore(
  file: string,
  plugins: readonly PluginStore[],
  openDisk?: (file: string) => Disk
): Promise<Database> {
  const orm = new MikroORM({
    dbName: file,
    entities: plugins.flatMap(({ store }) => [...(store?.entities ?? [])]),
    extensions: [Migrator],
    discovery: { warnWhenNoEntities: false },
    migrations: {
      tableName: 'schema_migration',
      migrationsList: plugins.flatMap(migrationsOf),
      snapshot: false, // it would write files
      silent: true
    },
    onCreateConnection: async (connection: unknown) => {
      for (const sql of pragmas) await (connection as DatabaseConnection).executeQuery(CompiledQuery.raw(sql))
      tolerateRollback(connection as DatabaseConnection)
    }
  })
  const platform = orm.driver.getPlatform()
  const quoted = platform.escape.bind(platform) // literals are part of the statement, which would end at a NUL
  platform.escape = value => quoted(value).replaceAll('\0', "'||char(0)||'")
  await orm.connect()
  const disk = openDisk?.(file)
  const started: string[] = []
  try {
    const migrator = new Migrator(orm.em)
    migrator.on('migrating', ({ name }) => void started.push(name))
    const executed = await migrator.getStorage().executed()
    refuseNewer(executed, plugins)
    if (executed.length > 0 && (await migrator.getPending()).length > 0)
      await disk?.beforeMigrations(to => orm.em.execute('vacuum into ?', [to]))
    await migrator.up()
  } catch (error) {
    await orm.close(true)
    if (started.length === 0) throw error
    throw new Fault(pluginFailed, `migration ${started.at(-1)}: ${reasonOf(error)}`, { cause: error })
  }
  return {
    read: work => withTimeout(30, 'reading the store', () => work(orm.em.fork())),
    async change(work) {
      disk?.requireWritable()
      return orm.em
        .fork()
        .transactional(em => withTimeout(15, 'a transaction', () => work(em)))
        .catch((error: unknown) => disk?.failed(error) ?? Promise.reject(error))
    },
    close: () => orm.close(true)
  }
}

/** SQLite rolls back by itself when the disk is full. Were `rollback` an error then, the connection would stay taken. */
function tolerateRollback(connection: DatabaseConnection): void {
  const execute = connection.executeQuery.bind(connection)
  connection.executeQuery = async <R>(query: CompiledQuery) => {
    try {
      return await execute<R>(query)
    } catch (error) {
      if (query.sql !== 'rollback' || !/no transaction is active/.test(reasonOf(error))) throw error
      return { rows: [] }
    }
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
