// What only PostgreSQL has words for.
import type { EntityManager } from '@mikro-orm/sql'
import { Transaction } from './transaction.ts'

/** Returns the number of rows that the transaction has written. */
export function rowsWritten(em: EntityManager): number {
  const transaction: unknown = em.getTransactionContext()
  return transaction instanceof Transaction ? transaction.rowsWritten : 0
}

const time = 'select (extract(epoch from clock_timestamp()) * 1000)::bigint as ms'
/** Returns the time of the database in ms since 1970, which all its servers have. */
export async function timeOf(em: EntityManager): Promise<number> {
  const [row] = await em.execute<{ ms: number }[]>(time)
  if (!row) throw new TypeError('a select without a table has one row')
  return row.ms
}

interface State {
  readonly version: string // of PostgreSQL
  readonly bytes: number // of the database
  readonly isCopy: boolean // it takes no changes
  readonly off: string | null // what is off without which a power failure may damage it, in the words of PostgreSQL
  readonly standbys: number // that follow it now; who may see no more of them sees their number
  readonly synchronous: string // synchronous_standby_names
}

/** Returns how the database is, and whether it takes changes. */
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

/** SQL of what servers of one database compare: nothing else there is a clock, or an order, that all of them share. */
export const shared = {
  /** Milliseconds since 1970, by the clock of the database, when the statement came: before it has read anything. */
  now: '(extract(epoch from statement_timestamp()) * 1000)::bigint',
  /** The number of this transaction: what is committed later than a look has a number that is not below its `oldest`. */
  changeNumber: 'pg_current_xact_id()::text::bigint',
  oldest: 'pg_snapshot_xmin(pg_current_snapshot())::text::bigint',
  /** Keeps the rows that are read as they are until the end of the change. */
  keep: 'for share'
} as const
