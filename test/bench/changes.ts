// Durable changes a second: callers rename users, each one of its own, over the operator API of one server, on PostgreSQL
// and on SQLite in turns. Callers, server and PostgreSQL share this machine. Writes test/bench/CHANGES.md.
//   npm run bench:changes -- [--callers 1,12,64] [--calls 2000] [--rounds 5] [--only postgres|sqlite] [--as admin|operator]
//     [--log] [--page FILE]
// `--as`: whose token the callers have. That of an admin is looked up anew after each change of a user.
// `--log`: PostgreSQL logs its statements, to `log` in a directory that is printed and kept.
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
  readonly serverMs: number // of CPU, for each change
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

/** Measures the stores in turns, so that what else the machine does hits both; the first round of each is not counted. */
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
  perSecond: 'changes a second',
  p50: 'p50, ms',
  p99: 'p99, ms',
  serverMs: 'CPU of the server, ms for each',
  postgresMs: 'CPU of PostgreSQL, ms for each'
}

function rowsOf(count: number, found: ReadonlyMap<Store, readonly Figures[]>): string[] {
  return (Object.keys(names) as (keyof Figures)[]).map(key => {
    const [sqlite = [], postgres = []] = (['sqlite', 'postgres'] as const).map(store =>
      (found.get(store) ?? []).map(figures => figures[key])
    )
    if (key === 'postgresMs') sqlite.fill(0) // what it does by itself meanwhile is no part of these changes
    const ratios = postgres.map((value, at) => value / (sqlite[at] || Number.NaN))
    const cells = [quantile(sqlite, 0.5), quantile(postgres, 0.5), quantile(ratios, 0.5)]
    return `| ${count} | ${names[key]} | ${cells.map(shown).join(' | ')} |`
  })
}

const shown = (value: number): string =>
  value > 0 && Number.isFinite(value) ? String(Number(value.toPrecision(3))) : ''

/** The durability settings of a server connection. */
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
  const text = `# Durable changes a second

Written by \`npm run bench:changes\`, with ${rounds} rounds of ${calls} changes on each store in turns, on ${cpus().length} cores, which callers, server and PostgreSQL share (load average ${loadBefore.toFixed(1)} before). A change renames a user over the operator API, with ${values.as === 'operator' ? 'the operator token' : 'a token of an administrator, which is looked up anew after each change of a user'}; each caller has a user of its own. It is answered when it is on disk: PostgreSQL has ${await durabilitySettings(bench)}; SQLite has synchronous = full. Values are medians of the rounds, the ratio that of the ratios of PostgreSQL to SQLite in each round.

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
