// Starts real servers while PostgreSQL is down or refuses the connection.
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { runAt } from '../../kernel/store/postgres/sessions.ts'
import { freePort } from '../support/ports.ts'
import { sluice, start } from '../support/process.ts'
import { makeCluster } from './cluster.ts'

const cluster = await makeCluster()
t.teardown(cluster.remove)
cluster.start()
await runAt(cluster.at('postgres'), ['create database sluice', 'create role stranger login'])

const dir = join(t.testdir(), 'data') // with the database key, shared by the tests of this file

/** Polls like a supervisor: the answer may be up to a second old. */
const nextLook = () => wait(200)

/** Starts a server with a store of this URL. */
async function serverOn(t: Test, url: string) {
  const api = await freePort()
  const metrics = await freePort()
  const env = {
    SVC_STORE_URL: url,
    SVC_STORE_PASSWORD: 'a-secret',
    SVC_OPERATOR_HTTP_LISTEN: `127.0.0.1:${api}`,
    SVC_CONTROL_LISTEN: '127.0.0.1:0',
    SVC_METRICS_LISTEN: `127.0.0.1:${metrics}`
  }
  const server = start(t, ['server', '--data-dir', dir], env)
  const call = async (path: string, init: RequestInit = {}) => {
    const reply = await fetch(`http://127.0.0.1:${api}${path}`, init)
    const retryAfter = reply.headers.get('retry-after')
    return { status: reply.status, retryAfter, body: await reply.json() }
  }
  const metricsStatus = async (path: string) => (await fetch(`http://127.0.0.1:${metrics}${path}`)).status
  return { server, call, metricsStatus, env, dir }
}

t.test(
  'a server without its database answers 503 with the reason, and serves once the database is up',
  async t => {
    cluster.stop()
    const { server, call, metricsStatus, env, dir } = await serverOn(t, cluster.at('sluice').url)
    const { msg } = await server.until('store.awaited')
    t.match(msg, /waits for its store: the database sluice at 127\.0\.0\.1:\d+ .*; start PostgreSQL/)

    t.match(await call('/livez'), { status: 200, body: { status: 'live' } })
    const ready = await call('/readyz')
    t.match(ready, {
      status: 503,
      body: {
        status: 'not_ready',
        checks: { store: { status: 'failed', reason: /start PostgreSQL at 127\.0\.0\.1/ } }
      }
    })
    t.notMatch(JSON.stringify(ready.body), /a-secret|postgres:|sluice@/)
    const away = { status: 503, retryAfter: '2', body: { error: { code: 'store_unavailable' } } }
    t.match(await call('/v1/auth/status'), away)
    t.match(await call('/v1/rules', { method: 'POST', body: '{', headers: { 'content-type': 'x' } }), away)
    t.match(await call('/'), away)
    t.same(await Promise.all(['/livez', '/readyz', '/metrics'].map(metricsStatus)), [200, 503, 503])
    const reset = (data: string) => sluice(['reset-password', 'root', '--temporary', '--data-dir', data], env)
    t.match(await reset(dir), { code: 75 }, 'its data directory is in use')
    t.match(
      await reset(`${dir}-of-another`),
      { code: 6, stderr: /^store_unavailable: / },
      'commands do not wait'
    )

    cluster.start()
    await server.until('server.started')

    t.match(await call('/readyz'), { status: 200, body: { status: 'ready' } })
    t.match(await call('/v1/auth/status'), { status: 200 })
    t.same(await Promise.all(['/livez', '/readyz', '/metrics'].map(metricsStatus)), [200, 200, 200])
    t.equal(server.count('store.awaited'), 1)
    server.signal('SIGTERM')
    t.equal(await server.exit, 0)
  }
)

t.test('SIGTERM ends a server that waits for its database within a second, with 0', async t => {
  cluster.stop()
  t.teardown(cluster.start)
  const { server, call } = await serverOn(t, cluster.at('sluice').url)
  await server.until('store.awaited')
  t.match(await call('/livez'), { status: 200 })

  const before = performance.now()
  server.signal('SIGTERM')

  t.equal(await server.exit, 0)
  t.ok(performance.now() - before < 1000)
  t.notMatch(server.output(), /^ +at /m)
})

t.test('a server survives an outage of its database, including the work of its timers', async t => {
  cluster.start()
  const { server, call } = await serverOn(t, cluster.at('sluice').url)
  await server.until('server.started')

  cluster.stop()
  await server.until('plugin.failed') // reported by a timer
  t.match(await call('/readyz'), { status: 503 })
  t.match(await call('/v1/auth/status'), { status: 503, retryAfter: '2' })
  cluster.start()
  while ((await call('/readyz')).status !== 200) await nextLook()

  t.match(await call('/v1/auth/status'), { status: 200 })
  server.signal('SIGTERM')
  t.equal(await server.exit, 0)
})

t.test('a database that accepts connections and never answers counts as down', async t => {
  const sockets: Socket[] = []
  const silent = createServer(socket => void sockets.push(socket.on('error', () => {}))).listen(
    0,
    '127.0.0.1'
  )
  await once(silent, 'listening')
  t.teardown(() => {
    silent.close()
    for (const socket of sockets) socket.destroy()
  })
  const { port } = silent.address() as { port: number }
  const { server, call } = await serverOn(t, `postgres://sluice@127.0.0.1:${port}/sluice`)
  await once(silent, 'connection')

  t.match(await call('/readyz'), {
    status: 503,
    body: { checks: { store: { reason: 'the store is being opened' } } }
  })
  await server.until('store.awaited')
  server.signal('SIGTERM')

  t.equal(await server.exit, 0)
})

t.test('a start fails at once when the database refuses it: 78 with the remedy', async t => {
  cluster.start()
  const { url } = cluster.at('sluice')
  for (const [refused, remedy] of [
    [url.replace(/sluice$/, 'absent'), /create database absent owner sluice/],
    [url.replace('sluice@', 'stranger@'), /grant create, usage on schema public to stranger/],
    [`${url}?sslmode=require`, /does not support SSL connections; correct store_url, for TLS its sslmode/]
  ] as const) {
    const { server } = await serverOn(t, refused)

    t.equal(await server.exit, 78)
    t.match(server.output(), /^startup\.store_unusable: /m)
    t.match(server.output(), remedy)
    t.equal(server.count('store.awaited'), 0)
  }
})

t.test('a waiting server exits with 78 once the database is up and refuses it', async t => {
  cluster.stop()
  const { server } = await serverOn(t, cluster.at('gone').url)
  await server.until('store.awaited')

  cluster.start()

  t.equal(await server.exit, 78)
  t.match(server.output(), /create database gone owner sluice/)
})
