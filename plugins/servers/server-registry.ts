// The servers of a database. Each renews its own row, a lease of 10 s; after two thirds of it without a renewal a server
// stops trusting itself. The clock of the database may step, so a known server is live as long as its row changes.
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Fault, reasonOf, startupInvalid, storeInUse } from '../../kernel/base/errors.ts'
import type { ServerRecord, Servers } from '../../kernel/control/servers.ts'
import { shared } from '../../kernel/store/postgres/dialect.ts'
import type { Signals } from '../../kernel/store/sql/database.ts'
import type { ClusterOptions } from './cluster.ts'

interface Options extends Pick<ClusterOptions, 'store' | 'clock' | 'log' | 'id' | 'version'> {
  readonly signals: Signals
}

interface Row {
  readonly key: string
  readonly id: string
  readonly version: string
  readonly seenAt: number
  readonly age: number // ms by the clock of the database, which may have stepped since
}

interface Seen {
  readonly seenAt: number
  readonly changedAt: number // by the monotonic clock of this server
}

const leaseMs = 10_000
const trustedMs = (leaseMs * 2) / 3
const listedMs = 60_000
const retentionMs = 600_000
const retryMs = 20 // until peers know of this server, or its name is free
const nameTimeoutMs = 7_000 // a live server renews its row three times in it

const within = (ms: number): string => `abs(${shared.now} - seen_at) < ${ms}`

/** Selects the live servers. The store runs it before this server joins. */
export const liveServers = `select version, closing_migrations from servers_server where ${within(leaseMs)}`

/** Takes a task that no live server has, or renews it. Returns no row if a peer has it. */
const takeTask = `insert into servers_task (name, boot) values (?, ?)
       on conflict (name) do update set boot = excluded.boot
       where servers_task.boot = excluded.boot or not exists (select 1 from servers_server server
         where server.boot = servers_task.boot and ${within(leaseMs)})
       returning name`

export class ServerRegistry {
  readonly key = randomBytes(16).toString('hex') // identifies this process
  joins = 0 // counts how often peers joined or returned
  readonly #options: Options
  readonly #startedAt: number
  #live: ReadonlySet<string> = new Set() // keys of live peers
  #seen: ReadonlyMap<string, Seen> = new Map() // by key of each peer with a row
  #beatAt = Number.NEGATIVE_INFINITY // start of the last heartbeat that peers can have seen
  #joining: Promise<void> | null = null
  #isNamed = false

  constructor(options: Options) {
    this.#options = options
    this.#startedAt = options.clock.now()
  }

  isLive = (key: string): boolean => key === this.key || this.#live.has(key)

  hasOthers = (): boolean => this.#live.size > 0

  isAlone = (): boolean => this.#live.size === 0 && this.#isTrusted()

