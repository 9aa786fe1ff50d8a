// A connection for change signals between the servers of one database and for this server's heartbeat. It holds the shared
// lock that excludes commands with exclusive use of the database.
import { randomUUID } from 'node:crypto'
import { clearTimeout, setTimeout } from 'node:timers'
import type { AbstractSqlPlatform } from '@mikro-orm/sql'
import type { Client } from 'pg'
import { Fault, storeInUse, storeUnusable } from '../../base/errors.ts'
import type { Signals } from '../sql/database.ts'
import { abandon } from './abandon.ts'
import { faultOf } from './failures.ts'
import { queryOf } from './query.ts'

interface Options {
  readonly connect: () => Promise<Client>
  readonly lock: string // a statement that waits at most lock_timeout
  readonly platform: AbstractSqlPlatform
}

const channel = 'sluice'
const alone = 'a command has the database of store_url for itself'
const unheard =
  'the servers of this database cannot wake each other: set store_listen_url to the database behind the pooler of ' +
  'store_url; if it is set, it names another database'
const lockName = "select pg_try_advisory_lock(hashtext('sluice'), hashtext($1)) as locked"
const restMs = 20 // between signals: each wakes all servers
const askMs = 5000
const answerMs = 3000
const againMs = 500 // after a failed connection attempt
const hearMs = 3000

export class PostgresSignals implements Signals {
  readonly #options: Options
  readonly #listeners = new Set<() => void>()
  readonly #asking: NodeJS.Timeout
  #client: Client | null = null
  #opening: Promise<Client> | null = null
  #next: NodeJS.Timeout | null = null // when the next signal can be sent
  #isWanted = false
  #name: string | null = null
  #hasClosed = false
  #heard: ((payload: string) => void) | null = null // during the start's self-test

  constructor(options: Options) {
    this.#options = options
    this.#asking = setInterval(() => void this.query('select 1').catch(nothing), askMs).unref() // replaces a lost connection
  }

  /** Throws Fault with exit status 75 if a command uses the database exclusively. */
  async open(): Promise<void> {
    await this.#connected()
  }

  /** Throws unless a signal of `writer` arrives here: a pooler would swallow it. */
  async requireHearing(writer: Client): Promise<void> {
    const word = randomUUID()
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const timer = setTimeout(() => resolve(false), hearMs)
    this.#heard = payload => payload === word && resolve(true)
    await writer.query('select pg_notify($1, $2)', [channel, word])
    const isHeard = await promise
    clearTimeout(timer)
    this.#heard = null
    if (!isHeard) throw new Fault(storeUnusable, unheard)
  }

  query = async <Row extends object>(sql: string, params: readonly unknown[] = []) => {
    try {
      const client = await this.#connected()
      const { text, values } = queryOf(sql, params, this.#options.platform)
      const limit = { query_timeout: answerMs }
      const { rows } = await client.query<Row>({ text, ...(values.length > 0 && { values }), ...limit })
      return rows
    } catch (error) {
      const fault = faultOf(error)
      if (fault !== error) this.#leave(this.#client) // it is lost or unresponsive
      throw fault
    }
  }

  hold = async (name: string): Promise<boolean> => {
    const client = await this.#connected()
    const isHeld = await holds(client, name)
    if (isHeld) this.#name = name
    return isHeld
  }

  send = (): void => {
    this.#isWanted = true
    if (!this.#next) this.#sendNow()
  }

  onSignal = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  async close(): Promise<void> {
    this.#hasClosed = true
    clearInterval(this.#asking)
    if (this.#next) clearTimeout(this.#next)
    const client = await (this.#client ?? this.#opening?.catch(() => null))
    await client?.end().catch(nothing) // it may have failed before
  }

  /** Peers poll, too, so a lost signal does no harm. */
  #sendNow(): void {
    this.#isWanted = false
    this.#next = setTimeout(() => {
      this.#next = null
      if (this.#isWanted) this.#sendNow()
    }, restMs).unref()
    this.query(`notify ${channel}`).catch(nothing)
  }

  #connected(): Promise<Client> {
    if (this.#hasClosed) return Promise.reject(new TypeError('the store is not open'))
    if (this.#client) return Promise.resolve(this.#client)
    this.#opening ??= this.#connect().finally(() => {
      this.#opening = null
    })
    return this.#opening
  }

  async #connect(): Promise<Client> {
    const client = await this.#options.connect()
    client.on('error', () => this.#leave(client))
    client.on('end', () => this.#leave(client))
    client.on('notification', ({ processId, payload = '' }) => {
      if (payload !== '') this.#heard?.(payload)
      else if (processId !== processIdOf(client)) this.#tell()
    })
    try {
      await client.query(this.#options.lock).catch((cause: unknown) => {
        throw new Fault(storeInUse, `${alone}; wait until it has ended`, { cause })
      })
      await client.query(`listen ${channel}`)
      if (this.#name !== null) await holds(client, this.#name) // free since the last connection was lost
    } catch (error) {
      this.#leave(client)
      throw error
    }
    this.#client = client
    this.#tell() // signals may have been missed
    return client
  }

  #leave(client: Client | null): void {
    if (!client) return
    abandon(client)
    if (this.#client !== client) return
    this.#client = null
    if (!this.#hasClosed) setTimeout(() => void this.query('select 1').catch(nothing), againMs).unref()
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }
}

const nothing = (): void => {}

async function holds(client: Client, name: string): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>(lockName, [name])
  return rows[0]?.locked === true
}

/** Returns the backend's process id, which its notifications carry. */
const processIdOf = (client: Client): unknown => Reflect.get(client, 'processID')
