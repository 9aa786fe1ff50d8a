// Revoking access cuts live connections and closes ports on the agent within two seconds. A disconnected agent does so
// when it reconnects.
import { once } from 'node:events'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { freePort } from '../support/ports.ts'
import { type RunningAgent, startAgent, type TestCluster, testCluster } from '../support/test-cluster.ts'
import { startWebServer } from '../support/web.ts'

const withinMs = 2000

interface Tenant {
  readonly userId: string
  readonly grantId: string
  /** Listen ports of a single-port rule and of a range; all forward. */
  readonly ports: readonly number[]
}

async function openCluster(t: Test): Promise<TestCluster> {
  const cluster = await testCluster(t)
  await cluster.call('POST', '/v1/users', { user_id: 'root', display_name: 'Root', role: 'superadmin' })
  return cluster
}

/** Creates a user with a grant and with rules that forward. */
async function createTenant(
  cluster: TestCluster,
  { clientId }: RunningAgent,
  userId: string,
  targetPort: number
): Promise<Tenant> {
  await cluster.call('POST', '/v1/users', { user_id: userId, display_name: userId })
  const { token: bearer } = await cluster.call<{ token: string }>('POST', `/v1/users/${userId}/credentials`)
  const port = await freePort()
  const first = await freePort(2)
  const { grant_id: grantId } = await cluster.call<{ grant_id: string }>('POST', '/v1/grants', {
    user_id: userId,
    client_id: clientId,
    listen_port_start: 1,
    listen_port_end: 65_535,
    protocols: ['tcp']
  })
  for (const listen of [{ listen_port: port }, { listen_port: first, listen_port_end: first + 1 }]) {
    const targets = [{ host: '127.0.0.1', port: targetPort }]
    await cluster.call(
      'POST',
      '/v1/rules?ack_timeout_secs=30',
      { client: clientId, ...listen, targets },
      bearer
    )
  }
  return { userId, grantId, ports: [port, first, first + 1] }
}

const isOpen = async (port: number): Promise<boolean> => {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false // refused
  } finally {
    socket.destroy()
  }
}

/** Waits until all ports are closed. Returns the elapsed milliseconds. */
async function closedAfterMs(ports: readonly number[]): Promise<number> {
  const startedAt = performance.now()
  for (;;) {
    const open = await Promise.all(ports.map(isOpen))
    const tookMs = performance.now() - startedAt
    if (!open.includes(true) || tookMs > 10 * withinMs) return tookMs
    await new Promise(resolve => setTimeout(resolve, 20)) // thousands of callers a second would keep the agent busy
  }
}

/** Starts an endless download; `cut` resolves when its connection ends. */
async function startDownload(t: Test, port: number): Promise<{ readonly cut: Promise<unknown> }> {
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.on('error', () => {}) // a reset is a cut
  const cut = new Promise<unknown>(resolve => socket.once('close', resolve))
  socket.write('GET /mib/1000000 HTTP/1.1\r\nhost: localhost\r\n\r\n')
  await once(socket, 'data')
  socket.resume()
  return { cut }
}

type Removal = (cluster: TestCluster, tenant: Tenant, clientId: string) => Promise<unknown>

/** Ways to remove access while the agent continues to run. */
const removals: Readonly<Record<string, Removal>> = {
  'the user is deleted': (cluster, { userId }) => cluster.call('DELETE', `/v1/users/${userId}`),
  'the grant is revoked': (cluster, { grantId }) => cluster.call('DELETE', `/v1/grants/${grantId}`)
}
const revoke: Removal = (cluster, _, clientId) => cluster.call('POST', `/v1/clients/${clientId}/revoke`)
const deleteClient: Removal = async (cluster, tenant, clientId) => {
  await revoke(cluster, tenant, clientId)
  await cluster.call('DELETE', `/v1/clients/${clientId}`)
}

/** Checks that traffic ends in time. The measurement starts when the request returns. */
async function testRemoval(
  t: Test,
  cluster: TestCluster,
  agent: RunningAgent,
  tenant: Tenant,
  remove: Removal
): Promise<void> {
  const [first, second] = [
    await startDownload(t, tenant.ports[0] ?? 0),
    await startDownload(t, tenant.ports[1] ?? 0)
  ]

  await remove(cluster, tenant, agent.clientId)

  const closed = closedAfterMs(tenant.ports)
  const startedAt = performance.now()
  await Promise.all([first.cut, second.cut])
  const cutMs = performance.now() - startedAt
  t.ok(cutMs < withinMs, `connections are cut: ${Math.round(cutMs)} ms`)
  const closedMs = await closed
  t.ok(closedMs < withinMs, `ports are closed: ${Math.round(closedMs)} ms`)
}

t.test(
  'a connected agent cuts only the traffic of the removed access, and cuts it at once',
  { timeout: 240_000 },
  async t => {
    const cluster = await openCluster(t)
    const paris = await startAgent(t, cluster, 'paris')
    const webPort = await startWebServer(t)
    const other = await createTenant(cluster, paris, 'other', webPort)
    const bystander = await startDownload(t, other.ports[0] ?? 0)
    let isCut = false
    void bystander.cut.then(() => {
      isCut = true
    })

    for (const [at, [what, remove]] of Object.entries(removals).entries())
      await t.test(what, async t =>
        testRemoval(t, cluster, paris, await createTenant(cluster, paris, `ada${at}`, webPort), remove)
      )
    t.equal(isCut, false, "another's connection stays open")

    await t.test('the client is revoked', async t => {
      await testRemoval(t, cluster, paris, other, revoke)
      t.equal(await paris.agent.exit, 4)
    })
    const lyon = await startAgent(t, cluster, 'lyon')
    await t.test('the client is deleted', async t => {
      await testRemoval(t, cluster, lyon, await createTenant(cluster, lyon, 'eve', webPort), deleteClient)
      t.equal(await lyon.agent.exit, 4)
    })
  }
)

t.test('a disconnected agent cuts the traffic when it reconnects', { timeout: 240_000 }, async t => {
  const cluster = await openCluster(t)
  const paris = await startAgent(t, cluster, 'paris')
  const webPort = await startWebServer(t)

  for (const [at, [what, remove]] of Object.entries({
    ...removals,
    'the client is deleted': deleteClient
  }).entries())
    await t.test(what, async t => {
      const ada = await createTenant(cluster, paris, `ada${at}`, webPort)
      const before = cluster.server.events.length
      paris.agent.signal('SIGKILL')
      await cluster.server.until('client.disconnected', undefined, before)
      await remove(cluster, ada, paris.clientId)

      paris.restart()

      if (remove === deleteClient) t.equal(await paris.agent.exit, 4)
      else await cluster.server.until('client.connected', undefined, before)
      const closedMs = await closedAfterMs(ada.ports)
      t.ok(closedMs < withinMs, `ports are closed: ${Math.round(closedMs)} ms`)
    })
})
