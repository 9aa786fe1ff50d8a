// SQL for the most common queries: conditions on columns of one table. MikroORM builds the others.
import {
  BigIntType,
  type EntityMetadata,
  type EntityProperty,
  isRaw,
  JsonType,
  ReferenceKind
} from '@mikro-orm/core'

/** A property that is stored in one column. */
interface Column {
  readonly name: string // of the property
  readonly sql: string // the column, with the table's alias
  readonly field: string // the column, without alias
  readonly read: ((stored: string | number) => unknown) | null // null: unchanged
  readonly write: ((value: unknown) => unknown) | null
  readonly isComputed: boolean
  readonly isNullable: boolean
}

/** The table of an entity without relations. */
export interface Table {
  readonly sql: string
  readonly columns: ReadonlyMap<string, Column>
  readonly keys: readonly string[] // properties of the primary key
  readonly all: Selected
}

/** The columns that a query returns. */
export interface Selected {
  readonly sql: string
  readonly read: (rows: readonly unknown[]) => readonly unknown[]
}

/** The database-specific parts of these queries. */
export interface Dialect {
  /** Returns a condition with one parameter for any number of values, so that one prepared statement suffices; else null. */
  isIn(column: string, values: readonly (string | number)[], sign: 'in' | 'not in'): Condition | null
  /** Follows the direction of a nullable column, so that null sorts first. */
  readonly nulls: { readonly asc: string; readonly desc: string }
}

interface Condition {
  readonly sql: string
  readonly param: unknown
}

type Where = Readonly<Record<string, unknown>>

const alias = 'own'
const quoted = (name: string): string => `"${name}"`
/** True for objects with `raw()` keys, which are symbols: MikroORM must handle them. */
const isObject = (value: unknown): value is Where =>
  typeof value === 'object' &&
  value !== null &&
  Object.getPrototypeOf(value) === Object.prototype &&
  Object.getOwnPropertySymbols(value).length === 0

/** Returns null for an entity with relations or custom types. */
export function tableOf(
  meta: Pick<EntityMetadata, 'props' | 'tableName'> & { readonly primaryKeys: readonly string[] }
): Table | null {
  const columns = meta.props.map(prop => columnOf(prop, meta))
  if (!columns.every(column => column !== null)) return null
  return {
    sql: `${quoted(meta.tableName)} as ${alias}`,
    columns: new Map(columns.map(column => [column.name, column])),
    keys: meta.primaryKeys,
    all: selectedOf(columns)
  }
}

function columnOf(prop: EntityProperty, meta: Pick<EntityMetadata, 'props' | 'tableName'>): Column | null {
  const isKey = prop.kind !== ReferenceKind.SCALAR && prop.mapToPk === true && prop.owner === true
  const [field, ...others] = prop.fieldNames
  if (field === undefined || others.length > 0 || !(prop.kind === ReferenceKind.SCALAR || isKey)) return null
  const { name, customType: type } = prop
  const isNullable = prop.nullable === true
  const column = {
    name,
    sql: `${alias}.${quoted(field)}`,
    field: quoted(field),
    isComputed: false,
    isNullable
  }
  const formula = prop.formula as unknown as ((columns: object, table: object) => unknown) | undefined
  if (formula) {
    const own = Object.fromEntries(meta.props.map(({ name, fieldNames: [of] }) => [name, `${alias}.${of}`]))
    const sql = formula(own, { alias, name: meta.tableName, toString: () => alias })
    return typeof sql === 'string' ? { ...column, sql, read: Boolean, write: null, isComputed: true } : null
  }
  if (type instanceof JsonType)
    return { ...column, read: text => JSON.parse(String(text)), write: value => JSON.stringify(value) }
  if (type && !(type instanceof BigIntType && type.mode === 'number')) return null
  return { ...column, read: prop.runtimeType === 'boolean' ? Boolean : null, write: null }
}

function selectedOf(columns: readonly Column[]): Selected {
  const read = columns.flatMap(({ name, read }) => (read ? [{ name, read }] : []))
  return {
    sql: columns.map(({ name, sql }) => `${sql} as ${quoted(name)}`).join(', '),
    read(rows) {
      for (const row of rows as Record<string, unknown>[])
        for (const { name, read: of } of read)
          if (row[name] !== null) row[name] = of(row[name] as string | number)
      return rows
    }
  }
}

const operators: Readonly<Record<string, string>> = {
  $eq: '=',
  $gt: '>',
  $gte: '>=',
  $lt: '<',
  $lte: '<=',
  $ne: '<>'
}

/** Builds the parts of one statement. Parts are null if the query is not plain. */
export class PlainQuery {
  readonly table: Table
  readonly params: unknown[] = []
  readonly #dialect: Dialect
  clause = '' // the condition

