// Several real servers on one PostgreSQL, with agents that a test controls.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { StatsReport } from '../../agent/wire/journal-report.ts'
import { hashOf } from '../../kernel/identity/secret.ts'
import { newId } from '../../kernel/platform/id.ts'
import { runAt } from '../../kernel/store/postgres/sessions.ts'
import { acceptingScript } from '../../kit/accepting-agent.ts'
import { connectAgent, type Script } from '../../kit/scripted-agent.ts'
import { makeCertificate } from '../../plugins/certificate/make-certificate.ts'
import { freePorts } from '../../plugins/doctor/test/provoke-findings.ts'
import { awaitServer, until } from '../support/await-server.ts'
import { start } from '../support/process.ts'
import { makeCluster } from './cluster.ts'
import { connectTo } from './empty-database.ts'

const cluster = await makeCluster()
t.teardown(cluster.remove)
cluster.start()
const operator = 'operator-token-of-the-end-to-end-suite-0123456789'
const { cert, key } = await makeCertificate([])

/** A database for this test, and a function that starts servers on it. */
async function fixture(t: Test) {
  const name = `test_${newId(0).slice(-8).toLowerCase()}`
  await runAt(cluster.at('postgres'), [`create database ${name}`])
  const place = cluster.at(name)
  const dir = t.testdir()
  const files = { SVC_TLS_CERT_PATH: join(dir, 'cert.pem'), SVC_TLS_KEY_PATH: join(dir, 'key.pem') }
  writeFileSync(files.SVC_TLS_CERT_PATH, cert)
  writeFileSync(files.SVC_TLS_KEY_PATH, key, { mode: 0o600 })

  async function server(id: string) {
    const data = join(dir, id)
    mkdirSync(data, { mode: 0o700 })
    const child = start(t, ['server', '--data-dir', data], {
      ...files,
      SVC_STORE_URL: place.url,
      SVC_SERVER_ID: id,
      SVC_OPERATOR_TOKEN: operator,
      SVC_OPERATOR_HTTP_LISTEN: '127.0.0.1:0',
      SVC_CONTROL_LISTEN: '127.0.0.1:0',
      SVC_METRICS_LISTEN: '127.0.0.1:0'
    })
    return awaitServer(child, operator)
  }

  async function client(name: string) {
    const id = newId(Date.now())
    await runAt(place, [
      `insert into kernel_client (id, name, token_hash, revision, enrolled_at) values ('${id}', '${name}', '${hashOf(id)}', 0, 1)`
    ])
    const connect = async (to: Awaited<ReturnType<typeof server>>, script: Partial<Script> = {}) =>
      connectAgent(t, { ...to.at, token: id, ...(await acceptingScript(script)) })
    return { id, connect }
  }

  return { dir, place, files, server, client }
}

type Server = Awaited<ReturnType<Awaited<ReturnType<typeof fixture>>['server']>>

const isConnected = (to: Server, id: string, expected: boolean) =>
  until(
    () => to.call('GET', `/v1/clients/${id}`),
    ({ body }) => body.connected === expected
  )

const ruleOf = (client: string, port: number) => ({
  client,
  protocol: 'tcp',
  listen_port: port,
  targets: [{ host: '127.0.0.1', port: 80 }]
})

t.test('two servers share a store: each knows the other and the agents of both', async t => {
  const { server, client } = await fixture(t)
  const a = await server('a')
  const b = await server('b')
  const paris = await client('paris')
  await paris.connect(b)

  await isConnected(a, paris.id, true)

  const { status, body } = await a.call('GET', '/v1/servers')
  t.equal(status, 200)
  t.match(body, [
    { server_id: 'a', sessions: 0 },
    { server_id: 'b', sessions: 1 }
  ])
})

t.test('all servers say the same of when an agent connected', async t => {
  const { server, client } = await fixture(t)
  const a = await server('a')
  const b = await server('b')
  const paris = await client('paris')
  await paris.connect(b)
  await isConnected(a, paris.id, true)

  const [atPeer, atOwn] = await Promise.all([a, b].map(one => one.call('GET', `/v1/clients/${paris.id}`)))

  t.type(atOwn?.body.connected_at, 'string')
  t.equal(atPeer?.body.connected_at, atOwn?.body.connected_at)
})

t.test('the servers of a store are listed in pages', async t => {
  const { server } = await fixture(t)
  const a = await server('a')
  await server('b')

  t.match(await a.call('GET', '/v1/servers?limit=1'), { status: 200, body: [{ server_id: 'a' }] })
  t.match(await a.call('GET', '/v1/servers?sort=-server_id&limit=1'), { body: [{ server_id: 'b' }] })
})

t.test('a server that has just started knows the agents of its peers', async t => {
  const { server, client } = await fixture(t)
  const b = await server('b')
  const paris = await client('paris')
  await paris.connect(b)

  const a = await server('a')

  t.match(await a.call('GET', `/v1/clients/${paris.id}`), { body: { connected: true } })
  t.match(await a.call('POST', '/v1/rules', ruleOf('paris', 8001)), {
    status: 201,
    body: { state: 'active' }
  })
})

