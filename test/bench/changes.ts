// Durable changes per second: each caller renames a different user over the operator API of one server, alternating
// between PostgreSQL and SQLite. Callers, server and PostgreSQL share this machine. Writes test/bench/CHANGES.md.
//   npm run bench:changes -- [--callers 1,12,64] [--calls 2000] [--rounds 5] [--only postgres|sqlite] [--as admin|operator]
//     [--log] [--page FILE]
// `--as`: selects the callers' token. The server looks up an admin's token again after each change of a user.
// `--log`: PostgreSQL logs its statements to `log` in a directory that is printed and not removed.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { newSecret } from '../../kernel/identity/secret.ts'
import { runAt } from '../../kernel/store/postgres/sessions.ts'
import { type Cluster, makeCluster } from '../postgres/cluster.ts'
import { type Process, start } from '../support/process.ts'
import { runLoad } from './scale/calls.ts'
import { cpuMsOf, cpuMsOfFamily, startHelper } from './scale/processes.ts'
import { quantile } from './seeded-server.ts'

const { values } = parseArgs({
  options: {
    callers: { type: 'string', default: '1,12,64' },
    calls: { type: 'string', default: '2000' },
    rounds: { type: 'string', default: '5' },
    only: { type: 'string' },
    as: { type: 'string', default: 'admin' },
    log: { type: 'boolean', default: false },
    page: { type: 'string', default: join(import.meta.dirname, 'CHANGES.md') }
  }
})
const counts = values.callers.split(',').map(Number)
const calls = Number(values.calls)
const rounds = Number(values.rounds)
const database = 'sluice'
const loadBefore = loadavg()[0] ?? 0

type Store = 'sqlite' | 'postgres'
const stores = (['sqlite', 'postgres'] as const).filter(
  store => values.only === undefined || values.only === store
)

/** Figures of one round. */
interface Figures {
  readonly perSecond: number
  readonly p50: number // ms
  readonly p99: number
  readonly serverMs: number // CPU ms per change
  readonly postgresMs: number
}

interface Bench {
  readonly cluster: Cluster
  readonly callers: ReturnType<typeof startHelper>
}

interface Running {
  readonly process: Process
  readonly origin: string
  readonly token: string // of a superadmin
}

const releases: (() => unknown)[] = []
const release = { teardown: (work: () => unknown) => void releases.push(work) }

