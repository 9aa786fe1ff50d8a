// What only SQLite has words for. All other SQL is outside this folder, and PostgreSQL understands it, too.
import type { EntityManager } from '@mikro-orm/sql'

/** Writes what is committed to a new file. */
export const copyTo = (file: string, em: EntityManager): Promise<unknown> =>
  em.execute('vacuum into ?', [file])

/** Returns what is damaged, in the words of SQLite; `quick` does not compare indexes with their tables. */
export async function damageIn(em: EntityManager, how: 'quick' | 'whole'): Promise<readonly string[]> {
  const rows = await em.execute<object[]>(`pragma ${how === 'quick' ? 'quick_check' : 'integrity_check'}(3)`)
  return rows.flatMap(row => Object.values(row)).filter(text => text !== 'ok')
}

/** Returns the tables of rows that refer to rows that do not exist. */
export const brokenReferences = async (em: EntityManager): Promise<readonly string[]> =>
  (await em.execute<{ table: string }[]>('pragma foreign_key_check')).map(({ table }) => table)

/** Lets SQL name the tables of the file: `old.` and the table. */
export const attachOld = (file: string, em: EntityManager): Promise<unknown> =>
  em.execute('attach database ? as old', [file], 'run')

/** Writes the log into the file; false while another process reads. */
export async function emptyLog(em: EntityManager): Promise<boolean> {
  const [row] = await em.execute<{ busy: number }[]>('pragma wal_checkpoint(truncate)')
  return row?.busy === 0
}

/** Returns tables, indexes, triggers and views, without those that SQLite makes itself. */
export const schemaOf = <Entry>(em: EntityManager): Promise<Entry[]> =>
  em.execute<Entry[]>(`select type, name, tbl_name as owner, sql from main.sqlite_schema
    where not (type = 'index' and sql is null)
    and not (type = 'table' and (name = 'sqlite_sequence' or name glob 'sqlite_stat[0-9]'))`)

/** Returns the number of rows that the connection has written since it was opened. */
export const rowsWritten = async (em: EntityManager): Promise<number> =>
  (await em.execute<{ rows: number }[]>('select total_changes() as rows'))[0]?.rows ?? 0

/** Writes a number into the header of the file, which tells what it is. */
export const setMark = (mark: number, em: EntityManager): Promise<unknown> =>
  em.execute(`pragma application_id = ${mark}`)
