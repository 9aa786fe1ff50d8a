import type { Query, Result, Statements } from './statements.ts'

/** What the changes of one transaction of SQLite share. */
export interface Shared {
  readonly statements: Statements
  readonly written: Set<string> // tables; '*' for any
  /** SQLite rolls back by itself, when the disk is full for example. */
  failure: unknown
}

/** One change in a transaction that it may share with others. */
export class Transaction {
  readonly #shared: Shared
  #depth = 0
  #hasEnded = false

  constructor(shared: Shared) {
    this.#shared = shared
  }

  run(query: Query): Result {
    if (this.#hasEnded)
      throw new TypeError('the change has ended; its transaction was committed or rolled back')
    this.#requireOpen()
    const { statements, written } = this.#shared
    try {
      return statements.run(query, tables => {
        for (const table of tables ?? ['*']) written.add(table)
      })
    } catch (error) {
      if (!statements.inTransaction) this.#shared.failure = error
      throw error
    }
  }

  /** True if one of the tables has, or may have, rows here that are not committed. */
  hasWritten(tables: readonly string[]): boolean {
    const { written } = this.#shared
    return written.size > 0 && (written.has('*') || tables.some(table => written.has(table)))
  }

  /** Undoes what `work` has done when it throws. */
  async within<T>(work: () => Promise<T>): Promise<T> {
    const name = `part${++this.#depth}`
    this.#control(`savepoint ${name}`)
    try {
      const result = await work()
      this.#requireOpen()
      this.#control(`release ${name}`)
      return result
    } catch (error) {
      if (this.#shared.statements.inTransaction) {
        this.#control(`rollback to ${name}`)
        this.#control(`release ${name}`)
      }
      throw error
    } finally {
      this.#depth--
    }
  }

  /** As `within`. What still runs when `work` has ended, as after a timeout, is refused from then on. */
  whole<T>(work: () => Promise<T>): Promise<T> {
    return this.within(() =>
      work().finally(() => {
        this.#hasEnded = true
      })
    )
  }

  /** What would follow would be no part of a transaction. */
  #requireOpen(): void {
    if (!this.#shared.statements.inTransaction)
      throw this.#shared.failure ?? new TypeError('the transaction was rolled back')
  }

  #control(sql: string): void {
    this.#shared.statements.run({ sql, values: [] })
  }
}
