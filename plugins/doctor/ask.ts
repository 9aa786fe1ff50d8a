import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { openStore } from '../../kernel/store/open.ts'

/** Rows of a table, beside a running server, too; none where there is no store, or no such table yet. */
export async function onStore<R>(dataDir: string, table: string, sql: string): Promise<readonly R[]> {
  const file = join(dataDir, 'sluice.db')
  if (!existsSync(file)) return []
  const store = await openStore(file, []) // as it is: no schema is brought up to date
  try {
    return await store.read(async em => {
      const there = await em.execute("select 1 from sqlite_master where type = 'table' and name = ?", [table])
      return there.length === 0 ? [] : em.execute<R[]>(sql)
    })
  } finally {
    await store.close()
  }
}
