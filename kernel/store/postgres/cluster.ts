// Identifies the database of a connection. A promoted standby is on another timeline and may lack the last changes.
import type { Client } from 'pg'
import { isLost, stateOf, unavailable } from './failures.ts'
import { run } from './transaction.ts'

/** Not from the last checkpoint, which shows the old timeline for minutes after a promotion. */
const cluster = `select case when not pg_is_in_recovery() then
  (pg_control_system()).system_identifier::text || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8) end as cluster`

/** Returns identifier and timeline; null if a provider forbids the query. Throws for a standby, which may be stale. */
export async function clusterOf(client: Client): Promise<string | null> {
  try {
    const { rows } = await run(client, { text: cluster, values: [] })
    const [row] = rows as { cluster: string | null }[]
    if (row?.cluster) return row.cluster
  } catch (error) {
    if (stateOf(error) === null || isLost(error)) throw error
    return null
  }
  throw unavailable('it is a standby, which accepts no changes')
}
