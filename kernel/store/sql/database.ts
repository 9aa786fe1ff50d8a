// Places of a store, and the interface of each database for `openStore`.
import type { AbstractSqlConnection, AbstractSqlDriver, EntityManager, Options } from '@mikro-orm/sql'
import { Type } from 'typebox'
import { requirePrivateFile } from '../../base/directory.ts'
import { Fault, reasonOf, startupInvalid } from '../../base/errors.ts'
import { readText } from '../../base/read-text.ts'
import type { Versions } from './versions.ts'

/** A SQLite file or a PostgreSQL database. */
export type Place = string | PostgresPlace

export interface PostgresPlace {
  readonly url: string // postgres://USER@HOST:PORT/DATABASE, without a password
  readonly password: string | undefined // default: PGPASSWORD or ~/.pgpass
  readonly listenUrl?: string | undefined // direct URL of the database if `url` leads to a pooler
  readonly isShared?: boolean // with other servers
}

/** Change signals between the servers of one database. They do not say what has changed. */
export interface Signals {
  /** Wakes the peer servers, at most once in 20 ms. Signals can be lost, so peers also poll. */
  send(): void
  /** Calls `listener` at each signal of a peer, and whenever signals may have been lost. */
  onSignal(listener: () => void): () => void
  /** Locks a name for this server, even across reconnects. Returns false if a peer has it. */
  hold(name: string): Promise<boolean>
  /** Runs a statement outside of changes on a separate connection, so that it waits for none. */
  query<Row extends object>(sql: string, params?: readonly unknown[]): Promise<readonly Row[]>
}

/** Options of `openStore` for one location. */
export type DatabaseOptions = Options<AbstractSqlDriver<AbstractSqlConnection & StoreConnection>>

/** The connection of a database, for `openStore`. */
export interface StoreConnection {
  readonly versions: Versions // of its tables
  readonly signals: Signals | null // null: there can be no peers
  /** Called once, after the migrations. Later reads use separate connections. */
  openReader(): void | Promise<void>
  /** Resolves when the current changes have succeeded or failed, if the current work may have begun in one of them. */
  settled(): Promise<void>
  /** Resolves once the change is on disk. After a conflict, `work` is retried from the start. */
  change<T>(work: (transaction: object) => Promise<T>): Promise<T>
}

/** Keys of the configuration. */
export const storeKeys = {
  store_url: Type.Optional(
    Type.Refine(
      Type.String({
        description:
          'sqlite: is a file in data_dir, the default; or postgres://USER@HOST/DATABASE, without a password.'
      }),
      isStoreUrl,
      () => `must be ${storeUrls}`
    )
  ),
  store_listen_url: Type.Optional(
    Type.Refine(
      Type.String({
        description: 'The database itself, if store_url leads to a pooler: for signals between servers.'
      }),
      url => url !== 'sqlite:' && isStoreUrl(url),
      () => `must be ${storeUrls}`
    )
  ),
  store_password: Type.Optional(
    Type.String({
      isSecret: true,
      description: 'Password of the user in store_url, best as the variable SVC_STORE_PASSWORD.'
    })
  ),
  store_password_file: Type.Optional(
    Type.String({
      isPath: true,
      description: 'File with that password, for its owner only. Without both: PGPASSWORD or ~/.pgpass.'
    })
  )
}

export const storeUrls = 'sqlite:, or postgres://USER@HOST/DATABASE without a password and options'

export function isStoreUrl(text: string): boolean {
  if (text === 'sqlite:') return true
  const url = URL.parse(text)
  return (
    url !== null &&
    /^postgres(ql)?:$/.test(url.protocol) &&
    url.pathname.length > 1 &&
    url.password === '' &&
    !['password', 'options'].some(name => url.searchParams.has(name))
  )
}

/** Returns the configured place of the store. `file` in the data directory is the default. Throws Fault. */
export function readPlace(keys: Readonly<Record<string, unknown>>, file: string, isShared = false): Place {
  const {
    store_url: url,
    store_listen_url: listen,
    store_password: password,
    store_password_file: from
  } = keys
  if (typeof url !== 'string' || url === 'sqlite:') return file
  const listenUrl = typeof listen === 'string' ? listen : undefined
  if (typeof password === 'string') return { url, listenUrl, password, isShared }
  return { url, listenUrl, password: typeof from === 'string' ? passwordIn(from) : undefined, isShared }
}

function passwordIn(file: string): string {
  try {
    requirePrivateFile(file, 'the password of the store')
    return readText(file).replace(/\r?\n$/, '')
  } catch (cause) {
    if (cause instanceof Fault) throw cause
    throw new Fault(startupInvalid, `store_password_file ${file}: ${reasonOf(cause)}`, { cause })
  }
}

/** True for a store that several servers can share: a database, not a file. */
export const mayBeShared = (em: EntityManager): boolean => storeFileOf(em) === null

/** Returns the file of an open store, or null for a database. */
export const storeFileOf = (em: EntityManager): string | null =>
  'url' in em.config.get('driverOptions') ? null : String(em.config.get('dbName'))
