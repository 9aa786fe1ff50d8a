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
  'pragma busy_timeout = 5000',
  'pragma temp_store = memory',
  'pragma cache_size = -32000'
]

/** Opens the database and runs pending migrations. Calls `onFailure` when the disk fails a commit. */
export async function openStore(
  file: string,
  plugins: readonly PluginStore[],
  onFailure: (error: Error) => void = () => {}
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
    }
  })
  const platform = orm.driver.getPlatform()
  const quoted = platform.escape.bind(platform) // literals are part of the statement, which would end at a NUL
  platform.escape = value => quoted(value).replaceAll('\0', "'||char(0)||'")
  await orm.connect()
  const started: string[] = []
  try {
    const migrator = new Migrator(orm.em)
    migrator.on('migrating', ({ name }) => void started.push(name))
    refuseNewer(await migrator.getStorage().executed(), plugins)
    await migrator.up()
  } catch (error) {
    await orm.close(true)
    if (started.length === 0) throw error
    throw new Fault(pluginFailed, `migration ${started.at(-1)}: ${reasonOf(error)}`, { cause: error })
  }
  return {
    read: work => withTimeout(30, 'reading the store', () => work(orm.em.fork())),
    change: work =>
      orm.em
        .fork()
        .transactional(em => withTimeout(15, 'a transaction', () => work(em)))
        .catch(reportDiskFailure(onFailure)),
    close: () => orm.close(true)
  }
}

/** Reports a failure of the disk, after which the process must stop. Throws the error again. */
const reportDiskFailure =
  (onFailure: (error: Error) => void) =>
  (error: unknown): never => {
    for (let cause = error; cause instanceof Error; cause = cause.cause)
      if ('code' in cause && /^SQLITE_(IOERR|FULL|CORRUPT|NOTADB)/.test(String(cause.code))) {
        onFailure(cause)
        break
      }
    throw error
  }

const migrationsOf = ({ name, store }: PluginStore) =>
  (store?.migrations ?? []).map(migration => ({ ...migration, name: `${name}/${migration.name}` }))

/** A plugin's schema version is the number of its last migration. Migrations of absent plugins are ignored. */
function refuseNewer(executed: readonly string[], plugins: readonly PluginStore[]): void {
  for (const { name, store } of plugins) {
    const found = executed
      .filter(id => id.startsWith(`${name}/`))
      .map(id => version(id.slice(name.length + 1)))
    const [database, ours] = [Math.max(0, ...found), newest(store)]
    if (database > ours)
      throw new Fault(
        schemaTooNew,
        `${name}: the database has schema ${database}, this build knows ${ours}; start the newer build again`
      )
  }
}

const newest = (store: Store | undefined): number =>
  Math.max(0, ...(store?.migrations ?? []).map(({ name }) => version(name)))
const version = (name: string): number => Number.parseInt(name, 10)
