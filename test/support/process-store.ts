// The database for the data directory of a process, if this run uses PostgreSQL.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { testDatabaseOf } from '../../kit/test-store.ts'

const made = new Map<string, string>() // deletes a database, by its URL

/** Tests of PostgreSQL itself set the stores of their processes. */
const namesStores = process.argv[1]?.endsWith('.postgres.ts') === true

/** Creates the database and returns the variable with its URL. Empty if the store is a file in that directory. */
export function storeEnv(args: readonly string[]): { readonly SVC_STORE_URL?: string } {
  const dir = args[args.indexOf('--data-dir') + 1]
  if (namesStores || !args.includes('--data-dir') || !dir || !process.env['SLUICE_TEST_STORE_URL']) return {}
  if (!existsSync(dir)) mkdirSync(dir, { recursive: true, mode: 0o700 }) // the database is named after this directory
  const database = testDatabaseOf(dir, 'template')
  if (!database) return {}
  const { place, by, create, drop } = database
  if (!made.has(place.url)) {
    if (made.size === 0) process.once('exit', () => psql(by.url, [...made.values()]))
    const name = place.url.split('/').at(-1)
    psql(by.url, [
      `select '${create}' where not exists (select from pg_database where datname = '${name}') \\gexec`
    ]) // this process may already have created it
    made.set(place.url, drop)
  }
  return { SVC_STORE_URL: place.url }
}

function psql(url: string, commands: readonly string[]): void {
  const input = commands.join(';\n')
  execFileSync('psql', ['-q', '-v', 'ON_ERROR_STOP=1', url], { input, stdio: ['pipe', 'ignore', 'inherit'] })
}
