import type { Query, Result, Statements } from './statements.ts'

/** One SQLite transaction that changes share. */
export class Group {
  readonly statements: Statements
  written = new Set<string>() // tables; '*' for any
  /** True after an automatic rollback of SQLite, for example on a full disk. */
  failure: unknown = null

  constructor(statements: Statements) {
    this.statements = statements
    this.control('begin immediate')
  }

  get isOpen(): boolean {
    return this.statements.inTransaction
  }

  requireOpen(): void {
    if (!this.isOpen) throw this.failure ?? new TypeError('the transaction was rolled back') // statements would run outside
  }

  control(sql: string): void {
    this.statements.run({ sql, values: [] })
  }
}

/** One change in a transaction that others can share. */
export class Transaction {
  readonly #group: Group
  #depth = 0 // of savepoints
  #sent = 0 // of them: the first statement in one sends it
  #hasEnded = false

  constructor(group: Group) {
    this.#group = group
  }

  run(query: Query): Result {
    if (this.#hasEnded) throw new TypeError('the change has ended; it was committed or rolled back')
    this.#group.requireOpen()
    while (this.#sent < this.#depth) this.#group.control(`savepoint part${++this.#sent}`)
    try {
      return this.#group.statements.run(query, tables => {
        for (const table of tables ?? ['*']) this.#group.written.add(table)
      })
    } catch (error) {
      if (!this.#group.isOpen) this.#group.failure = error
      throw error
    }
  }

  /** True if one of the tables may have uncommitted rows here. */
  hasWritten(tables: readonly string[]): boolean {
    const { written } = this.#group
    return written.size > 0 && (written.has('*') || tables.some(table => written.has(table)))
  }

  /** Rolls `work` back if it throws. */
  async within<T>(work: () => Promise<T>): Promise<T> {
    const name = `part${++this.#depth}`
    const written = new Set(this.#group.written)
    const isSent = (): boolean => this.#sent === this.#depth
    try {
      const result = await work()
      this.#group.requireOpen()
      if (isSent()) this.#group.control(`release ${name}`)
      return result
    } catch (error) {
      if (this.#group.isOpen && isSent()) {
        this.#group.control(`rollback to ${name}`)
        this.#group.control(`release ${name}`)
        this.#group.written = written // rolled back, so nothing was written
      }
      throw error
    } finally {
      this.#sent = Math.min(this.#sent, --this.#depth)
    }
  }

  /** Like `within`. Refuses statements after the end of `work`, for example after a timeout. */
  whole<T>(work: () => Promise<T>): Promise<T> {
    return this.within(() =>
      work().finally(() => {
        this.#hasEnded = true
      })
    )
  }
}