t.test('a server without a heartbeat for 60 s is not listed', async t => {
  const { server, place } = await fixture(t)
  const a = await server('a')
  const seenSecsAgo = (id: string, secs: number) =>
    `insert into servers_server values ('${id}', '${id}', '2.0.0', 1, (extract(epoch from now()) - ${secs})::bigint * 1000, '')`
  await runAt(place, [seenSecsAgo('late', 50), seenSecsAgo('gone', 61)])

  const { body } = await a.call('GET', '/v1/servers')
  t.same(
    body.map(({ server_id }: { server_id: string }) => server_id),
    ['a', 'late']
  )
})

t.test('a server that cannot broadcast signals is refused, with the remedy', async t => {
  const { dir, files, place } = await fixture(t)
  const env = { ...files, SVC_STORE_URL: place.url, SVC_STORE_LISTEN_URL: cluster.at('postgres').url }
  const deaf = start(t, ['server', '--data-dir', join(dir, 'deaf')], env)
  t.equal(await deaf.exit, 78)
  t.match(deaf.output(), /startup\.store_unusable: .* cannot wake each other: .* store_listen_url/)
})

t.test('a rule made at one server for an agent at a peer gets the same answer as a local one', async t => {
  const { server, client } = await fixture(t)
  const a = await server('a')
  const b = await server('b')
  const paris = await client('paris')
  const agent = await paris.connect(b)
  await isConnected(a, paris.id, true)

  const made = await a.call('POST', '/v1/rules', ruleOf(paris.id, 8001))
  t.match(made, { status: 201, body: { state: 'active' } })
  t.match(await b.call('GET', `/v1/rules/${made.body.rule_id}`), { status: 200, body: { state: 'active' } })
  const changed = await a.call('PATCH', `/v1/rules/${made.body.rule_id}`, { paused: true })
  t.match(changed, { status: 200, body: { state: 'paused' } })
  t.match(await a.call('DELETE', `/v1/rules/${made.body.rule_id}`), { status: 204 })
  t.equal(agent.ended.aborted, false)
})

t.test('a refusal by an agent at a peer server reaches the caller', async t => {
  const { server, client } = await fixture(t)
  const a = await server('a')
  const b = await server('b')
  const paris = await client('paris')
  await paris.connect(b, { react: () => ({ refuse: 'port_in_use', message: 'another program has it' }) })
  await isConnected(a, paris.id, true)

  const made = await a.call('POST', '/v1/rules', ruleOf(paris.id, 8001))
  t.match(made, { status: 409, body: { error: { code: 'port_in_use' } } })
})

t.test('an agent that moves to a peer has one session, and the old server drops its session', async t => {
  const { server, client } = await fixture(t)
  const a = await server('a')
  const b = await server('b')
  const paris = await client('paris')
  const first = await paris.connect(b, { instanceId: 'one' })
  await paris.connect(a, { instanceId: 'one' })
  await first.closed()
  t.equal(first.endCode(), 'replaced')
  const { body } = await b.call('GET', '/v1/servers')
  t.match(body, [
    { server_id: 'a', sessions: 1 },
    { server_id: 'b', sessions: 0 }
  ])
  t.match(await b.call('POST', '/v1/rules', ruleOf(paris.id, 8001)), {
    status: 201,
    body: { state: 'active' }
  })
})

t.test('the journal does not report an agent offline when it moves to a peer server', async t => {
  const { server, client, place } = await fixture(t)
  const a = await server('a')
  const b = await server('b')
  const paris = await client('paris')
  const first = await paris.connect(b, { instanceId: 'one' })
  await isConnected(a, paris.id, true)
  await paris.connect(a, { instanceId: 'one' })
  await first.closed()
  await b.until('client.disconnected')
  b.signal('SIGTERM') // all its writes are done
  t.equal(await b.exit, 0)

  const notes = await connectTo(t, place)
  const { rows } = await notes.query(
    `select to_value as "to" from journal_entry where subject = $1 and kind = 'edge' order by id`,
    [paris.id]
  )
  // The first server's own entry may have come too late: then the second server's entry says it.
  t.strictSame([...new Set(rows.map(({ to }) => to))], ['"connected"'])
})

t.test('a client that is revoked at one server loses its stream at a peer', async t => {
  const { server, client } = await fixture(t)
  const a = await server('a')
  const b = await server('b')
  const paris = await client('paris')
  const agent = await paris.connect(b)
  await isConnected(a, paris.id, true)

  t.equal((await a.call('POST', `/v1/clients/${paris.id}/revoke`)).status, 204)
  await agent.closed()
  t.equal(agent.endCode(), 'token_revoked')
})

