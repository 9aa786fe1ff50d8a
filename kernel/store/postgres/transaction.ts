import { hash } from 'node:crypto'
import { nextTick } from 'node:process'
import type { Client } from 'pg'
import type { Statement } from '../sql/watch.ts'
import { isConflict, isLost, isUnprepared, stateOf, unknownOutcome } from './failures.ts'
import type { Query } from './query.ts'

export interface Result {
  readonly rows: readonly unknown[]
  readonly affectedRows: number
  readonly command?: string // as PostgreSQL names what it has done
}

/** Of a database that does not answer; its own limits are shorter. */
const answering: object = { query_timeout: 20_000 }

/** Runs a statement, or several without values, of which the last one counts. Rejects when there is no answer. */
export async function run(client: Client, { text, values }: Query, more = answering): Promise<Result> {
  const kept = values.length > 0 && { values, name: nameOf(client, text) }
  const result = await client.query({ text, ...kept, ...more }).catch((error: unknown) => {
    isPreparing &&= !isUnprepared(error)
    throw error
  })
  const { rows, rowCount, command } = Array.isArray(result) ? result.at(-1) : result
  return { rows: rows ?? [], affectedRows: rowCount ?? 0, command }
}

const [maxPrepared, maxLength] = [500, 2000] // statements of a connection, and characters of one
const prepared = new WeakMap<Client, Map<string, string>>() // names
let isPreparing = true // until a pooler is found

/** Returns the name under which the connection keeps the statement prepared: of its text, so that no other has it behind a pooler. */
function nameOf(client: Client, text: string): string | undefined {
  if (text.length > maxLength || !isPreparing) return undefined
  const names = prepared.get(client) ?? new Map<string, string>()
  if (names.size === 0) prepared.set(client, names)
  if (!names.has(text) && names.size < maxPrepared) names.set(text, hash('sha256', text, 'base64url'))
  return names.get(text)
}

const writes = /\b(?:insert\s+into|update|delete\s+from)\s+(?!set\b)(?:"?\w+"?\.)?"?(\w+)"?/gi
const reads = /^\s*(?:select|with|set|savepoint|release|rollback)\b/i

/** Tables that a statement writes to; '*' is any. */
export function writtenBy(text: string, childrenOf: (table: string) => readonly string[]): readonly string[] {
  const found = [...text.matchAll(writes)].map(([, table = '']) => table)
  if (found.length === 0) return reads.test(text) ? [] : ['*']
  return /\bdelete\s+from\b/i.test(text) ? found.flatMap(table => [table, ...childrenOf(table)]) : found
}

/** No plan scans all rows where there is an index: it outlives the size of the table, and conflicts with every writer. */
const settings =
  "; set local statement_timeout = '15s'; set local enable_seqscan = off" +
  "; set local idle_in_transaction_session_timeout = '10s'" // one that is paused, or gone without a word, does not keep its rows from others
const savepoint = 'savepoint part' // the last one is meant, where several have this name

/** One transaction of PostgreSQL, which changes share. */
export class Group {
  readonly client: Client
  readonly childrenOf: (table: string) => readonly string[]
  readonly written = new Set<string>() // tables; '*' for any
  readonly revoked: Statement[] = [] // see `noteRevoked`
  failure: unknown = null // of all changes: others have come between, or the connection is lost
  isSuspect = false // the connection is not to be used again
  isCommitting = false
  readonly #limit: object
  readonly #begin: string
  readonly #unsent: string[] // goes out with the next statement, since each answer takes as long as one
  #last: Promise<unknown> = Promise.resolve() // of the statements that were sent
  #lastAnswered = this.#last // of those whose answers are waited for
  #isAborted = false // by a statement that failed

  /** `isPatient`: its statements may take any time, as those of migrations. */
  constructor(client: Client, childrenOf: Group['childrenOf'], isPatient: boolean) {
    this.client = client
    this.childrenOf = childrenOf
    this.#limit = isPatient ? {} : answering
    this.#begin = `begin isolation level serializable${isPatient ? '' : settings}`
    this.#unsent = [this.#begin]
  }

  /** Undoes what `work` has done when it throws. */
  async part<T>(work: () => Promise<T>): Promise<T> {
    const noted = this.revoked.length
    this.#unsent.push(savepoint)
    try {
      const result = await work()
      await this.#lastAnswered
      if (this.#isAborted) throw new TypeError('a statement of the change failed, and the change went on')
      if (this.#unsent.at(-1) === savepoint) this.#unsent.pop()
      else this.#unsent.push('release part')
      return result
    } catch (error) {
      await this.#last // if it failed, a change that has ended did: nothing of this is to be committed
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
    nextTick(() => stream.uncork()) // what is asked at once goes out at once
    if (this.#unsent.length > 0) this.#control().catch(() => {}) // then this statement fails, too
    const sent = run(this.client, query, this.#limit)
    this.#last = sent.catch((error: unknown) => this.#failed(error, isAnswered))
    if (isAnswered) this.#lastAnswered = this.#last
    return isAnswered ? sent : Promise.resolve({ rows: [], affectedRows: 1 })
  }

  #failed(error: unknown, isAnswered: boolean): void {
    this.#isAborted = true
    this.isSuspect ||= isLost(error)
    if (!isAnswered || isConflict(error)) this.failure ??= error // others have begun meanwhile, or come between
  }

  readonly #lost = (error: unknown): void => {
    this.failure = error
    this.isSuspect = true
  }

  async commit(): Promise<void> {
    if (this.#unsent[0] === this.#begin) return
    await this.#last // it may wait for a row, and be given up: then it is canceled, as a commit never is
    if (this.failure !== null) throw this.failure
    this.isCommitting = true
    const { command } = await this.#control('commit').catch((error: unknown) => {
      throw /^(?!57P)/.test(stateOf(error) ?? '57P') ? error : unknownOutcome(error)
    })
    if (command !== 'COMMIT') throw new TypeError('the changes were rolled back')
  }

  /** Returns the error that counts: that of a commit without an answer before any other. */
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

/** One change in a transaction that it may share with others. */
export class Transaction {
  rowsWritten = 0 // one for each statement that is not answered
  readonly revoked: Statement[]
  readonly unanswered = { run: (query: Query) => this.run(query, false) } // see the function of this name
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

  /** True if one of the tables has, or may have, rows here that are not committed. */
  hasWritten(tables: readonly string[]): boolean {
    const { written } = this.#group
    return written.size > 0 && (written.has('*') || tables.some(table => written.has(table)))
  }

  /** Undoes what `work` has done when it throws. */
  within<T>(work: () => Promise<T>): Promise<T> {
    return this.#group.part(work)
  }

  /** What still runs when `work` has ended, as after a timeout, is refused from then on. */
  whole<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.#group.part(() =>
      work(this).finally(() => {
        this.#hasEnded = true
      })
    )
  }
}
