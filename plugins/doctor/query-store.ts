import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { openStore } from '../../kernel/store/open.ts'

/** Returns rows of a table, also beside a running server; none if there is no store or no such table yet. */
export async function queryStore<R>(dataDir: string, table: string, sql: string): Promise<readonly R[]> {
  const file = join(dataDir, 'sluice.db')
  if (!existsSync(file)) return []
  const store = await openStore(file, []) // without plugins: no migration runs
  try {
    return await store.read(async em => {
      const tables = await em.execute("select 1 from sqlite_master where type = 'table' and name = ?", [
        table
      ])
      return tables.length === 0 ? [] : em.execute<R[]>(sql)
    })
  } finally {
    await store.close()
  }
}
