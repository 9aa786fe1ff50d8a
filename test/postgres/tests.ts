// What runs on PostgreSQL, and what of it does not, each with its reason.
import { globSync } from 'node:fs'

/** Tests of the store, and of the plugins whose work is mostly in it. */
const chosen = [
  'test/postgres/*.postgres.ts',
  'plugins/{audit,auth,credentials,grants,http,journal,labels,quota,rules,schedule,stats,traffic,users}/test/*.test.ts'
]

/**
 * What does not run there. Tests of backup, restore, copies before a migration, a full disk and the lock of a data directory
 * are of the file of SQLite, and are in no folder above; single tests that read that file skip themselves (`notOnPostgres`).
 */
const ofSqlite: Readonly<Record<string, string>> = {
  'plugins/http/test/statements.test.ts':
    'counts what the driver of SQLite is asked and prepares, and reads its plan of a query',
  'plugins/rules/test/ports.test.ts': 'reads the plans that SQLite makes of queries',
  'plugins/rules/test/migration.test.ts':
    'makes the tables of older releases, which had SQLite alone, in a file of its own'
}

export const testsOnPostgres = (root: string): string[] =>
  chosen
    .flatMap(pattern => globSync(pattern, { cwd: root }))
    .filter(file => !(file in ofSqlite))
    .sort()
