// Runs SQL on one connection to SQLite, and caches prepared statements.
import Database from 'better-sqlite3'

/** A LIMIT parameter is part of the plan: SQLite would prepare the statement again for each value. */
const bareLimit = /\blimit \?(?= offset|\)|\s*$)/gi
const maxKept = 1000 // statements; beyond it, the least recently used is evicted
const kept = /^\s*(select|insert|update|delete|replace|with|begin|commit|rollback|savepoint|release)\b/i
const written =
  /\b(?:insert(?:\s+or\s+\w+)?\s+into|replace\s+into|update(?:\s+or\s+\w+)?|delete\s+from)\s+(?:[`"]?\w+[`"]?\.)?[`"]?(\w+)/i

interface Prepared {
  readonly statement: Database.Statement
  /** The tables that it writes; null for any. */
  readonly tables: readonly string[] | null
}

export interface Result {
  readonly rows: readonly unknown[]
  readonly affectedRows: number
  readonly insertId?: number
}

export type Value = string | number | bigint | Buffer | null

export interface Query {
  readonly sql: string
  readonly values: readonly Value[] | null // null: literals in the SQL, which is not cached
}

export class Statements {
  readonly #database: Database.Database
  readonly #kept = new Map<string, Prepared>()
  #children: ReadonlyMap<string, readonly string[]> | null = null

  constructor(file: string, pragmas: readonly string[]) {
    this.#database = new Database(file)
    for (const pragma of pragmas) this.#database.pragma(pragma)
  }

  get inTransaction(): boolean {
    return this.#database.inTransaction
  }

  /** Reports written tables to `writes`; null for any. */
  run({ sql, values }: Query, writes: (tables: readonly string[] | null) => void = () => {}): Result {
    const { statement, tables } = values ? this.#prepare(sql) : this.#prepareAnew(sql)
    try {
      if (statement.reader) {
        const rows = statement.all(...(values ?? []))
        return { rows, affectedRows: rows.length }
      }
      const { changes, lastInsertRowid } = statement.run(...(values ?? []))
      return { rows: [], affectedRows: changes, insertId: Number(lastInsertRowid) }
    } finally {
      if (tables === null || tables.length > 0) writes(tables)
    }
  }

  #prepare(sql: string): Prepared {
    const found = this.#kept.get(sql)
    this.#kept.delete(sql) // and set again: the map is in order of use
    const prepared = found ?? this.#prepareAnew(sql.replace(bareLimit, '$& + 0'))
    if (!kept.test(sql)) this.#forget()
    else this.#kept.set(sql, prepared)
    if (this.#kept.size > maxKept) this.#kept.delete(this.#kept.keys().next().value ?? '') // looked up only now: it is a scan
    return prepared
  }

  #prepareAnew(sql: string): Prepared {
    const statement = this.#database.prepare(sql)
    if (statement.readonly) return { statement, tables: [] }
    const [, table] = written.exec(sql) ?? []
    const isDelete = /^\s*(delete|replace|insert\s+or\s+replace)\b/i.test(sql)
    return {
      statement,
      tables: table === undefined ? null : isDelete ? [table, ...this.#childrenOf(table)] : [table]
    }
  }

  /** Other statements may change the schema. */
  #forget(): void {
    this.#kept.clear()
    this.#children = null
  }

  /** The tables that lose rows with this table by `on delete cascade`, transitively. */
  #childrenOf(table: string): readonly string[] {
    this.#children ??= childrenIn(this.#database)
    return this.#children.get(table) ?? []
  }

  close(): void {
    this.#database.close()
  }
}

function childrenIn(database: Database.Database): Map<string, string[]> {
  const rows = database
    .prepare(
      `with recursive own (parent, child) as (
         select key."table", child.name from sqlite_schema child join pragma_foreign_key_list(child.name) key
         where child.type = 'table'),
       lost (parent, child) as (
         select * from own union select lost.parent, own.child from lost join own on own.parent = lost.child)
       select * from lost`
    )
    .all() as { child: string; parent: string }[]
  const children = Map.groupBy(rows, ({ parent }) => parent)
  return new Map([...children].map(([parent, found]) => [parent, found.map(({ child }) => child)]))
}
