// SIGTERM ends every process, regardless of connections to its ports.
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { freePort } from '../support/ports.ts'
import { type Process, start } from '../support/process.ts'
import { startAgent, testCluster, token } from '../support/test-cluster.ts'

const post = [
  'POST /v1/users HTTP/1.1',
  'host: localhost',
  `authorization: Bearer ${token}`,
  'content-type: application/json'
]
const requests: Readonly<Record<string, string>> = {
  'is silent': '',
  'has sent half a header': 'GET /v1/auth/sta',
  'has sent half a body': `${[...post, 'content-length: 9'].join('\r\n')}\r\n\r\n{`,
  'does not read': 'GET /v1/openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n'.repeat(5),
  'has sent what is not HTTP': '\x16\x03\x01\x02\x00'
}

/** Connects to the port once for each of `requests`, and reads nothing. */
async function occupy(t: Test, port: number): Promise<void> {
  for (const request of Object.values(requests)) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {}) // reset at the stop
    t.teardown(() => socket.destroy())
    await once(socket, 'connect')
    socket.write(request)
  }
}

/** Reads the answer to one request, and leaves the connection open. */
async function idle(t: Test, port: number, request: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {}) // reset at the stop
  t.teardown(() => socket.destroy())
  socket.write(request)
  await once(socket, 'data')
  return socket
}

const metricsPortOf = async (process: Process): Promise<number> =>
  Number((await process.until('metrics.listening'))['port'])

t.test('a server ends on SIGTERM, regardless of connections to its ports', async t => {
  const cluster = await testCluster(t)
  const api = Number(new URL(cluster.origin).port)
  const metrics = await metricsPortOf(cluster.server)
  const edge = await startAgent(t, cluster, 'paris')
  const rule = { client: 'paris', listen_port: await freePort(), targets: [{ host: '127.0.0.1', port: 9 }] }
  const { rule_id: id } = await cluster.call<{ rule_id: string }>('POST', '/v1/rules', rule)
  for (const port of [api, metrics, cluster.controlPort]) await occupy(t, port)
  const authorized = `HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\n\r\n`
  await idle(t, api, `GET /v1/rules ${authorized}`)
  await idle(t, api, `GET /v1/rules/${id}/stats/stream ${authorized}`)
  await idle(t, metrics, `GET /metrics ${authorized}`)

  cluster.server.signal('SIGTERM')

  t.equal(await cluster.server.exit, 0)
  edge.agent.signal('SIGTERM')
  t.equal(await edge.agent.exit, 0)
})

t.test('an agent ends on SIGTERM, regardless of connections to its metrics', async t => {
  const cluster = await testCluster(t)
  const { agent } = await startAgent(t, cluster, 'paris', { env: { SVC_METRICS_LISTEN: '127.0.0.1:0' } })
  const metrics = await metricsPortOf(agent)
  await occupy(t, metrics)
  await idle(t, metrics, 'GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n')

  agent.signal('SIGTERM')

  t.equal(await agent.exit, 0)
})

t.test('an agent ends on SIGTERM while its server accepts but never answers', async t => {
  const cluster = await testCluster(t)
  const { agent, stateDir } = await startAgent(t, cluster, 'paris')
  agent.signal('SIGTERM')
  await agent.exit
  cluster.server.signal('SIGTERM')
  await cluster.server.exit
  const mute = createServer().listen(cluster.controlPort, '127.0.0.1')
  await once(mute, 'listening')
  t.teardown(() => mute.close())
  const connected = once(mute, 'connection')
  const restarted = start(t, ['agent', 'run', '--state-dir', stateDir])
  await connected

  restarted.signal('SIGTERM')

  t.equal(await restarted.exit, 0)
})

t.test('up ends on SIGTERM, regardless of connections to its ports', async t => {
  const api = await freePort()
  const control = await freePort()
  const up = start(t, ['up'], {
    SVC_DATA_DIR: join(t.testdir(), 'data'),
    SVC_OPERATOR_HTTP_LISTEN: `127.0.0.1:${api}`,
    SVC_CONTROL_LISTEN: `127.0.0.1:${control}`,
    SVC_METRICS_LISTEN: '127.0.0.1:0'
  })
  await up.until('client.connected')
  for (const port of [api, control, await metricsPortOf(up)]) await occupy(t, port)

  up.signal('SIGTERM')

  t.equal(await up.exit, 0)
})
