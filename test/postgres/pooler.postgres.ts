// Servers behind Debian's PgBouncer in transaction mode: each transaction may use a different connection.
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { hashOf } from '../../kernel/identity/secret.ts'
import { newId } from '../../kernel/platform/id.ts'
import { runAt, Sessions } from '../../kernel/store/postgres/sessions.ts'
import { run } from '../../kernel/store/postgres/transaction.ts'
import { acceptingScript } from '../../kit/accepting-agent.ts'
import { connectAgent } from '../../kit/scripted-agent.ts'
import { makeCertificate } from '../../plugins/certificate/make-certificate.ts'
import { awaitServer, until } from '../support/await-server.ts'
import { spawnChild } from '../support/child-process.ts'
import { freePort } from '../support/ports.ts'
import { start } from '../support/process.ts'
import { makeCluster } from './cluster.ts'

const operator = 'operator-token-of-the-end-to-end-suite-0123456789'
const timeout = 120_000
const { cert, key } = await makeCertificate([])

/** A database behind PgBouncer, with the settings of the guide. */
async function pooled(t: Test) {
  const cluster = await makeCluster()
  t.teardown(cluster.remove)
  cluster.start()
  await runAt(cluster.at('postgres'), ['create database sluice'])
  const direct = cluster.at('sluice').url
  const { port: databasePort } = new URL(direct)
  const port = await freePort()
  const file = join(cluster.dir, 'pgbouncer.ini')
  writeFileSync(
    file,
    `[databases]
sluice = host=127.0.0.1 port=${databasePort} user=sluice
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
server_round_robin = 1
ignore_startup_parameters = options
`
  )
  const own = process.getuid?.() === 0 ? ['-u', 'postgres'] : [] // PgBouncer does not run as root
  const child = spawnChild('pgbouncer', [...own, file], { stdio: ['ignore', 'ignore', 'pipe'] })
  t.teardown(() => child.kill('SIGKILL'))
  let log = ''
  while (!log.includes('process up')) log += String((await once(child.stderr, 'data'))[0])
  child.stderr.resume()
  return { cluster, direct, pooler: `postgres://sluice@127.0.0.1:${port}/sluice` }
}

type Server = Awaited<ReturnType<typeof awaitServer>>

async function fixture(t: Test) {
  const { cluster, direct, pooler } = await pooled(t)
  const dir = t.testdir()
  const files = { SVC_TLS_CERT_PATH: join(dir, 'cert.pem'), SVC_TLS_KEY_PATH: join(dir, 'key.pem') }
  writeFileSync(files.SVC_TLS_CERT_PATH, cert)
  writeFileSync(files.SVC_TLS_KEY_PATH, key, { mode: 0o600 })
  const run = (id: string, listenUrl?: string) => {
    const data = join(dir, id)
    mkdirSync(data, { recursive: true, mode: 0o700 })
    return start(t, ['server', '--data-dir', data], {
      SVC_STORE_URL: pooler,
      ...(listenUrl && { SVC_STORE_LISTEN_URL: listenUrl }),
      SVC_SERVER_ID: id,
      ...files,
      SVC_OPERATOR_TOKEN: operator,
      SVC_OPERATOR_HTTP_LISTEN: '127.0.0.1:0',
      SVC_CONTROL_LISTEN: '127.0.0.1:0',
      SVC_METRICS_LISTEN: '127.0.0.1:0'
    })
  }

  async function client(name: string) {
    const id = newId(Date.now())
    await runAt(cluster.at('sluice'), [
      `insert into kernel_client (id, name, token_hash, revision, enrolled_at) values ('${id}', '${name}', '${hashOf(id)}', 0, 1)`
    ])
    return {
      id,
      connect: async (to: Server) => connectAgent(t, { ...to.at, token: id, ...(await acceptingScript({})) })
    }
  }

  return { cluster, run, client, server: (id: string) => awaitServer(run(id, direct), operator) }
}

t.test('a pooler that swallows signals is detected at the start, with the remedy', { timeout }, async t => {
  const { run } = await fixture(t)
  const deaf = run('deaf')
  t.equal(await deaf.exit, 78)
  t.match(deaf.output(), /startup\.store_unusable: .* cannot wake each other: .* store_listen_url/)
})

t.test('a read succeeds although another connection has prepared its statement', { timeout }, async t => {
  const { pooler: url } = await pooled(t)
  const sessions = new Sessions(
    { url, password: undefined, isAlone: false },
    { opened: async () => {}, replaceWriter: async () => {} }
  )
  t.teardown(() => sessions.close())
  await sessions.open()
  const ask = (of: number) =>
    sessions.read(async client => (await run(client, { text: 'select $1::int8 as of', values: [of] })).rows)
  const numbers = Array.from({ length: 8 }, (_, at) => at)

  const atOnce = await Promise.all(numbers.map(ask))
  const inTurn: unknown[] = []
  for (const number of numbers) inTurn.push(await ask(number))

  const expected = numbers.map(of => [{ of }])
  t.same(atOnce, expected)
  t.same(inTurn, expected)
})

t.test('a cluster starts, changes and reads behind a pooler', { timeout }, async t => {
  const { server, client } = await fixture(t)
  const [a, b, c] = await Promise.all(['a', 'b', 'c'].map(server))
  if (!a || !b || !c) throw new TypeError('there are three')
  const paris = await client('paris')
  const agent = await paris.connect(b)
  await until(
    () => a.call('GET', `/v1/clients/${paris.id}`),
    ({ body }) => body.connected
  )
  const users = Array.from({ length: 60 }, (_, at) => `user${at}`)
  const made = await Promise.all(
    users.map((user_id, at) =>
      [a, b, c][at % 3]?.call('POST', '/v1/users', { user_id, display_name: user_id })
    )
  )
  t.same([...new Set(made.map(reply => reply?.status))], [201])
  const rule = {
    client: paris.id,
    protocol: 'tcp',
    listen_port: 8001,
    targets: [{ host: '127.0.0.1', port: 80 }]
  }
  t.match(await a.call('POST', '/v1/rules', rule), { status: 201, body: { state: 'active' } })
  for (const server of [a, b, c]) {
    const { body } = await server.call('GET', '/v1/users?limit=100')
    t.equal(body.items?.length ?? body.length, users.length)
  }
  t.equal(agent.ended.aborted, false)
  for (const server of [a, b, c]) {
    server.signal('SIGTERM')
    t.equal(await server.exit, 0)
  }
  const again = await server('a')
  t.match(await again.call('GET', '/readyz'), { status: 200 })
})
