import { Migrator } from '@mikro-orm/migrations'
import type { EntityManager } from '@mikro-orm/sql'
import { MikroORM } from '@mikro-orm/sqlite'
import { CompiledQuery, type DatabaseConnection } from 'kysely'
import { withTimeout } from '../base/attribution.ts'
import { Fault, pluginFailed, reasonOf, schemaTooNew } from '../base/errors.ts'
import type { Plugin, Store } from '../plugin.ts'

export interface Database {
  /** Of 30 s at most. A fresh identity map; nothing is kept from one call to the next. Never inside `change`: use its `em`. */
  read<T>(work: (em: EntityManager) => Promise<T>): Promise<T>
  /** One transaction, of 15 s at most: all others wait for it. What it resolves with is on the disk. */
  change<T>(work: (em: EntityManager) => Promise<T>): Promise<T>
  close(): Promise<void>
}

export type PluginStore = Pick<Plugin, 'name' | 'store'>

const pragmas = [
  'pragma journal_mode = wal',
  'pragma synchronous = full',
  'pragma foreign_keys = on',
  'pragma busy_timeout = 5000',
  'pragma temp_store = memory',
  'pragma cache_size = -32000'
]

/** Entities and migrations of all plugins, in dependency order. `broken` is told when the disk fails a commit. */
export async function openStore(
  file: string,
  plugins: readonly PluginStore[],
  broken: (error: Error) => void = () => {}
): Promise<Database> {
  const orm = new MikroORM({
    dbName: file,
    entities: plugins.flatMap(({ store }) => [...(store?.entities ?? [])]),
    extensions: [Migrator],
    discovery: { warnWhenNoEntities: false },
    migrations: {
      tableName: 'schema_migration',
      migrationsList: plugins.flatMap(plugin => named(plugin)),
      snapshot: false, // else it writes files
      silent: true
    },
    onCreateConnection: async (connection: unknown) => {
      for (const sql of pragmas) await (connection as DatabaseConnection).executeQuery(CompiledQuery.raw(sql)) // what Kysely hands over
    }
  })
  const platform = orm.driver.getPlatform()
  const quoted = platform.escape.bind(platform) // values stand in the statement itself, which would end at a NUL
  platform.escape = value => quoted(value).replaceAll('\0', "'||char(0)||'")
  await orm.connect()
  const begun: string[] = []
  try {
    const migrator = new Migrator(orm.em)
    migrator.on('migrating', ({ name }) => void begun.push(name))
    refuseNewer(await migrator.getStorage().executed(), plugins)
    await migrator.up()
  } catch (error) {
    await orm.close(true)
    if (begun.length === 0) throw error
    throw new Fault(pluginFailed, `migration ${begun.at(-1)}: ${reasonOf(error)}`, { cause: error })
  }
  return {
    read: work => withTimeout(30, 'reading the store', () => work(orm.em.fork())),
    change: work =>
      orm.em
        .fork()
        .transactional(em => withTimeout(15, 'a transaction', () => work(em)))
        .catch(notice(broken)),
    close: () => orm.close(true)
  }
}

/** A database that failed once is not trusted: the process is to stop, and the caller still gets the error. */
const notice =
  (broken: (error: Error) => void) =>
  (error: unknown): never => {
    for (let cause = error; cause instanceof Error; cause = cause.cause)
      if ('code' in cause && /^SQLITE_(IOERR|FULL|CORRUPT|NOTADB)/.test(String(cause.code))) {
        broken(cause)
        break
      }
    throw error
  }

const named = ({ name, store }: PluginStore) =>
  (store?.migrations ?? []).map(migration => ({ ...migration, name: `${name}/${migration.name}` }))

/** A plugin's schema version is its last migration's number. What absent plugins left behind stays. */
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
