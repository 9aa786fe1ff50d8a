import { join } from 'node:path'
import type { Test } from 'tap'
import { currentPayer } from '../../kernel/base/request-id.ts'
import { type Database, openStore } from '../../kernel/store/open.ts'
import type { PluginStore } from '../../kernel/store/sql/migrations.ts'
import { isOnPostgres, openTestStore, tellingWork } from '../../kit/test-store.ts'

/** Runs work that a user or address causes. */
export const runAsPayer = <T>(name: string, work: () => T): T => currentPayer.run({ name, charge() {} }, work)

/** Returns a value for the option `skip` of a test: `reason` on PostgreSQL, otherwise false. */
export const notOnPostgres = (reason: string): string | false => isOnPostgres && reason

/** Like `notOnPostgres`, for runs that repeat the body of each change: npm run test:repeated. */
export const notRepeated = (reason: string): string | false =>
  process.env['SLUICE_TEST_REPEATED'] !== undefined && reason

/** Opens the store of a data directory: SQLite, or PostgreSQL if this run uses it. The caller closes it. */
export async function openStoreIn(
  t: Pick<Test, 'teardown'>,
  dir: string,
  stores: readonly PluginStore[]
): Promise<Database> {
  const database = await openTestStore(dir, 'empty')
  if (database) t.teardown(database.drop)
  return tellingWork(await openStore(database?.place ?? join(dir, 'sluice.db'), stores))
}
