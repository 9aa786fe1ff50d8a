// What runs on PostgreSQL, and what of it does not, each with its reason.
import { globSync } from 'node:fs'

/** Tests of the store, and of the plugins whose work is mostly in it. */
const chosen = [
  'test/postgres/*.postgres.ts',
  'plugins/{apply,audit,auth,bans,clients,credentials,enrollment,grants,groups,http,journal,labels,quota,rate-limit,rules,schedule,stats,traffic,users}/test/*.test.ts'
]

/**
 * What does not run there. Tests of backup, restore, copies before a migration, a full disk and the lock of a data directory
 * are of the file of SQLite, and are in no folder above; single tests that read that file skip themselves (`notOnPostgres`).
 */
const ofSqlite: Readonly<Record<string, string>> = {
  'plugins/quota/test/agreement.test.ts':
    'moves both clocks by steps that expect a store without a socket in between',
  'plugins/quota/test/clock.test.ts': 'as agreement.test.ts',
  'plugins/http/test/statements.test.ts': 'counts the statements of SQLite, which are prepared once',
  'plugins/rules/test/migration.test.ts': 'opens a file of SQLite with the tables of an older release'
}

export const testsOnPostgres = (root: string): string[] =>
  chosen
    .flatMap(pattern => globSync(pattern, { cwd: root }))
    .filter(file => !(file in ofSqlite))
    .sort()
