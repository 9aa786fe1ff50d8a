import type { EntityManager } from '@mikro-orm/sql'
import type { Versions } from './versions.ts'

/** A transaction that knows which tables it has written to. */
interface Writing {
  hasWritten(tables: readonly string[]): boolean
}

const isWriting = (transaction: unknown): transaction is Writing =>
  typeof transaction === 'object' && transaction !== null && 'hasWritten' in transaction

const maxKeys = 10_000 // of one question; beyond, the one that was asked least recently is forgotten

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
    /** In the order of use; with the version that the tables had when it was read. */
    const answers = new Map<string, { readonly value: V; readonly version: number }>()
    const isChanging = (em: EntityManager): boolean => {
      const transaction: unknown = em.getTransactionContext()
      return isWriting(transaction) && transaction.hasWritten(tables)
    }

    function keep(key: string, value: V, version: number): V {
      answers.delete(key)
      answers.set(key, { value, version })
      if (answers.size > maxKeys) answers.delete(answers.keys().next().value ?? '')
      return value
    }

    return async (key: string, em?: EntityManager) => {
      if (em && isChanging(em)) return load(key, em)
      const version = versions.of(tables)
      const known = answers.get(key)
      if (known?.version === version) return keep(key, known.value, version)
      const value = await (em ? load(key, em) : read(em => load(key, em)))
      if (value === null || (em && isChanging(em))) return value
      return keep(key, value, version) // a commit meanwhile has raised the version of the table, not this one
    }
  }
