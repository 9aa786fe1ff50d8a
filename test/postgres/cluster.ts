// A PostgreSQL cluster for this run, on a free port.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, chownSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PostgresPlace } from '../../kernel/store/sql/database.ts'
import { guardDirectory, guardGroup, signalProcess } from '../support/child-process.ts'

/** Never syncs, because no data outlives the run. May have a standby. */
export const followed = `
max_connections = 300
shared_buffers = 256MB
fsync = off
full_page_writes = off
autovacuum = off
log_min_messages = fatal
`
const quick = `${followed}
wal_level = minimal
max_wal_senders = 0
`
/** Its collation differs from the byte order that the store uses. */
const locale = ['--locale=C.UTF-8', '--locale-provider=icu', '--icu-locale=en']

export interface Cluster {
  readonly dir: string // contains the log
  at(database: string): PostgresPlace // as the user sluice, a superuser
  pid(): number // of the postmaster
  start(): void
  stop(): void
  /** Kills it like the OOM killer does. */
  kill(): void
  /** Sends a signal to all its processes. */
  signal(name: NodeJS.Signals): void
  /** Starts a standby that follows this one. */
  standby(): Promise<Standby>
  /** Stops it, and deletes its files. */
  remove(): void
}

export interface Standby extends Cluster {
  /** Promotes the standby to primary. */
  promote(): void
}

type Env = Readonly<Record<string, string>>

/** Makes a stopped cluster. `settings` are lines of postgresql.conf; '' keeps the defaults. `env` is for its processes. */
export async function makeCluster(settings = quick, env: Env = {}): Promise<Cluster> {
  const dir = emptyDir()
  run(dir, 'initdb', ['-D', join(dir, 'data'), '-U', 'sluice', '-A', 'trust', '-E', 'UTF8', ...locale])
  return clusterIn(dir, await freePort(), settings, env)
}

/** Makes a cluster in a directory, with its files in `data`. */
function clusterIn(dir: string, port: number, settings: string, env: Env): Standby {
  const data = join(dir, 'data')
  appendFileSync(
    join(data, 'postgresql.conf'),
    `${settings}\nlisten_addresses = '127.0.0.1'\nport = ${port}\nunix_socket_directories = '${dir}'\n`
  )
  const pgCtl = (...more: readonly string[]): void =>
    run(dir, 'pg_ctl', ['-D', data, '-w', '-l', join(dir, 'log'), ...more], env)
  const pid = (): number => Number.parseInt(readFileSync(join(data, 'postmaster.pid'), 'utf8'), 10)
  /** The postmaster is the first process. */
  const processes = (): readonly number[] => {
    const children = readFileSync(`/proc/${pid()}/task/${pid()}/children`, 'utf8').split(' ')
    return [pid(), ...children.filter(Boolean).map(Number)]
  }
  const signal = (name: NodeJS.Signals): readonly number[] => {
    const all = processes()
    for (const each of all) signalProcess(each, name) // the others may end with the postmaster
    return all
  }
  let isRunning = false
  const control = (word: 'start' | 'stop'): void => {
    if (isRunning === (word === 'start')) return
    pgCtl('-m', 'immediate', word)
    isRunning = word === 'start'
    if (isRunning) guardGroup(pid()) // pg_ctl detaches the postmaster from this process
  }
  return {
    dir,
    pid,
    at: database => ({ url: `postgres://sluice@127.0.0.1:${port}/${database}`, password: undefined }),
    start: () => control('start'),
    stop: () => control('stop'),
    kill() {
      const all = signal('SIGKILL')
      while (all.some(isProcessRunning)) execFileSync('sleep', ['0.01'])
      for (const file of [join(data, 'postmaster.pid'), join(dir, `.s.PGSQL.${port}.lock`)]) rmSync(file) // a zombie with this pid may remain where nobody reaps it
      isRunning = false
    },
    signal: name => void signal(name),
    async standby() {
      const copy = emptyDir()
      const from = ['-h', '127.0.0.1', '-p', String(port), '-U', 'sluice', '-R', '-c', 'fast']
      run(copy, 'pg_basebackup', ['-D', join(copy, 'data'), ...from])
      const standby = clusterIn(copy, await freePort(), '', env)
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

function emptyDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-postgres-'))
  guardDirectory(dir)
  const owner = ownerOfPostgres()
  if (owner) chownSync(dir, owner.uid, owner.gid)
  return dir
}

function run(dir: string, program: string, words: readonly string[], env: Env = {}): void {
  const [bin = ''] = globSync('/usr/lib/postgresql/*/bin').sort(
    (one, other) => versionOf(other) - versionOf(one)
  )
  if (versionOf(bin) < 15) throw new Error('PostgreSQL 15 or newer is missing: apt-get install postgresql')
  const own = { ...ownerOfPostgres(), cwd: dir, env: { ...process.env, ...env } }
  execFileSync(join(bin, program), words, { ...own, stdio: 'ignore' })
}

function versionOf(path: string): number {
  return Number(/\d+/.exec(path)?.[0] ?? 0)
}

/** False for a zombie, which stays where nobody reaps it. */
export function isProcessRunning(pid: number): boolean {
  const stat = `/proc/${pid}/stat`
  return existsSync(stat) && !/\) [ZX] /.test(readFileSync(stat, 'utf8'))
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
