// SQLite for MikroORM: one connection for writes, and one that reads committed rows.
import type { AnyEntity, Configuration, EntityData, QueryResult } from '@mikro-orm/core'
import { AbstractSqlDriver, BaseSqliteConnection, SqlitePlatform } from '@mikro-orm/sql'
import { mayHaveBegunIn } from '../fair-order.ts'
import { type Method, type Params, partsOf, type Sql, shaped } from '../sql/statement.ts'
import { Versions } from '../sql/versions.ts'
import { Groups } from './groups.ts'
import { queryOf } from './query.ts'
import { type Query, type Result, Statements } from './statements.ts'
import { Group, Transaction } from './transaction.ts'
import { waitForLock } from './wait-for-lock.ts'

const pragmas = [
  'journal_mode = wal',
  'synchronous = full',
  'foreign_keys = on',
  'trusted_schema = off',
  'temp_store = memory',
  'cache_size = -32000',
  'busy_timeout = 0' // SQLite would wait in the event loop
]

/** ATTACH, BEGIN and PRAGMA change connection state; later statements must use the same connection. */
const ownState = /^\s*(attach|begin|savepoint|pragma\s+\w+\s*=)/i
const select = /^\s*(select|with)\b/i

export class StoreConnection extends BaseSqliteConnection {
  readonly versions = new Versions()
  readonly signals = null
  readonly groups = new Groups({
    begin: () => waitForLock(() => new Group(this.#open())),
    exclusively: work => this.#exclusively(work),
    committed: tables => this.versions.changed(tables)
  })
  readonly change = this.groups.change.bind(this.groups)
  #writer: Statements | null = null
  #reader: Statements | null = null
  #last: Promise<unknown> = Promise.resolve()

  override async connect(): Promise<void> {
    this.#writer = new Statements(this.#file(), pragmas)
    this.connected = true
  }

  /** Lets reads run beside changes. Not for in-memory databases, which belong to one connection. */
  openReader(): void {
    if (this.#file() === ':memory:') return
    this.#reader = new Statements(this.#file(), [...pragmas, 'query_only = on'])
  }

  async settled(): Promise<void> {
    if (this.groups.isRunning && mayHaveBegunIn(this.groups.payers)) await this.#last
  }

  #file = (): string => String(this.options.dbName ?? this.config.get('dbName'))

  override async close(force?: boolean): Promise<void> {
    this.#reader?.close()
    this.#writer?.close()
    this.connected = false
    await super.close(force)
  }

  override async execute<
    T extends QueryResult | EntityData<AnyEntity> | EntityData<AnyEntity>[] = EntityData<AnyEntity>[]
  >(sql: Sql, params: Params = [], method: Method = 'all', transaction?: Transaction): Promise<T> {
    const query = this.#queryOf(sql, params)
    const result = transaction ? transaction.run(query) : await this.#runAlone(query)
    return shaped(result, method) as T
  }

  #queryOf(sql: Sql, params: Params): Query {
    const parts = partsOf(sql, params)
    return queryOf(parts.sql, parts.params, this.platform)
  }

  async #runAlone(query: Query): Promise<Result> {
    if (this.#reader && select.test(query.sql)) {
      const writer = this.#open() // its page cache is warm; that of the reader is empty after each change
      return (writer.inTransaction ? this.#reader : writer).run(query, this.#changed)
    }
    return this.#exclusively(async () => {
      if (ownState.test(query.sql)) {
        this.#reader?.close()
        this.#reader = null
      }
      return waitForLock(() => this.#open().run(query, this.#changed))
    })
  }

  /** Runs a savepoint in the given transaction, or a new transaction. */
  override async transactional<T>(
    work: (transaction: never) => Promise<T>,
    { ctx }: { readonly ctx?: unknown } = {}
  ): Promise<T> {
    if (ctx instanceof Transaction) return ctx.within(() => work(ctx as never))
    return this.change(transaction => work(transaction as never))
  }

  readonly #changed = (tables: readonly string[] | null): void => this.versions.changed(tables ?? ['*'])

  #exclusively<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work)
    this.#last = result.catch(() => {}) // the caller gets the error
    return result
  }

  #open(): Statements {
    if (!this.#writer) throw new TypeError('the store is not open')
    return this.#writer
  }
}

export class StoreDriver extends AbstractSqlDriver<StoreConnection> {
  constructor(config: Configuration) {
    super(config, new StorePlatform(), StoreConnection, ['better-sqlite3'])
  }
}

class StorePlatform extends SqlitePlatform {
  /** Literals are part of the statement, which ends at a NUL. */
  override escape(value: unknown): string {
    return super.escape(value).replaceAll('\0', "'||char(0)||'")
  }
}
