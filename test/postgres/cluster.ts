// A PostgreSQL of the run's own, on a free port.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, chownSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PostgresPlace } from '../../kernel/store/sql/database.ts'

/** Nothing of it outlives the run: it syncs nothing. Its order of text is not that of bytes, which is that of the store. */
const settings = `
listen_addresses = '127.0.0.1'
max_connections = 300
shared_buffers = 256MB
fsync = off
full_page_writes = off
autovacuum = off
log_min_messages = fatal
`
const alone = `
wal_level = minimal
max_wal_senders = 0
`
const locale = ['--locale=C.UTF-8', '--locale-provider=icu', '--icu-locale=en']

export interface Cluster {
  at(database: string): PostgresPlace // as the user sluice, who may do anything
  start(): void
  stop(): void
  /** Ends it as a host that loses its power does. */
  kill(): void
  /** Makes a copy that runs, and follows this one. */
  standby(): Promise<Standby>
  /** Stops it, and deletes its files. */
  remove(): void
}

export interface Standby extends Pick<Cluster, 'at' | 'kill' | 'standby' | 'remove'> {
  /** Makes it what the other was. */
  promote(): void
}

/** Makes one that does not run yet. One that `mayBeCopied` may have a standby. */
export async function makeCluster(mayBeCopied = false): Promise<Cluster> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-postgres-'))
  const owner = ownerOfPostgres()
  if (owner) chownSync(dir, owner.uid, owner.gid)
  const data = join(dir, 'data')
  const words = ['-D', data, '-U', 'sluice', '-A', 'trust', '-E', 'UTF8', ...locale]
  run(dir, 'initdb', words)
  const own = `unix_socket_directories = '${dir}'\n`
  appendFileSync(join(data, 'postgresql.conf'), `${settings}${mayBeCopied ? '' : alone}${own}`)
  return clusterIn(dir, await freePort())
}

/** One in a directory, with its files in `data`. */
function clusterIn(dir: string, port: number): Cluster & Standby {
  const data = join(dir, 'data')
  appendFileSync(join(data, 'postgresql.conf'), `port = ${port}\n`)
  let isRunning = false
  const pgCtl = (...more: readonly string[]): void =>
    run(dir, 'pg_ctl', ['-D', data, '-w', '-l', join(dir, 'log'), ...more])
  const control = (word: 'start' | 'stop'): void => {
    if (isRunning === (word === 'start')) return
    pgCtl('-m', 'immediate', word)
    isRunning = word === 'start'
  }
  return {
    at: database => ({ url: `postgres://sluice@127.0.0.1:${port}/${database}`, password: undefined }),
    start: () => control('start'),
    stop: () => control('stop'),
    kill() {
      const [pid] = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n', 1)
      process.kill(Number(pid), 'SIGKILL') // the others of it see that, and end
      isRunning = false
    },
    async standby() {
      const copy = mkdtempSync(join(tmpdir(), 'sluice-postgres-'))
      const owner = ownerOfPostgres()
      if (owner) chownSync(copy, owner.uid, owner.gid)
      const from = ['-h', '127.0.0.1', '-p', String(port), '-U', 'sluice', '-R', '-c', 'fast']
      run(copy, 'pg_basebackup', ['-D', join(copy, 'data'), ...from])
      const standby = clusterIn(copy, await freePort())
      standby.start()
      return standby
    },
    promote: () => pgCtl('promote'),
    remove() {
      control('stop')
      rmSync(dir, { recursive: true, force: true })
    }
  }
}

function run(dir: string, program: string, words: readonly string[]): void {
  const [bin = ''] = globSync('/usr/lib/postgresql/*/bin').sort(
    (one, other) => versionOf(other) - versionOf(one)
  )
  if (versionOf(bin) < 15) throw new Error('PostgreSQL 15 or newer is missing: apt-get install postgresql')
  execFileSync(join(bin, program), words, { ...ownerOfPostgres(), cwd: dir, stdio: 'ignore' })
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
