import { StoreEntityManager } from '../sql/entity-manager.ts'
import type { Dialect } from '../sql/plain-query.ts'
import type { StoreDriver } from './connection.ts'
import { List } from './query.ts'

const dialect: Dialect = {
  isIn(column, values, sign) {
    if (new Set(values.map(value => typeof value)).size > 1) return null
    return { sql: sign === 'in' ? `${column} = any(?)` : `${column} <> all(?)`, param: new List(values) }
  },
  nulls: { asc: ' nulls first', desc: ' nulls last' }
}

export class PostgresEntityManager extends StoreEntityManager<StoreDriver> {
  protected override readonly dialect = dialect
}
