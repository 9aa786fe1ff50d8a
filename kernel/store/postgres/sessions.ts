// Connections to the database: one writer, and a few readers.
import pg, { type Client, type ClientConfig, type Pool, type PoolClient } from 'pg'
import { Fault, storeInUse, storeUnusable } from '../../base/errors.ts'
import type { PostgresPlace } from '../sql/database.ts'
import { abandon } from './abandon.ts'
import { clusterOf } from './cluster.ts'
import { isCut, isLost, isUnprepared, refusalOf, unavailable } from './failures.ts'

export interface Place extends PostgresPlace {
  readonly isAlone: boolean // excludes other servers
}

const maxReaders = 8
const connectMs = 5000
const oldest = 150_000 // server_version_num of 15.0
const lockKey = 0x73_6c_75_69 // 'slui': advisory lock, shared by servers, exclusive for commands
export const migrationKey = lockKey + 1 // held by a server while it migrates

/** Waits for commands with exclusive use of the database. */
export const shareLock = `select pg_advisory_lock_shared(${lockKey})`

const settings = (more: Readonly<Record<string, string>>): string =>
  Object.entries({
    search_path: 'public',
    synchronous_commit: 'on',
    client_min_messages: 'warning',
    standard_conforming_strings: 'on',
    timezone: 'UTC',
    jit: 'off',
    tcp_keepalives_idle: '10', // frees the locks of a lost host after about 20 s
    tcp_keepalives_interval: '3',
    tcp_keepalives_count: '3',
    client_connection_check_interval: '1s', // ends statements that wait for locks when their server is gone
    ...more
  })
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ')

interface Hooks {
  /** Called with each new writer before its first use: peers may have made changes. */
  readonly opened: (client: Client, cluster: string | null) => Promise<void>
  /** Resolves once the next change has replaced the writer. */
  readonly replaceWriter: () => Promise<unknown>
}

export class Sessions {
  readonly #place: Place
  readonly #hooks: Hooks
  readonly #known = new WeakSet<Client>() // readers in the database of the writer
  #readers: Pool
  #writer: Client | null = null
  #migrating: Client | null = null // holds the lock
  #hasClosed = false
  #cluster: string | null = null

  constructor(place: Place, hooks: Hooks) {
    this.#place = place
    this.#hooks = hooks
    this.#readers = this.#openReaders()
  }

  /** Identifies the database of the writer. */
  get cluster(): string | null {
    return this.#cluster
  }

