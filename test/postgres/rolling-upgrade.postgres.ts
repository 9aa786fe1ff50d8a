// Upgrades servers of one PostgreSQL one at a time, and stops them.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import t, { type Test } from 'tap'
import { hashOf } from '../../kernel/identity/secret.ts'
import { newId } from '../../kernel/platform/id.ts'
import { runAt } from '../../kernel/store/postgres/sessions.ts'
import type { PostgresPlace } from '../../kernel/store/sql/database.ts'
import { acceptingScript } from '../../kit/accepting-agent.ts'
import { connectAgent } from '../../kit/scripted-agent.ts'
import { makeCertificate } from '../../plugins/certificate/make-certificate.ts'
import { awaitServer, until } from '../support/await-server.ts'
import { start } from '../support/process.ts'
import { makeCluster } from './cluster.ts'

const cluster = await makeCluster()
t.teardown(cluster.remove)
cluster.start()
const operator = 'operator-token-of-the-end-to-end-suite-0123456789'
const program = join(import.meta.dirname, 'release.ts')
const { cert, key } = await makeCertificate([])

interface Release {
  readonly version: string
  readonly migrations: number // of the plugin acme; the third one closes
}

const older: Release = { version: '2.0.0', migrations: 1 }
const newer: Release = { version: '2.1.0', migrations: 3 }

/** A database for this test, and a function that starts servers of any release on it. */
async function fixture(t: Test) {
  const name = `test_${newId(0).slice(-8).toLowerCase()}`
  await runAt(cluster.at('postgres'), [`create database ${name}`])
  const place = cluster.at(name)
  const dir = t.testdir()
  const files = { tls_cert_path: join(dir, 'cert.pem'), tls_key_path: join(dir, 'key.pem') }
  writeFileSync(files.tls_cert_path, cert)
  writeFileSync(files.tls_key_path, key, { mode: 0o600 })

  function launch(id: string, { version, migrations }: Release) {
    const data = join(dir, id)
    mkdirSync(data, { mode: 0o700, recursive: true })
    const listen = '127.0.0.1:0'
    const keys = {
      ...files,
      store_url: place.url,
      server_id: id,
      operator_token: operator,
      operator_http_listen: listen,
      control_listen: listen,
      metrics_listen: listen
    }
    return start(
      t,
      [],
      {
        TEST_DATA: data,
        TEST_VERSION: version,
        TEST_MIGRATIONS: String(migrations),
        TEST_KEYS: JSON.stringify(keys)
      },
      program
    )
  }

  const server = (id: string, release: Release) => awaitServer(launch(id, release), operator)

  const client = new pg.Client(place.url)
  client.on('error', () => {}) // the cluster is removed
  await client.connect()
  t.teardown(() => client.end())
  const acme = async (): Promise<string[]> => {
    const { rows } = await client.query<{ name: string }>(
      `select name from schema_migration where name like 'acme/%' order by name`
    )
    return rows.map(({ name }) => name.slice(5))
  }

  const untilDead = (id: string) =>
    until(
      () =>
        client.query(
          `select 1 from servers_server
           where server_id = $1 and seen_at < extract(epoch from now()) * 1000 - 10000`,
          [id]
        ),
      ({ rowCount }) => rowCount === 1
    )

  return { place, launch, server, acme, untilDead }
}

type Server = Awaited<ReturnType<Awaited<ReturnType<typeof fixture>>['server']>>

t.test('tables that an older server uses stay while it runs', async t => {
  const { server, launch, acme } = await fixture(t)
  const a = await server('a', older)
  const b = await server('b', newer)

  t.same(await acme(), ['0001-note', '0002-new'])
  t.match(await b.until('server.migrations_waiting'), {
    migrations: ['acme/0003-old+closes'],
    versions: ['2.0.0']
  })
  const { body } = await b.call('GET', '/readyz')
  t.match(JSON.stringify(body), /these wait until no older server runs: acme\/0003-old\+closes/)

  a.signal('SIGKILL')
  await a.exit
  const again = await server('a', older)
  t.pass('an older server that has crashed starts again')
  again.signal('SIGTERM')
  t.equal(await again.exit, 0)

  await server('a', newer)
  t.same(await acme(), ['0001-note', '0002-new', '0003-old+closes'], 'the last server to upgrade runs it')

  const late = launch('c', older)
  t.equal(await late.exit, 78)
  t.match(late.output(), /acme: the database has schema 3, this build knows 1; start the newer build again/)
})