t.test('a token that is revoked at one server is refused at a peer at once', async t => {
  const { server } = await fixture(t)
  const a = await server('a')
  const b = await server('b')
  await a.call('POST', '/v1/users', { user_id: 'ann', display_name: 'Ann', role: 'superadmin' })
  const { body } = await a.call('POST', '/v1/users/ann/credentials', { label: 'test' })
  for (let at = 0; at < 3; at++)
    t.match(await b.call('GET', '/v1/users/me', undefined, body.token), { status: 200 })
  t.equal((await a.call('DELETE', `/v1/users/ann/credentials/${body.credential_id}`)).status, 204)
  t.equal((await b.call('GET', '/v1/users/me', undefined, body.token)).status, 401)
})

const reportOf = (rule_id: string, seq: number) => ({
  epoch: 'f'.repeat(32),
  seq,
  part: 0,
  last: true,
  rows: [],
  live: [{ rule_id, port: 8001, connections: 3 }]
})

t.test('live reports of an agent are shown at all servers until it disconnects', async t => {
  const { server, client } = await fixture(t)
  const a = await server('a')
  const b = await server('b')
  const paris = await client('paris')
  const agent = await paris.connect(b)
  await isConnected(a, paris.id, true)
  const { body } = await a.call('POST', '/v1/rules', ruleOf(paris.id, 8001))
  const stats = () => a.call('GET', `/v1/rules/${body.rule_id}/stats`)
  t.match(await stats(), { status: 200, body: { active_connections: 0 } })

  await agent.channel.request(StatsReport, reportOf(body.rule_id, 1))
  await until(stats, ({ body }) => body.active_connections === 3)
  await agent.close()
  await until(stats, ({ body }) => body.active_connections === 0)
  t.pass('both were seen')
})

t.test('late reports of a replaced session are refused and change nothing', async t => {
  const { server, client, place } = await fixture(t)
  const a = await server('a')
  const b = await server('b')
  const paris = await client('paris')
  const agent = await paris.connect(b)
  await isConnected(a, paris.id, true)
  const { body } = await a.call('POST', '/v1/rules', ruleOf(paris.id, 8001))
  await runAt(place, [`update servers_session set session_id = 'another', boot = 'another', changed = 0`])

  const report = agent.channel.request(StatsReport, reportOf(body.rule_id, 1))
  await t.rejects(report, { code: 'wire.closed' })
})

t.test('agents of a killed server are offline once its lease expires', async t => {
  const { server, client } = await fixture(t)
  const a = await server('a')
  const b = await server('b')
  const paris = await client('paris')
  await paris.connect(b)
  await isConnected(a, paris.id, true)
  b.signal('SIGKILL')
  await isConnected(a, paris.id, false)
  t.pass('the agent is listed')
  await paris.connect(a)
  t.match(await a.call('POST', '/v1/rules', ruleOf(paris.id, 8001)), {
    status: 201,
    body: { state: 'active' }
  })
})

t.test('a second server with the same name is refused, with the remedy', async t => {
  const { dir, server, place, files } = await fixture(t)
  await server('a')
  const env = { ...files, SVC_STORE_URL: place.url, SVC_SERVER_ID: 'a' }
  const other = start(t, ['server', '--data-dir', join(dir, 'other')], env)
  t.equal(await other.exit, 78)
  t.match(other.output(), /server_id a is in use by another server; give each server another name/)
})

t.test('a server waits for its name until the database sees the end of its previous process', async t => {
  const { dir, place, files } = await fixture(t)
  const database = await connectTo(t, place)
  const name = `hashtext('sluice'), hashtext('a')`
  const waiting = `select 1 from pg_stat_activity where datname = current_database() and query like '%max(seen_at)%'
    and pid <> pg_backend_pid()`
  await database.query(`select pg_advisory_lock(${name})`)
  const env = { ...files, SVC_STORE_URL: place.url, SVC_SERVER_ID: 'a', SVC_OPERATOR_TOKEN: operator }
  const early = start(t, ['server', '--data-dir', join(dir, 'a')], { ...env, ...freePorts })
  t.equal(await early.exit, 75)
  t.match(early.output(), /server_id a: the database still holds the name .*; start again in a few seconds/)

  const next = start(t, ['server', '--data-dir', join(dir, 'a')], { ...env, ...freePorts })
  await until(
    () => database.query(waiting),
    ({ rows }) => rows.length > 0
  )
  await database.query(`select pg_advisory_unlock(${name})`)
  await next.until('server.started')
})

t.test(
  'a second server with the same name is refused even after the first one has lost its connections',
  async t => {
    const { dir, server, place, files } = await fixture(t)
    const a = await server('a')
    const database = await connectTo(t, place)
    await database.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()'
    )
    await until(
      () => a.call('GET', '/v1/servers'),
      ({ status }) => status === 200
    )
    const { rows } = await until(
      () => database.query(`select 1 from pg_locks where locktype = 'advisory' and objsubid = 2`),
      found => found.rows.length > 0
    )
    t.equal(rows.length, 1)
    const env = { ...files, SVC_STORE_URL: place.url, SVC_SERVER_ID: 'a' }
    const other = start(t, ['server', '--data-dir', join(dir, 'other')], env)
    t.equal(await other.exit, 78)
    t.match(other.output(), /server_id a is in use by another server/)
  }
)
