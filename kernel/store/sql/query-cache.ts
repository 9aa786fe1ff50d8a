import type { EntityManager } from '@mikro-orm/sql'
import type { Versions } from './versions.ts'

const maxKeys = 10_000 // per query; beyond it, the least recently used is evicted

type Writing = { hasWritten(tables: readonly string[]): boolean } // a transaction that knows its written tables

const isWriting = (transaction: unknown): transaction is Writing =>
  typeof transaction === 'object' && transaction !== null && 'hasWritten' in transaction

/**
 * Caches results of `load` until a commit writes to one of the tables, which must be all that `load` reads. Null is not
 * cached. Inside a change, pass its `em`. Results are shared: do not modify them.
 */
export type QueryCache = <V>(
  tables: readonly string[],
  load: (key: string, em: EntityManager) => Promise<V>
) => (key: string, em?: EntityManager) => Promise<V>

export const openQueryCache =
  (versions: Versions, read: <T>(work: (em: EntityManager) => Promise<T>) => Promise<T>): QueryCache =>
  <V>(tables: readonly string[], load: (key: string, em: EntityManager) => Promise<V>) => {
    /** In order of use, with the version of the tables at the time of the query. */
    const answers = new Map<string, { readonly value: V | Promise<V>; readonly version: number }>()

    function keep<A extends V | Promise<V>>(key: string, value: A, version: number): A {
      answers.delete(key)
      answers.set(key, { value, version })
      if (answers.size > maxKeys) answers.delete(answers.keys().next().value ?? '')
      return value
    }

    return async (key: string, em?: EntityManager) => {
      const transaction: unknown = em?.getTransactionContext()
      const isChanging = (): boolean => isWriting(transaction) && transaction.hasWritten(tables)
      if (em && isChanging()) return load(key, em)
      const version = versions.of(tables)
      const known = answers.get(key)
      if (known?.version === version && !(transaction && known.value instanceof Promise))
        return keep(key, known.value, version)
      const loading = em ? load(key, em) : read(em => load(key, em))
      if (!transaction) keep(key, loading, version) // concurrent reads share it; changes and reads do not wait for each other
      const isNewest = (): boolean => answers.get(key)?.value === loading
      try {
        const value = await loading
        const isKept = value !== null && (transaction ? !isChanging() : isNewest())
        return isKept ? keep(key, value, version) : value // a concurrent commit raises the table's version, not this one
      } finally {
        if (isNewest()) answers.delete(key)
      }
    }
  }
