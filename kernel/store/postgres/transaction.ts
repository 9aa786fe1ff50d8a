import type { Client } from 'pg'
import type { Statement } from '../sql/watch.ts'
import type { Query } from './query.ts'

export interface Result {
  readonly rows: readonly unknown[]
  readonly affectedRows: number
  readonly command?: string // as PostgreSQL names what it has done
}

/** Of a database that does not answer; its own limits are shorter. */
const answerMs = 20_000

/** Runs a statement, or several without values. Rejects when there is no answer, unless `isPatient`. */
export async function run(client: Client, { text, values }: Query, isPatient = false): Promise<Result> {
  const limit = isPatient ? {} : { query_timeout: answerMs }
  const { rows, rowCount, command } = await client.query({
    text,
    ...(values.length > 0 && { values }),
    ...limit
  })
  return { rows: rows ?? [], affectedRows: rowCount ?? 0, command }
}

const writes = /\b(?:insert\s+into|update|delete\s+from)\s+(?!set\b)(?:"?\w+"?\.)?"?(\w+)"?/gi
const reads = /^\s*(?:select|with|set|savepoint|release|rollback)\b/i

/** Tables that a statement writes to; '*' is any. */
export function writtenBy(text: string, childrenOf: (table: string) => readonly string[]): readonly string[] {
  const found = [...text.matchAll(writes)].map(([, table = '']) => table)
  if (found.length === 0) return reads.test(text) ? [] : ['*']
  return /\bdelete\s+from\b/i.test(text) ? found.flatMap(table => [table, ...childrenOf(table)]) : found
}

/** One change. */
export class Transaction {
  readonly written = new Set<string>() // tables; '*' for any
  readonly revoked: Statement[] = [] // see `noteRevoked`
  rowsWritten = 0
  readonly #client: Client
  readonly #childrenOf: (table: string) => readonly string[]
  readonly #isPatient: boolean
  #depth = 0
  #hasEnded = false

  /** `isPatient`: its statements may take any time, as those of migrations. */
  constructor(client: Client, childrenOf: (table: string) => readonly string[], isPatient: boolean) {
    this.#client = client
    this.#childrenOf = childrenOf
    this.#isPatient = isPatient
  }

  async run(query: Query): Promise<Result> {
    if (this.#hasEnded)
      throw new TypeError('the change has ended; its transaction was committed or rolled back')
    const tables = writtenBy(query.text, this.#childrenOf)
    for (const table of tables) this.written.add(table)
    const result = await run(this.#client, query, this.#isPatient)
    if (tables.length > 0) this.rowsWritten += result.affectedRows
    return result
  }

  /** True if one of the tables has, or may have, rows here that are not committed. */
  hasWritten(tables: readonly string[]): boolean {
    return this.written.size > 0 && (this.written.has('*') || tables.some(table => this.written.has(table)))
  }

  /** Undoes what `work` has done when it throws. */
  async within<T>(work: () => Promise<T>): Promise<T> {
    const name = `part${++this.#depth}`
    const noted = this.revoked.length
    await this.#control(`savepoint ${name}`)
    try {
      const result = await work()
      await this.#control(`release ${name}`)
      return result
    } catch (error) {
      await this.#control(`rollback to ${name}; release ${name}`).catch(() => {}) // then all of it is rolled back
      this.revoked.length = noted
      throw error
    } finally {
      this.#depth--
    }
  }

  /** What still runs when `work` has ended, as after a timeout, is refused from then on. */
  async whole<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } finally {
      this.#hasEnded = true
    }
  }

  #control(text: string): Promise<Result> {
    return run(this.#client, { text, values: [] })
  }
}
