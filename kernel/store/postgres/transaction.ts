import { hash } from 'node:crypto'
import { nextTick } from 'node:process'
import type { Client } from 'pg'
import type { Statement } from '../sql/store-watch.ts'
import { isConflict, isLost, isUnprepared, stateOf, unknownOutcome } from './failures.ts'
import type { Query } from './query.ts'

export interface Result {
  readonly rows: readonly unknown[]
  readonly affectedRows: number
  readonly command?: string // the command tag
}

/** For an unresponsive database; its own timeouts are shorter. */
const answering: object = { query_timeout: 20_000 }

/** Runs a statement, or several without values, and returns the last result. Rejects if there is no answer. */
export async function run(client: Client, { text, values }: Query, more = answering): Promise<Result> {
  const kept = values.length > 0 && { values, name: nameOf(client, text) }
  const result = await client.query({ text, ...kept, ...more }).catch((error: unknown) => {
    isPreparing &&= !isUnprepared(error)
    throw error
  })
  const { rows, rowCount, command } = Array.isArray(result) ? result.at(-1) : result
  return { rows: rows ?? [], affectedRows: rowCount ?? 0, command }
}

const maxPrepared = 500 // statements per connection
const maxLength = 2000 // characters of a prepared statement
const prepared = new WeakMap<Client, Map<string, string>>() // names
let isPreparing = true // until a pooler is detected

/** Returns the name of the prepared statement. It is derived from the text, so that it is unique behind a pooler. */
function nameOf(client: Client, text: string): string | undefined {
  if (text.length > maxLength || !isPreparing) return undefined
  const names = prepared.get(client) ?? new Map<string, string>()
  if (names.size === 0) prepared.set(client, names)
  if (!names.has(text) && names.size < maxPrepared) names.set(text, hash('sha256', text, 'base64url'))
  return names.get(text)
}

const writes = /\b(?:insert\s+into|update|delete\s+from)\s+(?!set\b)(?:"?\w+"?\.)?"?(\w+)"?/gi
const reads = /^\s*(?:select|with|set|savepoint|release|rollback)\b/i

/** Returns the tables that a statement writes to; '*' is any. */
export function writtenBy(text: string, childrenOf: (table: string) => readonly string[]): readonly string[] {
  const found = [...text.matchAll(writes)].map(([, table = '']) => table)
  if (found.length === 0) return reads.test(text) ? [] : ['*']
  return /\bdelete\s+from\b/i.test(text) ? found.flatMap(table => [table, ...childrenOf(table)]) : found
}

/** Disables full scans if there is an index: cached plans outlive table sizes, and scans conflict with every writer. */
const settings =
  "; set local statement_timeout = '15s'; set local enable_seqscan = off" +
  "; set local idle_in_transaction_session_timeout = '10s'" // frees the locks of a paused or vanished server
const savepoint = 'savepoint part' // refers to the last one of this name

/** One PostgreSQL transaction that changes share. */
export class Group {
  readonly client: Client
  readonly childrenOf: (table: string) => readonly string[]
  readonly written = new Set<string>() // tables; '*' for any
  readonly revoked: Statement[] = [] // see `noteRevoked`
  failure: unknown = null // of all changes: a conflict or a lost connection
  isSuspect = false // the connection must not be reused
  isCommitting = false
  readonly #limit: object
  readonly #begin: string
  readonly #unsent: string[] // sent with the next statement, to save a round trip
  #last: Promise<unknown> = Promise.resolve() // sent statement
  #lastAnswered = this.#last // awaited statement
  #isAborted = false // by a failed statement

  /** `isPatient` disables timeouts, for migrations. */
  constructor(client: Client, childrenOf: Group['childrenOf'], isPatient: boolean) {
    this.client = client
    this.childrenOf = childrenOf
    this.#limit = isPatient ? {} : answering
    this.#begin = `begin isolation level serializable${isPatient ? '' : settings}`
    this.#unsent = [this.#begin]
  }

