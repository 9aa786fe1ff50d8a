// PostgreSQL for MikroORM: groups of changes on one connection, and reads of committed rows on others.
import type { AnyEntity, Configuration, Dictionary, EntityData, QueryResult } from '@mikro-orm/core'
import { AbstractSqlConnection, AbstractSqlDriver, BasePostgreSqlPlatform } from '@mikro-orm/sql'
import type { Client } from 'pg'
import { Fault } from '../../base/errors.ts'
import { mayHaveBegunIn } from '../fair-order.ts'
import { type Method, type Params, partsOf, type Sql, shaped } from '../sql/statement.ts'
import type { WatchOf } from '../sql/store-watch.ts'
import { Versions } from '../sql/versions.ts'
import { faultOf } from './failures.ts'
import { changeOn, Groups } from './groups.ts'
import { type Query, queryOf } from './query.ts'
import { schemaStatement } from './schema.ts'
import { type Place, Sessions, shareLock } from './sessions.ts'
import { PostgresSignals } from './signals.ts'
import { Group, type Result, run, Transaction } from './transaction.ts'

const select = /^\s*(?:select|with)\b/i
type Runs = Pick<Transaction, 'run'>

export class StoreConnection extends AbstractSqlConnection {
  readonly versions = new Versions()
  signals: PostgresSignals | null = null // of a server
  #sessions: Sessions | null = null
  #children: ReadonlyMap<string, readonly string[]> = new Map()
  #isMigrating = true
  #watch: WatchOf<Transaction> | null = null
  readonly #groups = new Groups({
    begin: async () => this.#groupOn(await this.#open().writer()),
    revoked: async group => (await this.#watch?.revoked(group.revoked, new Transaction(group))) ?? (() => {}),
    ended: ({ written, isSuspect, isCommitting, client }) => {
      if (isSuspect) this.#sessions?.leave(client, isCommitting)
      this.versions.changed(written)
    }
  })

  override async connect(): Promise<void> {
    const place = this.options.driverOptions as unknown as Place // from `openStore`
    const sessions = new Sessions(place, {
      opened: (...opened) => this.#reportOpened(...opened).finally(() => this.versions.changed(['*'])),
      replaceWriter: () => this.change(async () => {}) // it replaces the writer first
    })
    this.#sessions = sessions
    await sessions.open()
    if (place.isShared) await this.#openSignals(sessions)
    this.connected = true
  }

  async #openSignals(sessions: Sessions): Promise<void> {
    const { connectForSignals: connect } = sessions
    this.signals = new PostgresSignals({ connect, lock: shareLock, platform: this.platform })
    await this.signals.open()
    await this.signals.requireHearing(await sessions.writer())
    await sessions.lockMigrations()
  }

  /** Called after the migrations: later statements are not rewritten. */
  async openReader(): Promise<void> {
    if (this.signals) await this.#open().migrated()
    this.#isMigrating = false
    this.#children = await this.#open().read(childrenIn)
  }

  async settled(): Promise<void> {
    if (mayHaveBegunIn(this.#groups.payers)) await this.#groups.running
  }

  /** See `watchStore`. */
  async watch(watch: WatchOf<Transaction>): Promise<void> {
    this.#watch = watch
    await this.change(async () => this.#reportOpened(await this.#open().writer(), this.#open().cluster)) // a change without statements
  }

  async #reportOpened(client: Client, cluster: string | null): Promise<void> {
    const watch = this.#watch
    if (!watch) return
    const committed = await changeOn(
      () => this.#groupOn(client),
      change => watch.opened(cluster, change)
    )
    committed()
  }

  #groupOn = (client: Client): Group => new Group(client, this.#childrenOf, this.#isMigrating)

  override async close(force?: boolean): Promise<void> {
    await Promise.all([this.signals?.close(), this.#sessions?.close()])
    this.#sessions = null
    await super.close(force)
  }

  override createKyselyDialect(): never {
    throw new TypeError('statements go to pg')
  }

  override async execute<
    T extends QueryResult | EntityData<AnyEntity> | EntityData<AnyEntity>[] = EntityData<AnyEntity>[]
  >(sql: Sql, params: Params = [], method: Method = 'all', transaction?: Runs): Promise<T> {
    const query = this.#queryOf(sql, params)
    try {
      const result = transaction ? await transaction.run(query) : await this.#runAlone(query)
      return shaped(result, method) as T
    } catch (error) {
      throw faultOf(error)
    }
  }

  #queryOf(sql: Sql, params: Params): Query {
    const { sql: text, params: values } = partsOf(sql, params)
    return queryOf(this.#isMigrating ? schemaStatement(text, this.#booleans()) : text, values, this.platform)
  }

  /** Returns the names of boolean columns, independent of their type in migrations. */
  #booleans(): ReadonlySet<string> {
    const all = [...this.metadata.getAll().values()].flatMap(({ props }) => props)
    return new Set(
      all.filter(({ runtimeType }) => runtimeType === 'boolean').flatMap(({ fieldNames }) => fieldNames)
    )
  }

  async #runAlone(query: Query): Promise<Result> {
    if (!this.#isMigrating && select.test(query.text)) return this.#open().read(client => run(client, query))
    return this.change(transaction => transaction.run(query))
  }

  /** Runs a savepoint in the given transaction, or a new transaction. */
  override async transactional<T>(
    work: (transaction: never) => Promise<T>,
    { ctx }: { readonly ctx?: unknown } = {}
  ): Promise<T> {
    if (ctx instanceof Transaction) return ctx.within(() => work(ctx as never))
    return this.change(transaction => work(transaction as never))
  }

  change<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.#groups.change(work)
  }

  readonly #childrenOf = (table: string): readonly string[] => this.#children.get(table) ?? []

  #open(): Sessions {
    if (!this.#sessions) throw new TypeError('the store is not open')
    return this.#sessions
  }
}

/** Returns, for each table, those that lose rows with it by `on delete cascade`, transitively. */
async function childrenIn(client: Client): Promise<Map<string, string[]>> {
  const { rows } = await client.query<{ parent: string; child: string }>(
    `with recursive own (parent, child) as (
      select parent.relname, child.relname from pg_constraint
      join pg_class parent on parent.oid = confrelid join pg_class child on child.oid = conrelid where contype = 'f'),
    lost (parent, child) as (
      select * from own union select lost.parent, own.child from lost join own on own.parent = lost.child)
    select parent, child from lost`
  )
  const children = Map.groupBy(rows, ({ parent }) => parent)
  return new Map([...children].map(([parent, found]) => [parent, found.map(({ child }) => child)]))
}

export class StoreDriver extends AbstractSqlDriver<StoreConnection> {
  constructor(config: Configuration) {
    super(config, new StorePlatform(), StoreConnection, ['pg'])
  }
}

class StorePlatform extends BasePostgreSqlPlatform {
  /** Faults pass unchanged. */
  override getExceptionConverter() {
    const own = super.getExceptionConverter()
    const convertException = (error: Error & Dictionary) =>
      error instanceof Fault ? (error as never) : own.convertException(error)
    return { convertException }
  }

  /** JSON is stored as text, which preserves key order and can contain U+0000. */
  override getJsonDeclarationSQL(): string {
    return 'text'
  }

  override convertsJsonAutomatically(): boolean {
    return false
  }
}
