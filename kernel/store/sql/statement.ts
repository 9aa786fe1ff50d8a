// Statements of MikroORM, and the results that it expects.
import { type Dictionary, isRaw, type RawQueryFragment } from '@mikro-orm/core'
import { type NativeQueryBuilder, raw } from '@mikro-orm/sql'

export type Method = 'all' | 'get' | 'run'
export type Sql = string | NativeQueryBuilder | RawQueryFragment
export type Params = readonly unknown[] | Dictionary<unknown>

/** Splits the text at each `?`, and returns the values for them. */
export function partsOf(
  sql: Sql,
  params: Params
): { readonly sql: string; readonly params: readonly unknown[] } {
  if (typeof sql === 'string') return Array.isArray(params) ? { sql, params } : raw(sql, params)
  return isRaw(sql) ? sql : sql.toRaw()
}

interface Result {
  readonly rows: readonly unknown[]
  readonly affectedRows: number
  readonly insertId?: number
}

export function shaped({ rows, affectedRows, insertId }: Result, method: Method): unknown {
  if (method === 'all') return rows
  return method === 'get' ? rows[0] : { affectedRows, insertId, row: rows[0], rows }
}
