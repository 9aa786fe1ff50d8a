// What runs on PostgreSQL, and what of it does not, each with its reason.
import { globSync } from 'node:fs'

/** Tests of the store, and of the plugins whose work is mostly in it. */
const chosen = [
  'test/postgres/*.postgres.ts',
  'plugins/{audit,credentials,grants,journal,labels,stats,traffic,users}/test/*.test.ts',
  'plugins/quota/test/{delivery,levels,rollover,unacknowledged}.test.ts',
  'plugins/http/test/{list,list-query}.test.ts',
  'plugins/rules/test/{bulk,create}.test.ts'
]

/**
 * What does not run there. Tests of backup, restore, copies before a migration, a full disk and the lock of a data directory
 * are of the file of SQLite, and are in no folder above; single tests that read that file skip themselves (`notOnPostgres`).
 */
const ofSqlite: Readonly<Record<string, string>> = {
  'plugins/quota/test/agreement.test.ts':
    'moves both clocks by steps that expect a store without a socket in between',
  'plugins/quota/test/clock.test.ts': 'as agreement.test.ts',
  'plugins/http/test/idempotency.test.ts': 'two requests at once are expected in the order of their calls',
  'plugins/rules/test/patch-matrix.test.ts': 'waits for a pending rule by turns of the event loop alone',
  'plugins/schedule/test/schedule.test.ts': 'as patch-matrix.test.ts',
  'plugins/auth/test/throttle.test.ts': 'opens its store twice at once: a database has one server',
  'plugins/http/test/statements.test.ts': 'counts the statements of SQLite, which are prepared once',
  'plugins/rules/test/migration.test.ts': 'opens a file of SQLite with the tables of an older release'
}

export const testsOnPostgres = (root: string): string[] =>
  chosen
    .flatMap(pattern => globSync(pattern, { cwd: root }))
    .filter(file => !(file in ofSqlite))
    .sort()
