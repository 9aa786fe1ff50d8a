// What runs on PostgreSQL, and what does not, each with its reason.
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

/** Tests of the store, and of the plugins whose work is mostly in it: what `.ci/run` has time for. */
const chosen = [
  'test/postgres/*.postgres.ts',
  'plugins/{audit,clients,stats,traffic}/test/*.test.ts',
  'plugins/http/test/{act,decision,etag,idempotency,list,responses}.test.ts',
  'plugins/rules/test/!(patch-matrix).test.ts'
]

/** As in .taprc. */
export const suite = ['test/**/*.{test,e2e}.ts', 'plugins/*/test/**/*.{test,e2e}.ts']

/** What does not run there; single tests that are of SQLite alone skip themselves (`notOnPostgres`). */
export const ofSqlite: Readonly<Record<string, string>> = {
  'plugins/http/test/statements.test.ts':
    'counts what the driver of SQLite is asked and prepares, and reads its plan of a query',
  'plugins/rules/test/ports.test.ts': 'reads the plans that SQLite makes of queries',
  'plugins/backup/test/restore.test.ts': 'backups are of the file of SQLite',
  'plugins/cli/test/store-copy.e2e.ts': 'copies before a migration are of the file of SQLite',
  'plugins/certificate/test/rotation.test.ts':
    'has the certificate in files, beside a file of SQLite; test/postgres/certificate.postgres.ts has it in a database',
  'plugins/doctor/test/server.e2e.ts':
    'finds what is wrong with a file of SQLite, its directory and its backups',
  'test/access/secrets.e2e.ts':
    'looks for the key of the certificate in files; a database has it sealed, as test/postgres/carried-certificate.postgres.ts shows',
  'test/kernel/schema.test.ts':
    'compares the tables with those that MikroORM would make, which names constraints of PostgreSQL in another way',
  'test/kernel/store-changes.test.ts':
    'counts what the driver of SQLite is asked; test/postgres/groups.postgres.ts has the changes of PostgreSQL',
  'test/kernel/store.test.ts':
    'opens files of SQLite; test/postgres/store.postgres.ts does the same with databases'
}

/** The test files of the suite, all or those of `.ci/run`, that may open a store: with those of PostgreSQL alone. */
export function testsOnPostgres(root: string, part: 'whole' | 'chosen'): string[] {
  const patterns = part === 'whole' ? [...chosen, ...suite] : chosen
  const files = new Set(patterns.flatMap(pattern => globSync(pattern, { cwd: root })))
  const opens = openingIn(root)
  return [...files]
    .filter(file => !(file in ofSqlite) && (file.endsWith('.postgres.ts') || opens(file)))
    .sort()
}

/** Who imports one of these may open a store, in this process or in another one. */
const openers = ['kernel/store/open.ts', 'test/support/process.ts']
const imported = /(?:^(?:import|export) (?!type )[^'"]*?from |^import |\bimport\()'(\.[^']+)'/gms

/** Returns what tells whether a file may open a store, by all that it imports. */
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
