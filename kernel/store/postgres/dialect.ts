// SQL that is specific to PostgreSQL.
import type { EntityManager } from '@mikro-orm/sql'
import { Transaction } from './transaction.ts'

/** Returns the number of rows written by the transaction. */
export function rowsWritten(em: EntityManager): number {
  const transaction: unknown = em.getTransactionContext()
  return transaction instanceof Transaction ? transaction.rowsWritten : 0
}

const time = 'select (extract(epoch from clock_timestamp()) * 1000)::bigint as ms'
/** Returns the Unix time in ms of the database, which all its servers share. */
export async function timeOf(em: EntityManager): Promise<number> {
  const [row] = await em.execute<{ ms: number }[]>(time)
  if (!row) throw new TypeError('a select without a table has one row')
  return row.ms
}

interface State {
  readonly version: string // of PostgreSQL
  readonly bytes: number // of the database
  readonly isCopy: boolean // it is read-only
  readonly off: string | null // disabled settings that protect against power failures
  readonly standbys: number // connected standbys
  readonly synchronous: string // synchronous_standby_names
}

/** Returns the state of the database. */
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

/** SQL for values that servers compare: the only clock and order that they share. */
export const shared = {
  /** Unix ms by the database clock at the start of the statement. */
  now: '(extract(epoch from statement_timestamp()) * 1000)::bigint',
  /** The number of this transaction. Commits after a poll have numbers of at least its `oldest`. */
  changeNumber: 'pg_current_xact_id()::text::bigint',
  oldest: 'pg_snapshot_xmin(pg_current_snapshot())::text::bigint',
  /** Locks the rows that are read until the end of the change. */
  keep: 'for share'
} as const
