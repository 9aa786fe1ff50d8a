// SQL that is specific to SQLite. SQL outside this folder also works on PostgreSQL.
import type { EntityManager } from '@mikro-orm/sql'

export const lockWithoutWrite = 'pragma journal_mode = memory; begin exclusive' // a journal on disk needs space

/** Writes committed data to a new file. */
export const copyTo = (file: string, em: EntityManager): Promise<unknown> =>
  em.execute('vacuum into ?', [file])

/** Returns SQLite's reports of damage. `quick` does not compare indexes with their tables. */
export async function damageIn(em: EntityManager, how: 'quick' | 'whole'): Promise<readonly string[]> {
  const rows = await em.execute<object[]>(`pragma ${how === 'quick' ? 'quick_check' : 'integrity_check'}(3)`)
  return rows.flatMap(row => Object.values(row)).filter(text => text !== 'ok')
}

/** Returns tables with broken references. */
export const brokenReferences = async (em: EntityManager): Promise<readonly string[]> =>
  (await em.execute<{ table: string }[]>('pragma foreign_key_check')).map(({ table }) => table)

/** Attaches a file: SQL can name its tables as `old.TABLE`. */
export const attachOld = (file: string, em: EntityManager): Promise<unknown> =>
  em.execute('attach database ? as old', [file], 'run')

/** Writes the WAL into the file. Returns false while another process reads. */
export async function emptyLog(em: EntityManager): Promise<boolean> {
  const [row] = await em.execute<{ busy: number }[]>('pragma wal_checkpoint(truncate)')
  return row?.busy === 0
}

/** Returns tables, indexes, triggers and views, except SQLite's own. */
export const schemaOf = <Entry>(em: EntityManager): Promise<Entry[]> =>
  em.execute<Entry[]>(`select type, name, tbl_name as owner, sql from main.sqlite_schema
    where not (type = 'index' and sql is null)
    and not (type = 'table' and (name = 'sqlite_sequence' or name glob 'sqlite_stat[0-9]'))`)

/** Returns the number of rows written by this connection. */
export const rowsWritten = async (em: EntityManager): Promise<number> =>
  (await em.execute<{ rows: number }[]>('select total_changes() as rows'))[0]?.rows ?? 0

/** Writes an application id into the file header. */
export const setMark = (mark: number, em: EntityManager): Promise<unknown> =>
  em.execute(`pragma application_id = ${mark}`)
