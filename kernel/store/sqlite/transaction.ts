import type { Query, Result, Statements } from './statements.ts'

/** One transaction of SQLite, which changes share. */
export class Group {
  readonly statements: Statements
  written = new Set<string>() // tables; '*' for any
  /** SQLite rolls back by itself, when the disk is full for example. */
  failure: unknown = null

  constructor(statements: Statements) {
    this.statements = statements
    this.control('begin')
  }

  get isOpen(): boolean {
    return this.statements.inTransaction
  }

  /** What would follow would be no part of a transaction. */
  requireOpen(): void {
    if (!this.isOpen) throw this.failure ?? new TypeError('the transaction was rolled back')
  }

  control(sql: string): void {
    this.statements.run({ sql, values: [] })
  }
}

/** One change in a transaction that it may share with others. */
export class Transaction {
  readonly #group: Group
  #depth = 0
  #hasEnded = false

  constructor(group: Group) {
    this.#group = group
  }

  run(query: Query): Result {
    if (this.#hasEnded)
      throw new TypeError('the change has ended; its transaction was committed or rolled back')
    this.#group.requireOpen()
    try {
      return this.#group.statements.run(query, tables => {
        for (const table of tables ?? ['*']) this.#group.written.add(table)
      })
    } catch (error) {
      if (!this.#group.isOpen) this.#group.failure = error
      throw error
    }
  }

  /** True if one of the tables has, or may have, rows here that are not committed. */
  hasWritten(tables: readonly string[]): boolean {
    const { written } = this.#group
    return written.size > 0 && (written.has('*') || tables.some(table => written.has(table)))
  }

  /** Undoes what `work` has done when it throws. */
  async within<T>(work: () => Promise<T>): Promise<T> {
    const name = `part${++this.#depth}`
    const written = new Set(this.#group.written)
    this.#group.control(`savepoint ${name}`)
    try {
      const result = await work()
      this.#group.requireOpen()
      this.#group.control(`release ${name}`)
      return result
    } catch (error) {
      if (this.#group.isOpen) {
        this.#group.control(`rollback to ${name}`)
        this.#group.control(`release ${name}`)
        this.#group.written = written // what is undone is in no table
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
}