async function startOn(store: Store, cluster: Cluster): Promise<Running> {
  const operator = newSecret()
  const dir = mkdtempSync(join(import.meta.dirname, '.bench-'))
  releases.push(() => rmSync(dir, { recursive: true, force: true }))
  const process = start(release, ['server', '--data-dir', dir], {
    SVC_OPERATOR_TOKEN: operator,
    SVC_OPERATOR_HTTP_LISTEN: '127.0.0.1:0',
    SVC_CONTROL_LISTEN: '127.0.0.1:0',
    SVC_METRICS_LISTEN: '127.0.0.1:0',
    ...(store === 'postgres' && { SVC_STORE_URL: cluster.at(database).url })
  })
  const { origin } = await process.until('server.started')
  const make = async <A>(path: string, body: object): Promise<A> => {
    const reply = await fetch(`${origin}${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { authorization: `Bearer ${operator}`, 'content-type': 'application/json' }
    })
    if (reply.status !== 201) throw new Error(`POST ${path}: ${reply.status} ${await reply.text()}`)
    return (await reply.json()) as A
  }
  await make('/v1/users', { user_id: 'admin', display_name: 'Admin', role: 'superadmin' })
  for (let at = 0; at < Math.max(...counts); at++)
    await make('/v1/users', { user_id: `user${at}`, display_name: 'before' })
  const { token } = await make<{ token: string }>('/v1/users/admin/credentials', { label: 'bench' })
  return { process, origin: String(origin), token: values.as === 'operator' ? operator : token }
}

let done = 0

async function round(count: number, { process, origin, token }: Running, bench: Bench): Promise<Figures> {
  const used = () => [cpuMsOf(process.pid), cpuMsOfFamily(bench.cluster.pid())] as const
  const [server, postgres] = used()
  const change = { method: 'PATCH', path: '/v1/users/user$c', body: '{"display_name":"n$i"}' }
  const load = { origin, token, ...change, from: done, calls, callers: count }
  const { ms, waits, refused } = await runLoad(bench.callers, load)
  done += calls
  for (const [code, refusals] of Object.entries(refused)) throw new Error(`${refusals} calls: ${code}`)
  const [serverAfter, postgresAfter] = used()
  return {
    perSecond: (calls / ms) * 1000,
    p50: quantile(waits, 0.5),
    p99: quantile(waits, 0.99),
    serverMs: (serverAfter - server) / calls,
    postgresMs: (postgresAfter - postgres) / calls
  }
}

/** Alternates between the stores, so that other load of the machine affects both. Discards the first round of each. */
async function measure(count: number, servers: ReadonlyMap<Store, Running>, bench: Bench) {
  const found = new Map<Store, Figures[]>(stores.map(store => [store, []]))
  for (let at = 0; at <= rounds; at++)
    for (const [store, running] of servers) {
      const figures = await round(count, running, bench)
      console.error(`${count} callers, ${store}: ${JSON.stringify(figures, short)}`)
      if (at > 0) found.get(store)?.push(figures)
    }
  return found
}

const short = (_: string, value: unknown): unknown =>
  typeof value === 'number' ? Number(value.toPrecision(3)) : value

const names: Readonly<Record<keyof Figures, string>> = {
  perSecond: 'changes per second',
  p50: 'p50, ms',
  p99: 'p99, ms',
  serverMs: 'server CPU, ms per change',
  postgresMs: 'PostgreSQL CPU, ms per change'
}

function rowsOf(count: number, found: ReadonlyMap<Store, readonly Figures[]>): string[] {
  return (Object.keys(names) as (keyof Figures)[]).map(key => {
    const [sqlite = [], postgres = []] = (['sqlite', 'postgres'] as const).map(store =>
      (found.get(store) ?? []).map(figures => figures[key])
    )
    if (key === 'postgresMs') sqlite.fill(0) // background work of an idle PostgreSQL is not part of these changes
    const ratios = postgres.map((value, at) => value / (sqlite[at] || Number.NaN))
    const cells = [quantile(sqlite, 0.5), quantile(postgres, 0.5), quantile(ratios, 0.5)]
    return `| ${count} | ${names[key]} | ${cells.map(shown).join(' | ')} |`
  })
}

const shown = (value: number): string =>
  value > 0 && Number.isFinite(value) ? String(Number(value.toPrecision(3))) : ''

/** Returns the durability settings of a PostgreSQL connection. */
async function durabilitySettings({ cluster }: Bench): Promise<string> {
  const client = new pg.Client(cluster.at(database).url)
  await client.connect()
  const { rows } = await client.query(
    `select name || ' = ' || setting as line from pg_settings
     where name in ('fsync', 'synchronous_commit', 'full_page_writes', 'server_version', 'wal_sync_method') order by name`
  )
  await client.end()
  return rows.map(({ line }) => line).join(', ')
}

async function main(): Promise<void> {
  const logged = values.log ? `log_statement = all\nlog_line_prefix = '%m [%p] '\n` : ''
  const cluster = await makeCluster(logged)
  releases.push(values.log ? cluster.stop : cluster.remove)
  if (values.log) console.error(cluster.dir)
  cluster.start()
  await runAt(cluster.at('postgres'), [`create database ${database}`])
  const callers = startHelper('callers.ts')
  releases.push(() => callers.end())
  const bench = { cluster, callers }
  const servers = new Map<Store, Running>()
  for (const store of stores) servers.set(store, await startOn(store, cluster))
  const rows: string[] = []
  for (const count of counts) rows.push(...rowsOf(count, await measure(count, servers, bench)))
  const text = `# Durable changes per second

Written by \`npm run bench:changes\`, with ${rounds} rounds of ${calls} changes, alternating between the stores, on ${cpus().length} cores shared by callers, server and PostgreSQL (load average ${loadBefore.toFixed(1)} before). A change renames a user over the operator API, with ${values.as === 'operator' ? 'the operator token' : 'the token of an administrator, which the server looks up again after each change of a user'}. Each caller renames a different user. The response follows once the change is on disk: PostgreSQL has ${await durabilitySettings(bench)}; SQLite has synchronous = full. Values are medians over the rounds. The ratio is the median of PostgreSQL divided by SQLite in each round.

| Callers | Figure | SQLite | PostgreSQL | Ratio |
|---|---|---|---|---|
${rows.join('\n')}
`
  console.log(text)
  if (values.only === undefined) writeFileSync(values.page, text)
  for (const { process } of servers.values()) {
    process.signal('SIGTERM')
    await process.exit
  }
}

try {
  await main()
} finally {
  for (const work of releases.reverse()) await work()
}
