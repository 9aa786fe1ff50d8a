import type { EntityManager } from '@mikro-orm/sql'
import type { Versions } from './versions.ts'

const maxKeys = 10_000 // of one question; beyond, the one that was asked least recently is forgotten

type Writing = { hasWritten(tables: readonly string[]): boolean } // a transaction that knows what it has written to

const isWriting = (transaction: unknown): transaction is Writing =>
  typeof transaction === 'object' && transaction !== null && 'hasWritten' in transaction

/**
 * Returns a function that answers from memory until a commit writes to one of the tables; `load` reads these only. Null is
 * asked again. In a change it takes its `em`, and answers what that sees. Answers are shared: they are not to be changed.
 */
export type Memory = <V>(
  tables: readonly string[],
  load: (key: string, em: EntityManager) => Promise<V>
) => (key: string, em?: EntityManager) => Promise<V>

export const openMemory =
  (versions: Versions, read: <T>(work: (em: EntityManager) => Promise<T>) => Promise<T>): Memory =>
  <V>(tables: readonly string[], load: (key: string, em: EntityManager) => Promise<V>) => {
    /** In the order of use; with the version that the tables had when it was asked for. */
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
      if (!transaction) keep(key, loading, version) // others wait for it, too; a change waits for no read, and none for a change
      const isNewest = (): boolean => answers.get(key)?.value === loading
      try {
        const value = await loading
        const isKept = value !== null && (transaction ? !isChanging() : isNewest())
        return isKept ? keep(key, value, version) : value // a commit meanwhile raises the version of the table, not this one
      } finally {
        if (isNewest()) answers.delete(key)
      }
    }
  }
