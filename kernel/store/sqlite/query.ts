import { isRaw, Utils } from '@mikro-orm/core'
import type { AbstractSqlPlatform } from '@mikro-orm/sql'
import type { Query, Value } from './statements.ts'

const maxValues = 1000 // each number of values needs a prepared statement

/** Returns a query with separate values, or with literals if a value is a list or raw SQL. */
export function queryOf(sql: string, params: readonly unknown[], platform: AbstractSqlPlatform): Query {
  const values = params.length > maxValues || /\?\?|\\\?/.test(sql) ? null : params.map(boundOf)
  if (values?.every(value => value !== undefined)) return { sql, values }
  return { sql: platform.formatQuery(sql, params), values: null }
}

/** Binds whole numbers as integers, like MikroORM's literals: SQLite distinguishes them from reals. */
export function boundOf(param: unknown): Value | undefined {
  switch (typeof param) {
    case 'string':
    case 'bigint':
      return param
    case 'number':
      return Number.isSafeInteger(param) ? BigInt(param) : param
    case 'boolean':
      return param ? 1n : 0n
    case 'undefined':
      return null
    default:
  }
  if (param === null || Buffer.isBuffer(param)) return param
  if (param instanceof Date) return BigInt(param.getTime())
  return Utils.isPlainObject(param) && !isRaw(param) ? JSON.stringify(param) : undefined
}
