// An entity manager that runs plain queries without MikroORM's query builder and returns plain objects.
import type { EntityName } from '@mikro-orm/core'
import { type AbstractSqlDriver, SqlEntityManager } from '@mikro-orm/sql'
import { noted } from '../after-commit.ts'
import type { withoutReply } from '../without-reply.ts'
import { type Dialect, PlainQuery, type Table, tableOf } from './plain-query.ts'

const tables = new WeakMap<object, Table | null>() // by metadata, which each store has
const noLimit = Number.MAX_SAFE_INTEGER

/** Options of plain queries. */
interface Options {
  readonly fields?: readonly string[]
  readonly orderBy?: unknown
  readonly limit?: number
  readonly offset?: number
}
type Sending = ReturnType<typeof withoutReply>
const known = new Set(['fields', 'orderBy', 'limit', 'offset', 'disableIdentityMap', 'refresh'])
const isPlain = (options: object): options is Options => Object.keys(options).every(key => known.has(key))

/** Reads rows as plain objects, without an identity map; write them with `nativeUpdate`. MikroORM handles other queries. */
export abstract class StoreEntityManager<D extends AbstractSqlDriver> extends SqlEntityManager<D> {
  protected abstract readonly dialect: Dialect

  // The base class defines the types of the results.
  override async find(entity: unknown, where: unknown, options: object = {}): Promise<never> {
    const rows = await this.#rows(entity, where, options)
    return (rows ?? super.find(entity as EntityName<object>, where as object, options)) as never
  }

  override async findOne(entity: unknown, where: unknown, options: object = {}): Promise<never> {
    const rows = await this.#rows(entity, where, { ...options, limit: 1 })
    return (
      rows ? (rows[0] ?? null) : super.findOne(entity as EntityName<object>, where as object, options)
    ) as never
  }

  override async count(entity: unknown, where: unknown = {}, options: object = {}): Promise<number> {
    const query = this.#plain(entity, where, options)
    if (!query) return super.count(entity as EntityName<object>, where as object, options)
    const sql = `select count(*) as count from ${query.table.sql}${query.clause}`
    const [row] = await this.execute<{ count: number }[]>(sql, query.params)
    return row?.count ?? 0
  }

  override async nativeUpdate(
    entity: unknown,
    where: unknown,
    data: unknown,
    { ctx, ...options }: Sending = {}
  ): Promise<number> {
    const query = this.#plain(entity, where, options)
    const columns = query?.values(data)
    if (!query || !columns)
      return super.nativeUpdate(entity as EntityName<object>, where as object, data as object, options)
    const set = columns.map(column => `${column} = ?`).join(', ')
    return this.#affected(`update ${query.table.sql} set ${set}${query.clause}`, query, ctx)
  }

  override async nativeDelete(entity: unknown, where: unknown, options: object = {}): Promise<number> {
    const query = this.#plain(entity, where, options)
    if (!query) return super.nativeDelete(entity as EntityName<object>, where as object, options)
    return this.#affected(`delete from ${query.table.sql}${query.clause}`, query)
  }

  override async insert(entity: unknown, data: unknown, { ctx, ...options }: Sending = {}): Promise<never> {
    const query = this.#plain(entity, {}, options)
    const into = query?.into(data)
    const [key, ...others] = query?.table.keys ?? []
    const isGiven = key !== undefined && others.length === 0 && Reflect.get(Object(data), key) !== undefined
    if (!query || !into || !isGiven)
      return (await super.insert(entity as EntityName<object>, data as object, options)) as never
    await this.#affected(into.sql, query, ctx)
    return Reflect.get(Object(data), key) as never
  }

  override async upsert(entity: unknown, data: unknown, options: object = {}): Promise<never> {
    const query = this.#plain(entity, {}, options)
    const into = query?.into(data)
    const hasKey = query?.table.keys.every(key => Reflect.get(Object(data), key) !== undefined)
    if (!query || !into || !hasKey)
      return (await super.upsert(entity as EntityName<object>, data as object, options)) as never
    const keys = query.table.keys.flatMap(key => query.table.columns.get(key)?.field ?? [])
    const others = into.columns.filter(column => !keys.includes(column))
    const set = others.map(column => `${column} = excluded.${column}`).join(', ')
    const action = set === '' ? 'nothing' : `update set ${set}`
    await this.#affected(`${into.sql} on conflict (${keys.join(', ')}) do ${action}`, query)
    return { ...(data as object) } as never
  }

  override async countBy(
    entity: unknown,
    by: unknown,
    { where = {}, ...options }: { readonly where?: unknown } = {}
  ): Promise<Record<string, number>> {
    const query = this.#plain(entity, where, options)
    const column = typeof by === 'string' ? query?.table.columns.get(by)?.sql : undefined
    if (!query || column === undefined)
      return super.countBy(entity as EntityName<object>, by as never, { where, ...options } as object)
    const sql = `select ${column} as key, count(*) as count from ${query.table.sql}${query.clause} group by ${column}`
    const rows = await this.execute<{ key: string; count: number }[]>(sql, query.params)
    return Object.fromEntries(rows.map(({ key, count }) => [key, count]))
  }

  /** Runs a part of a change, which is rolled back alone if it throws. */
  override async transactional<T>(work: (em: this) => T | Promise<T>, options?: object): Promise<T> {
    const transaction = this.getTransactionContext<object>()
    const calls = transaction ? noted(transaction) : []
    const before = calls.length
    try {
      return await super.transactional(work, options)
    } catch (error) {
      calls.length = before
      throw error
    }
  }

  async #rows(entity: unknown, where: unknown, options: object): Promise<readonly unknown[] | null> {
    if (!isPlain(options)) return null
    const query = this.#plain(entity, where, {})
    const selected = query?.select(options.fields)
    const order = query?.orderBy(options.orderBy)
    if (!query || !selected || order == null) return null
    const { limit, offset } = options
    if (limit !== undefined || offset !== undefined) query.params.push(limit ?? noLimit, offset ?? 0)
    const page = limit === undefined && offset === undefined ? '' : ' limit ? offset ?'
    const sql = `select ${selected.sql} from ${query.table.sql}${query.clause}${order}${page}`
    return selected.read(await this.execute<unknown[]>(sql, query.params))
  }

  async #affected(sql: string, { params }: PlainQuery, ctx?: Sending['ctx']): Promise<number> {
    const own = ctx ?? this.getTransactionContext()
    const result = await this.getDriver().execute<{ affectedRows: number }>(sql, params, 'run', own)
    return result.affectedRows
  }

  /** Returns null for statements that MikroORM must build. */
  #plain(entity: unknown, where: unknown, options: object): PlainQuery | null {
    const table = Object.keys(options).length === 0 ? this.#tableOf(entity) : null
    return table && new PlainQuery(table, this.dialect).of(where)
  }

  #tableOf(entity: unknown): Table | null {
    const meta = this.getMetadata().find(entity as EntityName<object>)
    if (!meta) return null
    const found = tables.get(meta)
    if (found !== undefined) return found
    const table = tableOf(meta)
    tables.set(meta, table)
    return table
  }
}