  constructor(table: Table, dialect: Dialect) {
    this.table = table
    this.#dialect = dialect
  }

  of(where: unknown): this | null {
    const condition = this.#where(where)
    if (condition !== null && condition !== '') this.clause = ` where ${condition}`
    return condition === null ? null : this
  }

  select(fields: readonly string[] | undefined): Selected | null {
    if (!fields) return this.table.all
    const columns = [...new Set([...this.table.keys, ...fields])].map(name => this.table.columns.get(name))
    return columns.every(column => column !== undefined) ? selectedOf(columns) : null
  }

  /** '' for all rows. */
  #where(where: unknown): string | null {
    if (!isObject(where)) return null
    const parts: string[] = []
    for (const name of Object.keys(where)) {
      const part = this.#part(name, where[name])
      if (part === null) return null
      if (part !== '') parts.push(part)
    }
    return parts.join(' and ')
  }

  #part(name: string, value: unknown): string | null {
    if (name === '$and' || name === '$or') return Array.isArray(value) ? this.#each(value, name) : null
    if (name === '$not') {
      const inner = this.#where(value)
      return inner === null || inner === '' ? null : `not (${inner})`
    }
    const column = this.table.columns.get(name)
    if (!column || column.write || column.isComputed) return null
    if (Array.isArray(value)) return this.#isIn(column.sql, value, 'in')
    if (!isObject(value)) return this.#compared(column.sql, '$eq', value)
    const parts = Object.entries(value).map(([operator, operand]) =>
      this.#compared(column.sql, operator, operand)
    )
    return parts.length === 0 || parts.includes(null) ? null : parts.join(' and ')
  }

  #each(conditions: readonly unknown[], name: '$and' | '$or'): string | null {
    const all = conditions.map(condition => this.#where(condition))
    const parts = name === '$and' ? all.filter(part => part !== '') : all // '' matches every row
    if (name === '$and' && parts.length === 0) return ''
    if (parts.length === 0 || parts.some(part => part === null || part === '')) return null
    return `(${parts.map(part => `(${part})`).join(name === '$and' ? ' and ' : ' or ')})`
  }

  #compared(column: string, operator: string, operand: unknown): string | null {
    if (operator === '$in' || operator === '$nin')
      return Array.isArray(operand) ? this.#isIn(column, operand, operator === '$in' ? 'in' : 'not in') : null
    const sign = operators[operator]
    if (sign === undefined || operand === undefined || typeof operand === 'object') {
      if (operand !== null || sign === undefined) return null
      return sign === '=' ? `${column} is null` : sign === '<>' ? `${column} is not null` : null
    }
    this.params.push(operand)
    return `${column} ${sign} ?`
  }

  #isIn(column: string, values: readonly unknown[], sign: 'in' | 'not in'): string | null {
    if (values.length === 0) return sign === 'in' ? '1 = 0' : '1 = 1'
    if (!values.every(value => typeof value === 'string' || Number.isSafeInteger(value))) return null
    const condition = this.#dialect.isIn(column, values as (string | number)[], sign)
    if (condition) this.params.push(condition.param)
    return condition?.sql ?? null
  }

  orderBy(order: unknown): string | null {
    if (order === undefined) return ''
    const parts: string[] = []
    for (const one of Array.isArray(order) ? order : [order]) {
      if (!isObject(one)) return null
      for (const [name, direction] of Object.entries(one)) {
        const column = this.table.columns.get(name)
        if (!column || !(direction === 'asc' || direction === 'desc')) return null
        parts.push(`${column.sql} ${direction}${column.isNullable ? this.#dialect.nulls[direction] : ''}`)
      }
    }
    return parts.length === 0 ? '' : ` order by ${parts.join(', ')}`
  }

  /** Returns the columns to set; null if a value is not plain. */
  values(data: unknown): readonly string[] | null {
    if (!isObject(data)) return null
    const columns: string[] = []
    const values: unknown[] = []
    for (const [name, value] of Object.entries(data)) {
      const column = this.table.columns.get(name)
      if (!column || column.isComputed || value === undefined || isRaw(value)) return null
      if (!column.write && typeof value === 'object' && value !== null) return null
      columns.push(column.field)
      values.push(value === null || !column.write ? value : column.write(value))
    }
    this.params.unshift(...values) // before the parameters of the condition
    return columns.length === 0 ? null : columns
  }

  into(data: unknown): { readonly sql: string; readonly columns: readonly string[] } | null {
    const columns = this.values(data)
    const marks = columns?.map(() => '?').join(', ')
    return (
      columns && { sql: `insert into ${this.table.sql} (${columns.join(', ')}) values (${marks})`, columns }
    )
  }
}
