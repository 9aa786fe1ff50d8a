import { isRaw, Utils } from '@mikro-orm/core'
import type { AbstractSqlPlatform } from '@mikro-orm/sql'
import { Fault, invalidSchema } from '../../base/errors.ts'

/** A statement with parameters $1, $2 and so on. */
export interface Query {
  readonly text: string
  readonly values: unknown[]
}

/** Values for `= any(?)`: all text, or all whole numbers. */
export class List {
  readonly values: readonly (string | number)[]

  constructor(values: readonly (string | number)[]) {
    this.values = values
  }
}

const maxValues = 65_535 // per statement, by the protocol
const question = /^\s*(?:select|delete)\b/i

/** Numbers the parameters. Adds casts for numbers and booleans: the SQL does not always imply their types. */
export function queryOf(sql: string, params: readonly unknown[], platform: AbstractSqlPlatform): Query {
  if (params.length === 0) return { text: sql, values: [] }
  if (params.length > maxValues || /\?\?|\\\?/.test(sql))
    return { text: platform.formatQuery(sql, params), values: [] }
  const values: unknown[] = []
  let at = 0
  const isQuestion = question.test(sql)
  const mark = (value: unknown): string => {
    if (value === null || value === undefined || (isQuestion && hasNul(value))) return 'null' // equals nothing
    if (Array.isArray(value)) return value.map(mark).join(', ')
    if (isRaw(value)) return platform.quoteValue(value)
    const [bound, type] = boundOf(value)
    return `$${values.push(bound)}${type}`
  }
  return { text: sql.replaceAll('?', () => mark(params[at++])), values }
}

/** Returns the value and its cast. Text has no cast: MikroORM writes large numbers as text. */
function boundOf(value: unknown): readonly [value: unknown, type: string] {
  switch (typeof value) {
    case 'string':
      if (!hasNul(value)) return [value, '']
      throw new Fault(invalidSchema, 'a text has the character U+0000, which is not stored')
    case 'bigint':
      return [value, '::int8']
    case 'number':
      return [value, Number.isSafeInteger(value) ? '::int8' : '::float8']
    case 'boolean':
      return [value, '::boolean']
    default:
  }
  if (value instanceof List) return listOf(value)
  if (Buffer.isBuffer(value)) return [value, '::bytea']
  if (value instanceof Date) return [value.toISOString(), '::timestamptz']
  if (Utils.isPlainObject(value)) return [JSON.stringify(value), '']
  throw new TypeError(`a value of a statement is ${Object.prototype.toString.call(value)}`)
}

const listOf = ({ values }: List): readonly [unknown, string] =>
  typeof values[0] === 'string'
    ? [values.map(String).filter(value => !hasNul(value)), '::text[]']
    : [values, '::int8[]']

/** PostgreSQL cannot store NUL in text. */
const hasNul = (value: unknown): boolean => typeof value === 'string' && value.includes('\0')
