// The wall clock of a real server or a real agent is set while it runs.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import t, { type Test } from 'tap'
import { freePort } from '../support/ports.ts'
import { type SettableClock, settableClock } from '../support/settable-clock.ts'
import {
  type RunningAgent,
  startAgent,
  statsOf,
  type TestCluster,
  testCluster
} from '../support/test-cluster.ts'

t.setTimeout(300_000)

const options = { timeout: 240_000 }
const daySecs = 86_400
const size = 20_000

interface World {
  readonly cluster: TestCluster
  readonly edge: RunningAgent
  readonly serverClock: SettableClock
  readonly agentClock: SettableClock
  /** Sends more bytes than the quota allows. Returns the bytes that arrived. */
  sendAll(): Promise<number>
  /** Traffic of a rule without a quota, so that the agent reports. */
  sendOther(): Promise<number>
  setQuota(bytes: number): Promise<unknown>
  readonly rule: string
}

/** A server and an agent, each with a settable clock, and a rule of ann with a quota. */
async function openWorld(t: Test, agentAheadSecs: number): Promise<World> {
  const serverClock = settableClock(t)
  const agentClock = settableClock(t, agentAheadSecs)
  const cluster = await testCluster(t, { ...serverClock.env, SVC_QUOTA_HOLD_SECS: '1' })
  const edge = await startAgent(t, cluster, 'edge', { env: agentClock.env })
  await cluster.call('POST', '/v1/users', { user_id: 'ann', display_name: 'Ann', role: 'user' })
  const sink = await openSink(t)
  const push = async (owner: string) => {
    const listen_port = await freePort()
    const protocol = 'tcp'
    const body = {
      client: edge.clientId,
      owner,
      protocol,
      listen_port,
      targets: [{ host: '127.0.0.1', port: sink.port }]
    }
    const { rule_id } = await cluster.call<{ rule_id: string }>('POST', '/v1/rules', body)
    return { rule_id, listen_port }
  }
  const own = await push('ann')
  const other = await push('_operator')
  const setQuota = (monthly_bytes: number) =>
    cluster.call('PUT', `/v1/users/ann/quotas/${edge.clientId}`, { monthly_bytes })
  await setQuota(size)
  return {
    cluster,
    edge,
    serverClock,
    agentClock,
    setQuota,
    rule: own.rule_id,
    sendAll: () => sink.receive(own.listen_port, 100_000),
    sendOther: () => sink.receive(other.listen_port, 100)
  }
}

/** A target that counts bytes. `receive` sends bytes to a port and resolves when the connection ends. */
async function openSink(t: Test) {
  let received = 0
  const server = createServer(socket => {
    socket.on('data', chunk => {
      received += chunk.length
    })
    socket.on('error', () => {}) // reset by the rule
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return {
    port: (server.address() as AddressInfo).port,
    async receive(port: number, bytes: number): Promise<number> {
      const before = received
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => {}) // reset by the rule
      socket.resume().end(Buffer.alloc(bytes))
      await new Promise(resolve => socket.once('close', resolve))
      return received - before
    }
  }
}

t.test('correcting the clock of an agent that is 40 days behind grants no second quota', options, async t => {
  const { cluster, edge, agentClock, sendAll, setQuota, rule } = await openWorld(t, -40 * daySecs)
  const { skew_secs } = await edge.agent.until('clock.skew')
  t.ok(Math.abs(Number(skew_secs) + 40 * daySecs) < 60, `${skew_secs} s`)
  t.equal(await sendAll(), size)

  agentClock.set(0)
  t.equal(await sendAll(), 0)
  await setQuota(size + 500)

  t.equal(await sendAll(), 500, 'only the bytes that the larger size added')
  t.equal(edge.agent.count('traffic_quota.period'), 0)
  await statsOf(cluster, rule, ({ bytes_in }) => bytes_in === size + 500)
  const now = Math.floor(Date.now() / 1000)
  const path = `/v1/users/ann/traffic?from=${now - 3600}&to=${now + 60}&bucket=1m`
  t.match(await cluster.call('GET', path), { total_bytes_in: size + 500 }, 'samples lie in the right month')
})

t.test("a step of the server's clock opens one period, and the step back opens none", options, async t => {
  const { edge, serverClock, sendAll, sendOther, setQuota } = await openWorld(t, 0)
  t.equal(await sendAll(), size)

  serverClock.set(40 * daySecs)
  await sendOther()
  await edge.agent.until('traffic_quota.period')
  let passed = 0
  while (passed === 0) passed = await sendAll() // refused until the new period takes effect
  t.equal(passed, size)
  t.equal(await sendAll(), 0)

  serverClock.set(0)
  await sendOther()
  await setQuota(size + 500)
  t.equal(await sendAll(), 500)
  t.equal(edge.agent.count('traffic_quota.period'), 1)
})

t.test("a step of the server's clock neither ends nor extends a lockout", options, async t => {
  const clock = settableClock(t)
  const cluster = await testCluster(t, clock.env)
  await cluster.call('POST', '/v1/users', { user_id: 'root', display_name: 'Root', role: 'superadmin' })
  const login = () =>
    fetch(`${cluster.origin}/v1/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ user_id: 'ann', password: 'not the right password' })
    })
  for (let i = 0; i < 5; i++) t.equal((await login()).status, 401)

  for (const ahead of [1, -1, 800, -800, 0]) {
    clock.set(ahead * daySecs)
    const { status, headers } = await login()
    const secs = Number(headers.get('retry-after'))
    t.equal(status, 429, `${ahead} days ahead`)
    t.ok(secs > 0 && secs <= 60, `${secs} s`)
  }
})
