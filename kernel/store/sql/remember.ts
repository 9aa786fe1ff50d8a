import type { EntityManager } from '@mikro-orm/sql'
import { Versions } from './versions.ts'

const maxKeys = 10_000 // of one question; beyond, the one that was asked least recently is forgotten

interface Known<V> {
  readonly value: V
  readonly version: number // of the tables, when it was read
}

/** A connection whose commits tell what they have written. */
interface Versioned {
  readonly versions: Versions
}

const isVersioned = (connection: object): connection is Versioned =>
  'versions' in connection && connection.versions instanceof Versions

/** A transaction that knows which tables it has written to. */
interface Writing {
  hasWritten(tables: readonly string[]): boolean
}

const isWriting = (transaction: unknown): transaction is Writing =>
  typeof transaction === 'object' && transaction !== null && 'hasWritten' in transaction

/**
 * Returns a function that asks the store, and remembers the answers until a commit writes to one of the tables. For what
 * every request asks and what seldom changes; answers are shared, and are not to be changed. In a transaction that has
 * written to one of the tables it asks. `load` may read these tables only; null is not remembered.
 */
export function remembered<V>(
  tables: readonly string[],
  load: (key: string, em: EntityManager) => Promise<V>
): (key: string, em: EntityManager) => Promise<V> {
  const all = new WeakMap<object, Map<string, Known<V>>>() // a process may have several stores

  return async (key, em) => {
    const connection = em.getConnection()
    if (!isVersioned(connection)) return load(key, em)
    const transaction: unknown = em.getTransactionContext()
    const isChanging = () => isWriting(transaction) && transaction.hasWritten(tables)
    if (isChanging()) return load(key, em)
    const answers = all.get(connection) ?? new Map<string, Known<V>>()
    all.set(connection, answers)
    const version = connection.versions.of(tables)
    const known = answers.get(key)
    answers.delete(key) // and set again: the map is in the order of use
    if (known?.version === version) {
      answers.set(key, known)
      return known.value
    }
    const value = await load(key, em)
    if (value === null || isChanging()) return value
    answers.set(key, { value, version }) // a commit meanwhile has raised the version of the table, not this one
    const [oldest] = answers.keys()
    if (answers.size > maxKeys && oldest !== undefined) answers.delete(oldest)
    return value
  }
}
