// A client is enrolled again during live traffic, with a delayed response.
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import t, { type Test } from 'tap'
import { freePort } from '../support/ports.ts'
import { sluice } from '../support/process.ts'
import { startAgent, testCluster } from '../support/test-cluster.ts'
import { download, hashOfMib, startWebServer } from '../support/web.ts'

const delayMs = 10_000

/** Delays all bytes that the server sends after the handshake, and with them the first response. */
async function openDelayingProxy(t: Test, controlPort: number): Promise<{ port: number }> {
  const proxy = createServer(agent => {
    const server = connect(controlPort, '127.0.0.1')
    for (const socket of [agent, server]) socket.on('error', () => {})
    let flights = 0
    agent.on('data', chunk => {
      flights += 1
      if (flights === 2) {
        server.unpipe(agent).pause()
        const timer = setTimeout(() => server.pipe(agent), delayMs)
        t.teardown(() => clearTimeout(timer))
      }
      server.write(chunk)
    })
    agent.on('end', () => server.end())
    server.pipe(agent)
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  t.teardown(() => proxy.close())
  const address = proxy.address()
  return { port: typeof address === 'object' && address ? address.port : 0 }
}

t.test(
  'an enrollment response that is 10 s late costs the running agent no connection',
  { timeout: 240_000 },
  async t => {
    const cluster = await testCluster(t)
    const { agent, clientId, stateDir } = await startAgent(t, cluster, 'paris')
    const page = await startWebServer(t)
    const port = await freePort()
    await cluster.json('rule', 'push', 'paris', String(port), `127.0.0.1:${page}`)
    const body = download(`http://127.0.0.1:${port}/mib/64`, 8 << 20)
    await body.reached(8 << 20)
    const { uri } = await cluster.json<{ uri: string }>('client', 're-enroll', clientId)
    const proxy = await openDelayingProxy(t, cluster.controlPort)
    const before = cluster.server.events.length

    const enrolling = sluice(
      ['agent', 'enroll', '-', '--state-dir', stateDir],
      {},
      uri.replace(`:${cluster.controlPort}/`, `:${proxy.port}/`)
    )
    await cluster.server.until('client.disconnected', undefined, before)
    t.equal((await enrolling).code, 0)

    await cluster.server.until('client.connected', undefined, before)
    body.resume()
    t.equal(await body.hash, hashOfMib(64))
    t.equal(agent.count('rule.opened'), 1)
    t.equal(agent.count('auth.failure'), 0)
  }
)
