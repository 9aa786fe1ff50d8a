import { StoreEntityManager } from '../sql/entity-manager.ts'
import type { Dialect } from '../sql/plain-query.ts'
import type { StoreDriver } from './connection.ts'

const dialect: Dialect = {
  isIn(column, values, sign) {
    if (values.some(value => typeof value === 'string' && (value.includes('\0') || !value.isWellFormed())))
      return null // SQLite's JSON cannot represent it
    return { sql: `${column} ${sign} (select value from json_each(?))`, param: JSON.stringify(values) }
  },
  nulls: { asc: '', desc: '' } // the default
}

export class SqliteEntityManager extends StoreEntityManager<StoreDriver> {
  protected override readonly dialect = dialect
}
