// Stores of tests: SQLite, or PostgreSQL if a test names a server or SLUICE_TEST_STORE_URL a database of it:
// postgres://USER@HOST:PORT/TEMPLATE.
import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import type { Database } from '../kernel/store/open.ts'
import type { PostgresPlace, Signals } from '../kernel/store/sql/database.ts'

const template = process.env['SLUICE_TEST_STORE_URL']

/** True if the stores of this run are PostgreSQL databases. */
export const isOnPostgres = template !== undefined

export interface TestStore {
  readonly place: PostgresPlace
  /** Deletes the database, even with open connections. */
  drop(): Promise<void>
}

/**
 * Creates the database of a data directory, as a copy of the template or empty, unless it exists. Null if the store is a
 * SQLite file in that directory. `url` names the server of the database, and its template.
 */
export async function openTestStore(
  dir: string,
  from: 'template' | 'empty',
  url = template
): Promise<TestStore | null> {
  const database = testDatabaseOf(dir, from, url)
  if (!database) return null
  const { runAt } = await import('../kernel/store/postgres/sessions.ts')
  const { place, by, create, drop } = database
  await runAt(by, [create]).catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === duplicate)) throw error
  })
  return { place, drop: () => runAt(by, [drop]) }
}

/** Returns the database of an existing data directory, with functions that create and delete it through the database `by`. */
export function testDatabaseOf(dir: string, from: 'template' | 'empty', server = template) {
  if (server === undefined) return null
  const { ino, birthtimeMs } = statSync(dir) // another test may have used a directory of this name
  const name = `test_${createHash('sha256').update(`${dir} ${ino} ${birthtimeMs}`).digest('hex').slice(0, 24)}`
  const at = (database: string): PostgresPlace => {
    const url = new URL(server)
    url.pathname = `/${database}`
    return { url: url.href, password: undefined }
  }
  const source = from === 'template' ? new URL(server).pathname.slice(1) : 'template0'
  return {
    place: at(name),
    by: at('postgres'),
    create: `create database ${name} template ${source}`,
    drop: `drop database if exists ${name} with (force)`
  }
}

const duplicate = '42P04' // the database exists

let working = 0

/** True while a PostgreSQL store of this process has not answered. */
export const isStoreWorking = (): boolean => working > 0

/** Wraps a store so that `isStoreWorking` covers its work, if it is in PostgreSQL. */
export function tellingWork(opened: Database, isSlow = isOnPostgres): Database {
  if (!isSlow) return opened
  const telling =
    <A extends unknown[], T>(work: (...args: A) => Promise<T>) =>
    (...args: A): Promise<T> => {
      working++
      return work(...args).finally(() => void working--)
    }
  return {
    ...opened,
    signals: opened.signals && {
      ...opened.signals,
      query: telling(opened.signals.query) as Signals['query']
    },
    read: telling(opened.read) as Database['read'],
    change: telling(opened.change) as Database['change'],
    remembered: (tables, load) => telling(opened.remembered(tables, load))
  }
}
