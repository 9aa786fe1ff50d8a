// What only PostgreSQL has words for.
import type { EntityManager } from '@mikro-orm/sql'
import { Transaction } from './transaction.ts'

/** Returns the number of rows that the transaction has written. */
export function rowsWritten(em: EntityManager): number {
  const transaction: unknown = em.getTransactionContext()
  return transaction instanceof Transaction ? transaction.rowsWritten : 0
}

/** Returns the time of the database in ms since 1970, which all its servers have. */
export async function timeOf(em: EntityManager): Promise<number> {
  const [row] = await em.execute<{ ms: number }[]>(
    'select (extract(epoch from clock_timestamp()) * 1000)::bigint as ms'
  )
  if (!row) throw new TypeError('a select without a table has one row')
  return row.ms
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
