// Records the statements of the store. Their number is the same on any machine.
import SQLite from 'better-sqlite3'
import type { Test } from 'tap'
import { Statements } from '../../kernel/store/sqlite/statements.ts'

export interface StatementLog {
  readonly sql: string[] // executed statements
  readonly texts: string[] // prepared statements, including those before a reset
  prepared: number
  reset(): void
}

/** Records the statements of all stores of this process until the test ends. */
export function recordStatements(t: Pick<Test, 'teardown'>): StatementLog {
  const run = Statements.prototype.run
  const prepare = SQLite.prototype.prepare
  t.teardown(() => {
    Statements.prototype.run = run
    SQLite.prototype.prepare = prepare
  })
  const asked: StatementLog = {
    sql: [],
    texts: [],
    prepared: 0,
    reset() {
      asked.sql.length = 0
      asked.prepared = 0
    }
  }
  Statements.prototype.run = function (query, writes) {
    asked.sql.push(query.sql)
    return run.call(this, query, writes)
  }
  SQLite.prototype.prepare = function (this: SQLite.Database, text: string) {
    asked.prepared++
    asked.texts.push(text)
    return prepare.call(this, text)
  } as typeof prepare
  return asked
}
