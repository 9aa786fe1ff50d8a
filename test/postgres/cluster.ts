// A PostgreSQL of the run's own, on a free port.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, chownSync, globSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PostgresPlace } from '../../kernel/store/sql/database.ts'

/** Its order of text is not that of bytes, which is that of the store. */
const settings = `
listen_addresses = '127.0.0.1'
max_connections = 300
shared_buffers = 256MB
wal_level = minimal
max_wal_senders = 0
log_min_messages = fatal
`
/** Nothing outlives the run: it syncs nothing. */
const fleeting = `
fsync = off
full_page_writes = off
autovacuum = off
`
const locale = ['--locale=C.UTF-8', '--locale-provider=icu', '--icu-locale=en']

export interface Cluster {
  at(database: string): PostgresPlace // as the user sluice, who may do anything
  start(): void
  stop(): void
  /** Stops it, and deletes its files. */
  remove(): void
}

/** Makes one that does not run yet. `isDurable`: it syncs what it commits, as that of an operator does. */
export async function makeCluster({ isDurable = false } = {}): Promise<Cluster> {
  const [bin = ''] = globSync('/usr/lib/postgresql/*/bin').sort(
    (one, other) => versionOf(other) - versionOf(one)
  )
  if (versionOf(bin) < 15) throw new Error('PostgreSQL 15 or newer is missing: apt-get install postgresql')
  const dir = mkdtempSync(join(tmpdir(), 'sluice-postgres-'))
  const owner = ownerOfPostgres()
  if (owner) chownSync(dir, owner.uid, owner.gid)
  const data = join(dir, 'data')
  const port = await freePort()
  const run = (program: string, ...words: readonly string[]) =>
    execFileSync(join(bin, program), ['-D', data, ...words], { ...owner, cwd: dir, stdio: 'ignore' })
  run('initdb', '-U', 'sluice', '-A', 'trust', '-E', 'UTF8', ...locale)
  appendFileSync(
    join(data, 'postgresql.conf'),
    `${settings}${isDurable ? '' : fleeting}port = ${port}\nunix_socket_directories = '${dir}'\n`
  )
  let isRunning = false
  const control = (word: 'start' | 'stop'): void => {
    if (isRunning === (word === 'start')) return
    run('pg_ctl', '-w', '-l', join(dir, 'log'), '-m', 'immediate', word)
    isRunning = word === 'start'
  }
  return {
    at: database => ({ url: `postgres://sluice@127.0.0.1:${port}/${database}`, password: undefined }),
    start: () => control('start'),
    stop: () => control('stop'),
    remove() {
      control('stop')
      rmSync(dir, { recursive: true, force: true })
    }
  }
}

function versionOf(path: string): number {
  return Number(/\d+/.exec(path)?.[0] ?? 0)
}

/** PostgreSQL does not run as root. */
function ownerOfPostgres(): { readonly uid: number; readonly gid: number } | null {
  if (process.getuid?.() !== 0) return null
  const idOf = (what: '-u' | '-g') => Number(execFileSync('id', [what, 'postgres'], { encoding: 'utf8' }))
  return { uid: idOf('-u'), gid: idOf('-g') }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as { port: number }
  await new Promise(resolve => probe.close(resolve))
  return port
}
