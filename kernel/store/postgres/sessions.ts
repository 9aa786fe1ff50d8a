// Connections to the database: one that writes, and a few that read.
import pg, { type Client, type ClientConfig, type Pool, type PoolClient } from 'pg'
import { Fault, storeInUse, storeUnusable } from '../../base/errors.ts'
import type { PostgresPlace } from '../sql/database.ts'
import { abandon } from './abandon.ts'
import { clusterOf } from './cluster.ts'
import { isCut, isLost, isUnprepared, refusalOf, unavailable } from './failures.ts'

export interface Place extends PostgresPlace {
  readonly isAlone: boolean // no server may use the database meanwhile
}

const maxReaders = 8
const connectMs = 5000
const oldest = 150_000 // server_version_num of 15.0
const lockKey = 0x73_6c_75_69 // 'slui', of the advisory lock that servers share, and commands have for themselves
export const migrationKey = lockKey + 1 // of the one that a server holds while it migrates

/** Waits for commands that have the database for themselves. */
export const shareLock = `select pg_advisory_lock_shared(${lockKey})`

const settings = (more: Readonly<Record<string, string>>): string =>
  Object.entries({
    search_path: 'public',
    synchronous_commit: 'on',
    client_min_messages: 'warning',
    standard_conforming_strings: 'on',
    timezone: 'UTC',
    jit: 'off',
    tcp_keepalives_idle: '10', // what a lost host has locked is free after some 20 s
    tcp_keepalives_interval: '3',
    tcp_keepalives_count: '3',
    client_connection_check_interval: '1s', // also what waits for rows of others ends with its server
    ...more
  })
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ')

interface Hooks {
  /** Called with a new connection that is to write, before anything else is done there: changes of others may have come between. */
  readonly opened: (client: Client, cluster: string | null) => Promise<void>
  /** Lets whoever is next replace the connection that writes, and resolves when it is done. */
  readonly replaceWriter: () => Promise<unknown>
}

export class Sessions {
  readonly #place: Place
  readonly #hooks: Hooks
  readonly #known = new WeakSet<Client>() // those that read in the database of the one that writes
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

  /** The database of the connection that writes. */
  get cluster(): string | null {
    return this.#cluster
  }

  /** Opens the first connection. Throws Fault with exit status 78, or 75 where it is to be had alone and servers use it. */
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

  /** Waits for other servers that migrate, and keeps them out until `migrated`. */
  async lockMigrations(): Promise<void> {
    this.#migrating = await this.connectForSignals()
    await this.#migrating.query(`set lock_timeout = 0; select pg_advisory_lock(${migrationKey})`)
  }

  /** Lets other servers migrate, who find nothing to do. */
  async migrated(): Promise<void> {
    await this.#migrating?.end()
    this.#migrating = null
  }

  /** A connection for what it holds and hears: to the database itself, where `store_url` leads to a pooler. */
  readonly connectForSignals = async (): Promise<Client> => {
    const { listenUrl } = this.#place
    const client = new pg.Client({ ...this.#config({ lock_timeout: '5s' }, listenUrl), pipeline: true })
    client.on('error', () => {}) // whoever uses it gets the error
    await client.connect()
    return client
  }

  /** The connection that writes; a lost one is replaced. Whoever asks uses it alone. */
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

  /** It may be a connection to another database: no other reads what was read before. */
  async #enter(client: Client): Promise<void> {
    const cluster = await clusterOf(client)
    await this.#hooks.opened(client, cluster)
    if (cluster === this.#cluster) return
    this.#cluster = cluster
    this.#readers.end().catch(() => {}) // they may be lost already
    this.#readers = this.#openReaders()
  }

  leave(client: Client, isCommitting = false): void {
    if (this.#writer === client) this.#writer = null
    abandon(client, isCommitting)
  }

  /** Made once more when its connection had been cut while nobody used it, or had not prepared it: it has changed nothing. */
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
      client.release(isLost(error)) // true: it is not used again
      throw error
    }
  }

  /** A connection to the database of the one that writes, which is replaced first where it leads to another. */
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
    readers.on('error', () => {}) // of one that nobody uses: the pool has left it, and makes another
    readers.on('connect', client => client.on('error', () => {})) // whoever uses it gets the error
    return readers
  }

  async close(): Promise<void> {
    this.#hasClosed = true
    await Promise.allSettled([this.#writer?.end(), this.#migrating?.end(), this.#readers.end()])
    this.#writer = null
  }

  async #connect(): Promise<Client> {
    const client = new pg.Client({ ...this.#config({ lock_timeout: '5s' }), pipeline: true })
    client.on('error', () => this.leave(client, true)) // whoever uses it gets the error, and knows whether it commits
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
    if (this.#place.password !== undefined) url.searchParams.set('password', this.#place.password) // which pg takes from there alone
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

/** Runs statements for which no store is opened, each for itself, such as those that make a database. */
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

/** The lock of a server that was killed is free when PostgreSQL has seen the end of its connection. */
async function takeLock(client: Client): Promise<void> {
  try {
    await client.query(`select pg_advisory_lock(${lockKey})`) // for at most lock_timeout
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
  if (isCopy) refuse('it is a standby, which takes no changes; name the primary in store_url')
  if (!mayCreate)
    refuse(`${user} may not create tables in it; run in it: grant create, usage on schema public to ${user}`)
}

const numbers = { int8: 20, int4: 23, int2: 21, float4: 700, float8: 701, numeric: 1700 }
const wholeNumbers: readonly number[] = [numbers.int8, numbers.int4, numbers.int2]

/** Numbers are numbers, and text is text: no other type is in our tables, but in that of the migrations. */
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
