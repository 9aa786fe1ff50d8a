// Agents work without the server. Traffic continues during an outage of either side.
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { freePort } from '../support/ports.ts'
import { startAgent, testCluster } from '../support/test-cluster.ts'
import { download, get, hashOfMib, startWebServer } from '../support/web.ts'

async function forwardingCluster(t: Test) {
  const cluster = await testCluster(t)
  const paris = await startAgent(t, cluster, 'paris')
  const page = await startWebServer(t)
  const port = await freePort()
  const rule = await cluster.json<{ rule_id: string }>(
    'rule',
    'push',
    'paris',
    String(port),
    `127.0.0.1:${page}`
  )
  return { cluster, paris, port, url: `http://127.0.0.1:${port}`, rule }
}

t.test('a download survives a killed server, and no rule is reopened', async t => {
  const { cluster, paris, url } = await forwardingCluster(t)
  const body = download(`${url}/mib/256`, 32 << 20)
  await body.reached(32 << 20)

  cluster.server.signal('SIGKILL')
  await cluster.server.exit
  body.resume()

  t.equal(await body.hash, hashOfMib(256))
  t.match(await get(`${url}/`), /hello/, 'new connections work')
  await cluster.restart()
  await cluster.server.until('client.connected')
  t.match(await cluster.json('rule', 'list'), [{ state: 'active' }])
  t.match(await get(`${url}/`), /hello/)
  t.equal(paris.agent.count('rule.opened'), 1)
})

t.test(
  'an agent notices a hanging server within 30 s, and traffic continues',
  { timeout: 240_000 },
  async t => {
    const { cluster, paris, url } = await forwardingCluster(t)
    const before = paris.agent.events.length
    cluster.server.signal('SIGSTOP')
    const stoppedAt = Date.now()

    await paris.agent.until('control.disconnected', undefined, before)

    t.ok(Date.now() - stoppedAt < 31_000)
    t.match(await get(`${url}/`), /hello/)
    cluster.server.signal('SIGCONT')
    await cluster.server.until('client.connected', undefined, cluster.server.events.length)
    t.equal(paris.agent.count('rule.opened'), 1)
  }
)

t.test('an agent that is killed while the server is down forwards again from its saved state', async t => {
  const { cluster, paris, url } = await forwardingCluster(t)
  cluster.server.signal('SIGKILL')
  await cluster.server.exit
  paris.agent.signal('SIGKILL')
  await paris.agent.exit
  await t.rejects(get(`${url}/`))

  paris.restart()
  await paris.agent.until('rule.opened')

  t.match(await get(`${url}/`), /hello/)
})

t.test(
  'when a proxy in front of the control port stops reading, both sides notice within 30 s',
  { timeout: 240_000 },
  async t => {
    const controlPort = await freePort()
    const proxyPort = await freePort()
    const pairs: [Socket, Socket][] = []
    const proxy = createServer(agent => {
      const server = connect(controlPort, '127.0.0.1')
      pairs.push([agent, server])
      agent.pipe(server)
      server.pipe(agent)
      for (const socket of [agent, server]) socket.on('error', () => {})
    }).listen(proxyPort, '127.0.0.1')
    await once(proxy, 'listening')
    t.teardown(() => {
      proxy.close()
      for (const pair of pairs) for (const socket of pair) socket.destroy()
    })
    const cluster = await testCluster(t, {
      SVC_CONTROL_LISTEN: `127.0.0.1:${controlPort}`,
      SVC_ADVERTISED_ENDPOINT: `127.0.0.1:${proxyPort}`
    })
    const paris = await startAgent(t, cluster, 'paris')
    const seenByServer = cluster.server.events.length
    const seenByAgent = paris.agent.events.length

    for (const [agent, server] of pairs) {
      agent.unpipe(server).pause()
      server.unpipe(agent).pause()
    }

    await Promise.all([
      cluster.server.until('client.disconnected', undefined, seenByServer),
      paris.agent.until('control.disconnected', undefined, seenByAgent)
    ])
  }
)

t.test('an agent that gets SIGTERM lets live connections finish and exits with 0', async t => {
  const { paris, url } = await forwardingCluster(t)
  const body = download(`${url}/mib/64`, 8 << 20)
  await body.reached(8 << 20)

  paris.agent.signal('SIGTERM')
  await paris.agent.until('rule.closed')
  await t.rejects(get(`${url}/`), 'the listener is closed')
  body.resume()

  t.equal(await body.hash, hashOfMib(64))
  t.equal(await paris.agent.exit, 0)
})
