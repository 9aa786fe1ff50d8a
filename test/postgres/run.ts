// Runs the tests of the store, and those of plugins that use it most, on a PostgreSQL of their own: npm run test:postgres.
// Arguments are test files; without any, all of tests.ts.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, chownSync, globSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { plugins as builtin } from '../../config/plugins.ts'
import { inDependencyOrder } from '../../kernel/dependency-order.ts'
import { kernelStore } from '../../kernel/store/kernel-store.ts'
import { openStore } from '../../kernel/store/open.ts'
import { runAt } from '../../kernel/store/postgres/sessions.ts'
import { testsOnPostgres } from './tests.ts'

const root = join(import.meta.dirname, '..', '..')

/** Nothing of it outlives the run: it syncs nothing. Its order of text is not that of bytes, which is that of the store. */
const settings = `
listen_addresses = '127.0.0.1'
max_connections = 300
shared_buffers = 256MB
fsync = off
full_page_writes = off
wal_level = minimal
max_wal_senders = 0
autovacuum = off
log_min_messages = fatal
`

const [bin = ''] = globSync('/usr/lib/postgresql/*/bin').sort(
  (one, other) => versionOf(other) - versionOf(one)
)
if (versionOf(bin) < 15) throw new Error('PostgreSQL 15 or newer is missing: apt-get install postgresql')

function versionOf(path: string): number {
  return Number(/\d+/.exec(path)?.[0] ?? 0)
}

/** PostgreSQL does not run as root. */
const isRoot = process.getuid?.() === 0
const idOf = (what: '-u' | '-g') => Number(execFileSync('id', [what, 'postgres'], { encoding: 'utf8' }))
const owner = isRoot ? { uid: idOf('-u'), gid: idOf('-g') } : {}

const dir = mkdtempSync(join(tmpdir(), 'sluice-postgres-'))
if (owner.uid !== undefined) chownSync(dir, owner.uid, owner.gid)
const data = join(dir, 'data')
const port = await freePort()
const options = { ...owner, cwd: dir }
execFileSync(
  join(bin, 'initdb'),
  [
    '-D',
    data,
    '-U',
    'sluice',
    '-A',
    'trust',
    '-E',
    'UTF8',
    '--locale=C.UTF-8',
    '--locale-provider=icu',
    '--icu-locale=en'
  ],
  { ...options, stdio: ['ignore', 'ignore', 'inherit'] }
)
appendFileSync(
  join(data, 'postgresql.conf'),
  `${settings}port = ${port}\nunix_socket_directories = '${dir}'\n`
)
const control = (...words: readonly string[]) =>
  execFileSync(join(bin, 'pg_ctl'), ['-D', data, '-w', '-l', join(dir, 'log'), ...words], {
    ...options,
    stdio: 'ignore'
  })
control('start')
try {
  process.exitCode = await test()
} finally {
  control('-m', 'immediate', 'stop')
  rmSync(dir, { recursive: true, force: true })
}

async function test(): Promise<number> {
  const at = (database: string) => ({
    url: `postgres://sluice@127.0.0.1:${port}/${database}`,
    password: undefined
  })
  await runAt(at('postgres'), ['create database sluice'])
  const plugins = await Promise.all(Object.values(builtin).map(async load => (await load()).default))
  await (await openStore(at('sluice'), [kernelStore, ...inDependencyOrder(plugins)])).close()
  const given = process.argv.slice(2)
  const files = given.length > 0 ? given : testsOnPostgres(root)
  const run = spawn(join(root, 'node_modules/.bin/tap'), ['--disable-coverage', ...files], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, SLUICE_TEST_STORE_URL: at('sluice').url }
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => run.kill(signal))
  const [status] = await once(run, 'exit')
  return status ?? 1
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as { port: number }
  await new Promise(resolve => probe.close(resolve))
  return port
}
