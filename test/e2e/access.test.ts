// Revoked access takes effect on the agent: live connections are cut and ports closed within two seconds, or when a
// disconnected agent connects again.
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
  /** Listen ports of a single-port rule and of a range. All of them forward. */
  readonly ports: readonly number[]
}

async function open(t: Test): Promise<TestCluster> {
  const cluster = await testCluster(t)
  await cluster.call('POST', '/v1/users', { user_id: 'root', display_name: 'Root', role: 'superadmin' })
  return cluster
}

/** A user with a grant and with rules that forward. */
async function tenant(
  cluster: TestCluster,
  { clientId }: RunningAgent,
  userId: string,
  page: number
): Promise<Tenant> {
  await cluster.call('POST', '/v1/users', { user_id: userId, display_name: userId })
  const { token: bearer } = await cluster.call<{ token: string }>('POST', `/v1/users/${userId}/credentials`)
  const [port, first] = [await freePort(), await freePort(2)]
  const { grant_id: grantId } = await cluster.call<{ grant_id: string }>('POST', '/v1/grants', {
    user_id: userId,
    client_id: clientId,
    listen_port_start: 1,
    listen_port_end: 65_535,
    protocols: ['tcp']
  })
  for (const listen of [{ listen_port: port }, { listen_port: first, listen_port_end: first + 1 }]) {
    const targets = [{ host: '127.0.0.1', port: page }]
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
    return false // refused: what is asked for
  } finally {
    socket.destroy()
  }
}

/** Waits until all ports are closed. Returns how long that took, in milliseconds. */
async function shutAfterMs(ports: readonly number[]): Promise<number> {
  const began = performance.now()
  for (;;) {
    const open = await Promise.all(ports.map(isOpen))
    const tookMs = performance.now() - began
    if (!open.includes(true) || tookMs > 10 * withinMs) return tookMs
  }
}

/** An endless download. Resolves when the connection is cut. */
async function endless(t: Test, port: number): Promise<{ readonly cut: Promise<unknown> }> {
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.on('error', () => {}) // a reset is a cut
  const cut = new Promise<unknown>(resolve => socket.once('close', resolve))
  socket.write('GET /mib/1000000 HTTP/1.1\r\nhost: a\r\n\r\n')
  await once(socket, 'data')
  socket.resume()
  return { cut }
}

type Take = (cluster: TestCluster, of: Tenant, clientId: string) => Promise<unknown>

/** Ways to remove access that leave the agent running. */
const removals: Readonly<Record<string, Take>> = {
  'the user is deleted': (cluster, { userId }) => cluster.call('DELETE', `/v1/users/${userId}`),
  'the grant is revoked': (cluster, { grantId }) => cluster.call('DELETE', `/v1/grants/${grantId}`)
}
const revoke: Take = (cluster, _, clientId) => cluster.call('POST', `/v1/clients/${clientId}/revoke`)
const deleteClient: Take = async (cluster, of, clientId) => {
  await revoke(cluster, of, clientId)
  await cluster.call('DELETE', `/v1/clients/${clientId}`)
}

/** Measures from the moment the command returned. */
async function seeItShut(
  t: Test,
  cluster: TestCluster,
  at: RunningAgent,
  of: Tenant,
  take: Take
): Promise<void> {
  const [first, second] = [await endless(t, of.ports[0] ?? 0), await endless(t, of.ports[1] ?? 0)]

  await take(cluster, of, at.clientId)

  const shut = shutAfterMs(of.ports)
  const began = performance.now()
  await Promise.all([first.cut, second.cut])
  const cutMs = performance.now() - began
  t.ok(cutMs < withinMs, `connections are cut: ${Math.round(cutMs)} ms`)
  const shutMs = await shut
  t.ok(shutMs < withinMs, `ports are shut: ${Math.round(shutMs)} ms`)
}

t.test(
  'a connected agent cuts the traffic of a removed user at once, and no other traffic',
  { timeout: 240_000 },
  async t => {
    const cluster = await open(t)
    const paris = await startAgent(t, cluster, 'paris')
    const page = await startWebServer(t)
    const other = await tenant(cluster, paris, 'other', page)
    const bystander = await endless(t, other.ports[0] ?? 0)
    let isCut = false
    void bystander.cut.then(() => {
      isCut = true
    })

    for (const [at, [what, take]] of Object.entries(removals).entries())
      await t.test(what, async t =>
        seeItShut(t, cluster, paris, await tenant(cluster, paris, `ada${at}`, page), take)
      )
    t.equal(isCut, false, "another's connection goes on")

    await t.test('the client is revoked', async t => {
      await seeItShut(t, cluster, paris, other, revoke)
      t.equal(await paris.agent.exit, 4)
    })
    const lyon = await startAgent(t, cluster, 'lyon')
    await t.test('the client is deleted', async t => {
      await seeItShut(t, cluster, lyon, await tenant(cluster, lyon, 'eve', page), deleteClient)
      t.equal(await lyon.agent.exit, 4)
    })
  }
)

t.test('a disconnected agent cuts the traffic when it connects again', { timeout: 240_000 }, async t => {
  const cluster = await open(t)
  const paris = await startAgent(t, cluster, 'paris')
  const page = await startWebServer(t)

  for (const [at, [what, take]] of Object.entries({
    ...removals,
    'the client is deleted': deleteClient
  }).entries())
    await t.test(what, async t => {
      const ada = await tenant(cluster, paris, `ada${at}`, page)
      const before = cluster.server.events.length
      paris.agent.signal('SIGKILL')
      await cluster.server.until('client.disconnected', undefined, before)
      await take(cluster, ada, paris.clientId)

      paris.restart()

      if (take === deleteClient) t.equal(await paris.agent.exit, 4)
      else await cluster.server.until('client.connected', undefined, before)
      const shutMs = await shutAfterMs(ada.ports)
      t.ok(shutMs < withinMs, `ports are shut: ${Math.round(shutMs)} ms`)
    })
})