  /** Rolls `work` back if it throws. */
  async part<T>(work: () => Promise<T>): Promise<T> {
    const noted = this.revoked.length
    this.#unsent.push(savepoint)
    try {
      const result = await work()
      await this.#lastAnswered
      if (this.#isAborted)
        throw new TypeError('a statement of the change failed before; the change cannot continue')
      if (this.#unsent.at(-1) === savepoint) this.#unsent.pop()
      else this.#unsent.push('release part')
      return result
    } catch (error) {
      await this.#last // a failure belongs to an ended change: nothing must be committed
      this.revoked.length = noted
      if (this.#unsent.at(-1) === savepoint) this.#unsent.pop()
      else {
        this.#unsent.push('rollback to part; release part')
        if (this.#isAborted && this.failure === null) await this.#control().catch(this.#lost)
        this.#isAborted = false
      }
      throw error
    }
  }

  run(query: Query, isAnswered: boolean): Promise<Result> {
    const { stream } = this.client.connection
    stream.cork()
    nextTick(() => stream.uncork()) // batches statements of the same tick
    if (this.#unsent.length > 0) this.#control().catch(() => {}) // this statement then fails, too
    const sent = run(this.client, query, this.#limit)
    this.#last = sent.catch((error: unknown) => this.#failed(error, isAnswered))
    if (isAnswered) this.#lastAnswered = this.#last
    return isAnswered ? sent : Promise.resolve({ rows: [], affectedRows: 1 })
  }

  #failed(error: unknown, isAnswered: boolean): void {
    this.#isAborted = true
    this.isSuspect ||= isLost(error)
    if (!isAnswered || isConflict(error)) this.failure ??= error // a conflict
  }

  readonly #lost = (error: unknown): void => {
    this.failure = error
    this.isSuspect = true
  }

  async commit(): Promise<void> {
    if (this.#unsent[0] === this.#begin) return
    await this.#last // it may wait for a lock and be cancelled, unlike a commit
    if (this.failure !== null) throw this.failure
    this.isCommitting = true
    const { command } = await this.#control('commit').catch((error: unknown) => {
      throw /^(?!57P)/.test(stateOf(error) ?? '57P') ? error : unknownOutcome(error)
    })
    if (command !== 'COMMIT') throw new TypeError('the changes were rolled back')
  }

  /** Returns the error to report. A commit without an answer takes precedence. */
  async rollback(error: unknown): Promise<unknown> {
    const cause = isLost(error) ? error : (this.failure ?? error)
    this.#unsent.length = 0
    await this.#control('rollback').catch(this.#lost)
    return cause
  }

  #control(...more: string[]): Promise<Result> {
    const text = [...this.#unsent.splice(0), ...more].join('; ')
    return run(this.client, { text, values: [] }, this.#limit)
  }
}

/** One change in a transaction that others can share. */
export class Transaction {
  rowsWritten = 0 // one per unanswered statement
  readonly revoked: Statement[]
  readonly unanswered = { run: (query: Query) => this.run(query, false) } // see `withoutReply`
  readonly #group: Group
  #hasEnded = false

  constructor(group: Group) {
    this.#group = group
    this.revoked = group.revoked
  }

  async run(query: Query, isAnswered = true): Promise<Result> {
    if (this.#hasEnded) throw new TypeError('the change has ended; it was committed or rolled back')
    const tables = writtenBy(query.text, this.#group.childrenOf)
    for (const table of tables) this.#group.written.add(table)
    const result = await this.#group.run(query, isAnswered)
    if (tables.length > 0) this.rowsWritten += result.affectedRows
    return result
  }

  /** True if one of the tables may have uncommitted rows here. */
  hasWritten(tables: readonly string[]): boolean {
    const { written } = this.#group
    return written.size > 0 && (written.has('*') || tables.some(table => written.has(table)))
  }

  /** Rolls `work` back if it throws. */
  within<T>(work: () => Promise<T>): Promise<T> {
    return this.#group.part(work)
  }

  /** Refuses statements after the end of `work`, for example after a timeout. */
  whole<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.#group.part(() =>
      work(this).finally(() => {
        this.#hasEnded = true
      })
    )
  }
}