t.test('an older server that was declared dead when the schema was closed can change nothing', async t => {
  const { server, acme, untilDead } = await fixture(t)
  const a = await server('a', older)
  a.signal('SIGSTOP')
  await untilDead('a')
  await server('b', newer)
  t.equal((await acme()).length, 3)
  a.signal('SIGCONT')
  const user = { user_id: 'ann', display_name: 'Ann', role: 'user' }
  t.match(await a.call('POST', '/v1/users', user), {
    status: 500,
    body: { error: { code: 'startup.schema_version_too_new' } }
  })
})

t.test('a server refuses to run beside one that is more than one minor version older', async t => {
  const { server, launch } = await fixture(t)
  const a = await server('a', older)
  const far = launch('b', { version: '2.2.0', migrations: 3 })
  t.equal(await far.exit, 75)
  t.match(
    far.output(),
    /a server of sluice 2\.0\.0 uses the store, and 2\.2\.0 cannot run beside it; stop it first/
  )
  a.signal('SIGKILL')
  await a.exit
  await server('a', older)
  t.pass('the older server itself is not refused')
})

t.test('servers that start at once migrate once', async t => {
  const { server, acme } = await fixture(t)
  await Promise.all(['a', 'b', 'c'].map(id => server(id, newer)))
  t.same(await acme(), ['0001-note', '0002-new', '0003-old+closes'])
})

async function enrolled(place: PostgresPlace, count: number) {
  const ids = Array.from({ length: count }, () => newId(Date.now()))
  const values = ids.map((id, at) => `('${id}', 'edge-${at}', '${hashOf(id)}', 0, 1)`)
  await runAt(place, [
    `insert into kernel_client (id, name, token_hash, revision, enrolled_at) values ${values}`
  ])
  return ids
}

const connect = async (t: Test, to: Server, token: string) =>
  connectAgent(t, { ...to.at, token, ...(await acceptingScript({})) })

t.test('a stopping server announces its stop, and its agents move to the peer server in waves', async t => {
  const { server, place } = await fixture(t)
  const a = await server('a', older)
  const b = await server('b', older)
  const ids = await enrolled(place, 104)
  const [first = ''] = ids
  const agents = await Promise.all(ids.map(id => connect(t, a, id)))
  const rule = {
    client: first,
    protocol: 'tcp',
    listen_port: 8001,
    targets: [{ host: '127.0.0.1', port: 80 }]
  }
  const made = await b.call('POST', '/v1/rules', rule)
  t.match(made, { status: 201, body: { state: 'active' } })

  const isMoving = new AbortController()
  const endedAt: number[] = []
  const moved = agents.map(async (agent, at) => {
    await agent.closed()
    endedAt.push(performance.now())
    t.equal(agent.endCode(), 'shutting_down')
    isMoving.abort()
    await wait(at === 0 ? 100 : 1000 * Math.random()) // like our agents, which wait a random part of a second
    return connect(t, b, ids[at] ?? '')
  })
  const stoppedAt = performance.now()
  a.signal('SIGTERM')

  const ready = await until(
    () => a.call('GET', '/readyz'),
    ({ status }) => status === 503
  )
  t.match(ready.body, { checks: { stopping: { status: 'failed' } } })
  t.match(await a.call('GET', '/v1/servers'), { status: 200 }, 'the API still answers')

  if (!isMoving.signal.aborted)
    await new Promise(resolve => isMoving.signal.addEventListener('abort', resolve))
  const change = await b.call('PATCH', `/v1/rules/${made.body.rule_id}`, { paused: true })
  t.match(change, { status: 200, body: { state: 'paused' } }, 'a change waits for the agent that is moving')

  await Promise.all(moved)
  const sorted = endedAt.sort((one, other) => one - other)
  t.ok((sorted.at(-1) ?? 0) - (sorted[0] ?? 0) > 80, 'two waves')
  t.equal(await a.exit, 0)
  const tookMs = performance.now() - stoppedAt
  t.ok(tookMs < 8_000, `${tookMs} ms`)
  t.comment(`stopped within ${Math.round(tookMs)} ms`)
  t.match((await b.call('GET', '/v1/servers')).body, [{ server_id: 'b', sessions: 104 }])
})

t.test('the only server of a store stops at once', async t => {
  const { server } = await fixture(t)
  const a = await server('a', older)
  const stoppedAt = performance.now()
  a.signal('SIGTERM')
  t.equal(await a.exit, 0)
  t.ok(performance.now() - stoppedAt < 1_900)
})
