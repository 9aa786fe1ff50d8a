// What only PostgreSQL has words for.
import type { EntityManager } from '@mikro-orm/sql'
import { Transaction } from './transaction.ts'

/** Returns the number of rows that the transaction has written. */
export function rowsWritten(em: EntityManager): number {
  const transaction: unknown = em.getTransactionContext()
  return transaction instanceof Transaction ? transaction.rowsWritten : 0
}

/** Returns the version of PostgreSQL, the size of the database in bytes, and whether it takes changes. */
export async function stateOf(em: EntityManager) {
  const [row] = await em.execute<{ version: string; bytes: number; isCopy: boolean }[]>(
    `select current_setting('server_version') as version, pg_database_size(current_database()) as bytes,
     pg_is_in_recovery() as "isCopy"`
  )
  if (!row) throw new TypeError('a select without a table has one row')
  return row
}
