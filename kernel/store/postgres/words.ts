// What only PostgreSQL has words for.
import type { EntityManager } from '@mikro-orm/sql'
import { Transaction } from './transaction.ts'

/** Returns the number of rows that the transaction has written. */
export function rowsWritten(em: EntityManager): number {
  const transaction: unknown = em.getTransactionContext()
  return transaction instanceof Transaction ? transaction.rowsWritten : 0
}

interface State {
  readonly version: string // of PostgreSQL
  readonly bytes: number // of the database
  readonly isCopy: boolean // it takes no changes
  readonly off: string | null // what is off without which a power failure may damage it, in the words of PostgreSQL
  readonly standbys: number // that follow it now; who may see no more of them sees their number
  readonly synchronous: string // synchronous_standby_names
}

export async function stateOf(em: EntityManager): Promise<State> {
  const [row] = await em.execute<State[]>(
    `select current_setting('server_version') as version, pg_database_size(current_database()) as bytes,
     pg_is_in_recovery() as "isCopy", current_setting('synchronous_standby_names') as synchronous,
     (select string_agg(name, ' and ' order by name) from unnest(array['fsync', 'full_page_writes']) name
       where current_setting(name) = 'off') as off,
     (select count(*) from pg_stat_replication f where application_name is distinct from 'pg_basebackup'
       and not exists (select from pg_replication_slots s where s.active_pid = f.pid and s.slot_type = 'logical')) as standbys`
  )
  if (!row) throw new TypeError('a select without a table has one row')
  return row
}