  /** Opens the first connection. Throws Fault with exit status 78, or 75 if exclusive use conflicts with servers. */
  async open(): Promise<void> {
    try {
      this.#writer = await this.#connect()
      await requireUsable(this.#writer)
      this.#cluster = await clusterOf(this.#writer)
    } catch (error) {
      const { host, port, user = '', database = '' } = new pg.Client(this.#config({}))
      throw error instanceof Fault ? error : refusalOf(error, { host: `${host}:${port}`, user, database })
    }
  }

  /** Waits for migrating servers, and excludes them until `migrated`. */
  async lockMigrations(): Promise<void> {
    this.#migrating = await this.connectForSignals()
    await this.#migrating.query(`set lock_timeout = 0; select pg_advisory_lock(${migrationKey})`)
  }

  /** Releases the migration lock. */
  async migrated(): Promise<void> {
    await this.#migrating?.end()
    this.#migrating = null
  }

  /** Opens a connection for locks and notifications, directly to the database if `store_url` leads to a pooler. */
  readonly connectForSignals = async (): Promise<Client> => {
    const { listenUrl } = this.#place
    const client = new pg.Client({ ...this.#config({ lock_timeout: '5s' }, listenUrl), pipeline: true })
    client.on('error', () => {}) // its user gets the error
    await client.connect()
    return client
  }

  /** Returns the writer for exclusive use, and replaces a lost one. */
  async writer(): Promise<Client> {
    if (this.#hasClosed) throw new TypeError('the store is not open')
    if (this.#writer) return this.#writer
    const client = await this.#connect().catch((error: unknown) => {
      throw error instanceof Fault ? unavailable(error) : error
    })
    await this.#enter(client).catch((error: unknown) => {
      this.leave(client)
      throw error instanceof Fault ? error : unavailable(error)
    })
    this.#writer = client
    return client
  }

  /** The new writer may be in another database, so readers are replaced, too. */
  async #enter(client: Client): Promise<void> {
    const cluster = await clusterOf(client)
    await this.#hooks.opened(client, cluster)
    if (cluster === this.#cluster) return
    this.#cluster = cluster
    this.#readers.end().catch(() => {}) // they may have failed before
    this.#readers = this.#openReaders()
  }

  leave(client: Client, isCommitting = false): void {
    if (this.#writer === client) this.#writer = null
    abandon(client, isCommitting)
  }

  /** Retries once if the idle connection was cut or lacks the prepared statement: a read changes nothing. */
  async read<T>(work: (client: Client) => Promise<T>): Promise<T> {
    try {
      return await this.#readOnce(work)
    } catch (error) {
      if (!isCut(error) && !isUnprepared(error)) throw error
      return this.#readOnce(work)
    }
  }

  async #readOnce<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const client = await this.#reader()
    try {
      const result = await work(client)
      client.release()
      return result
    } catch (error) {
      client.release(isLost(error)) // true: it is discarded
      throw error
    }
  }

  /** Returns a reader in the database of the writer, which is replaced first if it is in another. */
  async #reader(): Promise<PoolClient> {
    const client = await this.#readers.connect()
    if (this.#known.has(client)) return client
    try {
      const cluster = await clusterOf(client)
      if (cluster !== this.#cluster || (cluster === null && !this.#writer)) {
        if (this.#writer) this.leave(this.#writer, true) // it may commit
        await this.#hooks.replaceWriter()
      }
      if (cluster !== this.#cluster) throw unavailable('its connections lead to several databases')
      this.#known.add(client)
      return client
    } catch (error) {
      client.release(true)
      throw error
    }
  }

  #openReaders(): Pool {
    const readers = new pg.Pool({
      ...this.#config({ default_transaction_read_only: 'on', statement_timeout: '30s' }),
      max: maxReaders,
      idleTimeoutMillis: 60_000
    })
    readers.on('error', () => {}) // idle clients: the pool discards them
    readers.on('connect', client => client.on('error', () => {})) // its user gets the error
    return readers
  }

  async close(): Promise<void> {
    this.#hasClosed = true
    await Promise.allSettled([this.#writer?.end(), this.#migrating?.end(), this.#readers.end()])
    this.#writer = null
  }

  async #connect(): Promise<Client> {
    const client = new pg.Client({ ...this.#config({ lock_timeout: '5s' }), pipeline: true })
    client.on('error', () => this.leave(client, true)) // its user gets the error
    client.on('end', () => this.leave(client, true))
    await client.connect()
    try {
      if (this.#place.isAlone) await takeLock(client)
    } catch (error) {
      this.leave(client)
      throw error
    }
    return client
  }

  #config(more: Readonly<Record<string, string>>, to = this.#place.url): ClientConfig {
    const url = new URL(to)
    if (this.#place.password !== undefined) url.searchParams.set('password', this.#place.password) // pg reads it only there
    return {
      connectionString: url.href,
      application_name: 'sluice',
      connectionTimeoutMillis: connectMs,
      keepAlive: true,
      options: settings(more),
      types: { getTypeParser: parserOf }
    }
  }
}

/** Runs separate statements without a store, for example to create a database. */
export async function runAt(place: PostgresPlace, statements: readonly string[]): Promise<void> {
  const hooks = { opened: async () => {}, replaceWriter: async () => {} }
  const sessions = new Sessions({ ...place, isAlone: false }, hooks)
  try {
    const client = await sessions.writer()
    for (const statement of statements) await client.query(statement)
  } finally {
    await sessions.close()
  }
}

/** The lock of a killed server is free once PostgreSQL notices the end of its connection. */
async function takeLock(client: Client): Promise<void> {
  try {
    await client.query(`select pg_advisory_lock(${lockKey})`) // at most lock_timeout
  } catch (cause) {
    throw new Fault(storeInUse, 'servers use the database of store_url; stop all of them', { cause })
  }
}

async function requireUsable(client: Client): Promise<void> {
  const { rows } = await client.query(`select current_setting('server_version_num')::int8 as number,
    current_setting('server_version') as version, current_setting('server_encoding') as encoding,
    current_database() as name, current_user as "user", pg_is_in_recovery() as "isCopy",
    to_regnamespace('public') is not null and has_schema_privilege('public', 'create') and has_schema_privilege('public', 'usage')
    as "mayCreate"`)
  const [{ number, version, encoding, name, user, isCopy, mayCreate }] = rows
  const refuse = (why: string): never => {
    throw new Fault(storeUnusable, `the database ${name} cannot be used: ${why}`)
  }
  if (number < oldest) refuse(`PostgreSQL ${version} is too old; sluice needs 15 or newer`)
  if (encoding !== 'UTF8')
    refuse(`its encoding is ${encoding}; create one with: encoding 'UTF8' template template0`)
  if (isCopy) refuse('it is a standby, which accepts no changes; name the primary in store_url')
  if (!mayCreate)
    refuse(`${user} cannot create tables in it; run there: grant create, usage on schema public to ${user}`)
}

const numbers = { int8: 20, int4: 23, int2: 21, float4: 700, float8: 701, numeric: 1700 }
const wholeNumbers: readonly number[] = [numbers.int8, numbers.int4, numbers.int2]

/** Parses numbers and text, the only types of our tables, except in the table of migrations. */
function parserOf(type: number, format?: string): (text: string) => unknown {
  if (wholeNumbers.includes(type)) return wholeNumber
  if (Object.values(numbers).includes(type)) return Number
  return pg.types.getTypeParser(type, format as 'text')
}

function wholeNumber(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`the number ${text} of the store is above 2^53`)
  return value
}
