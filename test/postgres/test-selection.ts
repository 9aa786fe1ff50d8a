// Lists the tests that run on PostgreSQL, and those that do not, each with its reason.
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

/** Tests of the store and of the plugins that use it most: `.ci/run` has time for these. */
const chosen = [
  'test/postgres/*.postgres.ts',
  'plugins/{audit,clients,stats,traffic}/test/*.test.ts',
  'plugins/http/test/{act,decision,etag,idempotency,list,responses}.test.ts',
  'plugins/rules/test/!(patch-matrix).test.ts'
]

/** As in .taprc. */
export const suite = ['test/**/*.{test,e2e}.ts', 'plugins/*/test/**/*.{test,e2e}.ts']

/** Files that do not run there. Single tests for SQLite only skip themselves (`notOnPostgres`). */
export const ofSqlite: Readonly<Record<string, string>> = {
  'plugins/http/test/statements.test.ts':
    'counts the statements of the SQLite driver, and reads its query plan',
  'plugins/rules/test/ports.test.ts': 'reads SQLite query plans',
  'plugins/backup/test/restore.test.ts': 'backups copy the SQLite file',
  'plugins/cli/test/store-copy.e2e.ts': 'copies before a migration copy the SQLite file',
  'plugins/certificate/test/rotation.test.ts':
    'has the certificate in files beside a SQLite store; test/postgres/certificate.postgres.ts has it in a database',
  'plugins/doctor/test/server.e2e.ts': 'finds faults in a SQLite file, its directory and its backups',
  'test/access/secrets.e2e.ts':
    'looks for the certificate key in files; a database seals it, see test/postgres/certificate-migration.postgres.ts',
  'test/kernel/schema.test.ts':
    'compares the tables with the schema of MikroORM, which names PostgreSQL constraints differently',
  'test/kernel/store-changes.test.ts':
    'counts the statements of the SQLite driver; test/postgres/group-commit.postgres.ts covers changes on PostgreSQL',
  'test/kernel/store.test.ts':
    'opens SQLite files; test/postgres/store.postgres.ts does the same with databases'
}

/** Returns the test files that may open a store, all or those of `.ci/run`, and the tests for PostgreSQL only. */
export function testsOnPostgres(root: string, part: 'whole' | 'chosen'): string[] {
  const patterns = part === 'whole' ? [...chosen, ...suite] : chosen
  const files = new Set(patterns.flatMap(pattern => globSync(pattern, { cwd: root })))
  const opens = openingIn(root)
  return [...files]
    .filter(file => !(file in ofSqlite) && (file.endsWith('.postgres.ts') || opens(file)))
    .sort()
}

/** A file that imports one of these may open a store, in this process or in another one. */
const openers = ['kernel/store/open.ts', 'test/support/process.ts']
const imported = /(?:^(?:import|export) (?!type )[^'"]*?from |^import |\bimport\()'(\.[^']+)'/gms

/** Returns a predicate: true if a file may open a store, judged by all its imports. */
export function openingIn(root: string): (file: string) => boolean {
  const imports = new Map<string, readonly string[]>()
  const importsOf = (file: string): readonly string[] => {
    const known = imports.get(file)
    if (known) return known
    const found = [...readFileSync(join(root, file), 'utf8').matchAll(imported)]
      .map(([, path = '']) => normalize(join(dirname(file), path)))
      .filter(path => path.endsWith('.ts') && existsSync(join(root, path)))
    imports.set(file, found)
    return found
  }
  return file => {
    const reached = new Set([file])
    for (const each of reached) for (const path of importsOf(each)) reached.add(path)
    return openers.some(opener => reached.has(opener))
  }
}