  /** Resolves when this server may change the store, because peers know of it. */
  readonly inForce = async (): Promise<void> => {
    if (this.#isTrusted()) return
    this.#joining ??= this.#join().finally(() => {
      this.#joining = null
    })
    await this.#joining
  }

  /** Call it every 2 s. A late call joins again, because peers may have declared this server dead. */
  async renew(): Promise<void> {
    if (!this.#isTrusted()) return this.inForce()
    const at = this.#options.clock.monotonic()
    await this.#beat()
    this.#beatAt = at
  }

  readonly onOne: Servers['onOne'] = async (task, work) => {
    if (await this.#hasTask(task)) await work()
  }

  /** Returns false if the store does not answer: the task waits for its next time. */
  async #hasTask(task: string): Promise<boolean> {
    const { log, signals } = this.#options
    try {
      await this.inForce()
      return (await signals.query(takeTask, [task, this.key])).length > 0
    } catch (error) {
      log.debug('server.task_skipped', reasonOf(error), { task })
      return false
    }
  }

  readonly list = async (): Promise<ServerRecord[]> => {
    const rows = await this.#options.signals.query<
      Omit<ServerRecord, 'tasks'> & { readonly tasks: string | null }
    >(
      `select server_id as id, version, started_at as "startedAt", seen_at as "lastSeenAt",
       (select count(*) from servers_session session where session.boot = server.boot) as sessions,
       (select string_agg(name, ' ' order by name) from servers_task task where task.boot = server.boot) as tasks
       from servers_server server where ${within(listedMs)} order by server_id, started_at`
    )
    return rows.map(({ tasks, ...row }) => ({ ...row, tasks: tasks?.split(' ') ?? [] }))
  }

  async close(): Promise<void> {
    await this.#options.signals.query(
      `delete from servers_server where boot = ? or not ${within(retentionMs)}`,
      [this.key]
    )
  }

  #isTrusted = (): boolean => this.#options.clock.monotonic() - this.#beatAt < trustedMs

  /** Renews the lease of this server, and finds the live peers. */
  async #beat(): Promise<readonly Row[]> {
    const { store, signals, id, version } = this.#options
    await signals.query(
      `insert into servers_server (boot, server_id, version, started_at, seen_at, closing_migrations)
       values (?, ?, ?, ?, ${shared.now}, ?)
       on conflict (boot) do update set seen_at = excluded.seen_at`,
      [this.key, id, version, this.#startedAt, store.upgrade?.closingMigrations ?? '']
    )
    const rows = await signals.query<Row>(
      `select boot as key, server_id as id, version, seen_at as "seenAt",
       abs(${shared.now} - seen_at) as age from servers_server where boot <> ?`,
      [this.key]
    )
    const others = this.#livePeers(rows)
    this.#updateLive(others)
    return others
  }

  /** Judges a new row by the clock of the database, and a known one by whether it changes. */
  #livePeers(rows: readonly Row[]): readonly Row[] {
    const now = this.#options.clock.monotonic()
    const before = this.#seen
    this.#seen = new Map(
      rows.map(({ key, seenAt, age }) => {
        const known = before.get(key)
        if (known?.seenAt === seenAt) return [key, known]
        return [key, { seenAt, changedAt: known ? now : now - age }]
      })
    )
    return rows.filter(({ key }) => now - (this.#seen.get(key)?.changedAt ?? now) < leaseMs)
  }

  #updateLive(others: readonly Row[]): void {
    const { log } = this.#options
    const came = others.filter(({ key }) => !this.#live.has(key))
    const keys = new Set(others.map(({ key }) => key))
    for (const { id: server_id, version } of came)
      log.info('server.joined', `server ${server_id} shares the store`, { server_id, version })
    const gone = [...this.#live].filter(key => !keys.has(key)).length
    if (gone > 0) log.info('server.left', `${gone} servers of the store are no longer seen`, { gone })
    if (came.length > 0) this.joins++
    this.#live = keys
  }

  /** Waits until every live peer has renewed its row, so that none relies on memory that this server may outdate. */
  async #join(): Promise<void> {
    const { store, clock, signals } = this.#options
    if (!this.#isNamed) await this.#takeName()
    const before = new Map((await this.#beat()).map(({ key, seenAt }) => [key, seenAt]))
    await store.upgrade?.requireOpen()
    signals.send()
    for (;;) {
      const at = clock.monotonic()
      const others = await this.#beat()
      if (others.every(({ key, seenAt }) => seenAt !== before.get(key))) {
        this.#beatAt = at
        return
      }
      await pause(retryMs)
    }
  }

  /** Takes the lock of the name. A row with the same name then belongs to a process that has ended. */
  async #takeName(): Promise<void> {
    const { clock, signals, id } = this.#options
    const until = clock.monotonic() + nameTimeoutMs
    const beats = new Set<number | null>()
    while (!(await signals.hold(id))) {
      const [row] = await signals.query<{ at: number | null }>(
        'select max(seen_at) as at from servers_server where server_id = ?',
        [id]
      )
      const isLive = beats.add(row?.at ?? null).size > 2 // a dead server can still have one late renewal
      if (isLive)
        throw new Fault(
          startupInvalid,
          `server_id ${id} is in use by another server; give each server another name`
        )
      if (clock.monotonic() > until)
        throw new Fault(
          storeInUse,
          `server_id ${id}: the database still holds the name for a server that does not answer; start again in a few seconds`
        )
      await pause(retryMs)
    }
    await signals.query('delete from servers_server where server_id = ?', [id])
    this.#isNamed = true
  }
}
