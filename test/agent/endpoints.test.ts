// An agent with several endpoints: the order of tries, failover and return.
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readBundle, saveEndpoints, writeBundle } from '../../agent/stream/bundle.ts'
import { Endpoints as Order } from '../../agent/stream/endpoints.ts'
import { Endpoints, messages, welcomePart } from '../../agent/wire/endpoints.ts'
import { openCodec } from '../../kernel/wire/codec.ts'
import { type FakeClock, fakeClock } from '../../kit/fake-clock.ts'
import { deadEndpoint, type ScriptedServer, scriptedServer } from './scripted-server.ts'
import { bundleOf, startTestAgent } from './test-agent.ts'

const codec = openCodec(messages)
const welcomeWith = (endpoints: string[]) => ({
  parts: { [welcomePart]: codec.encode(Endpoints, { endpoints }) }
})

const loopTurns = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await new Promise(resolve => setImmediate(resolve))
}

/** Advances the clock of the agent and the servers in steps, so that heartbeats arrive. */
async function pass(clock: FakeClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 5_000) {
    await clock.advance(5_000)
    await loopTurns(20)
  }
}

/** Starts servers with one certificate. The bundle has the endpoint of the first. */
async function startServers(t: Test, count: number) {
  const dir = t.testdir({ certificate: {}, agent: {} })
  const clock = fakeClock()
  const servers: ScriptedServer[] = []
  for (let i = 0; i < count; i++)
    servers.push(await scriptedServer(t, { dir: join(dir, 'certificate'), messages, clock }))
  return { dir, servers, clock }
}

interface Started {
  readonly dir: string
  readonly clock: FakeClock
}

function startAgentWith(
  t: Test,
  { dir, clock }: Started,
  server: ScriptedServer,
  server_endpoints: string[]
) {
  const agentDir = join(dir, 'agent')
  writeBundle(join(agentDir, 'bundle.json'), { ...bundleOf(server, 'token-one'), server_endpoints })
  return startTestAgent(t, { dir: agentDir, server, clock })
}

t.test('the agent leaves an endpoint that does not answer for the next one at once', async t => {
  const started = await startServers(t, 1)
  const [server] = started.servers as [ScriptedServer]
  const agent = startAgentWith(t, started, server, [await deadEndpoint(), server.endpoint])

  await server.next()

  t.equal(agent.log.count('control.unreachable'), 1)
})

t.test('if no endpoint answers, the agent tries all of them and then backs off', async t => {
  const dead = [await deadEndpoint(), await deadEndpoint(), await deadEndpoint()] as const
  const started = await startServers(t, 1)
  const [server] = started.servers as [ScriptedServer]
  await server.close()
  const agent = startAgentWith(t, started, { ...server, endpoint: dead[0] }, [...dead])

  for (const [round, ms] of [250, 500, 1000].entries()) {
    await agent.log.until('control.unreachable', 3 * (round + 1))
    await loopTurns(5)
    t.equal(agent.log.count('control.unreachable'), 3 * (round + 1), 'tries no other endpoint')
    await agent.clock.advance(ms)
  }
  await agent.log.until('control.unreachable', 12)
})

t.test(
  'the agent leaves a stopping server within a second, whatever retry time the server sends',
  async t => {
    const started = await startServers(t, 2)
    const [first, second] = started.servers as [ScriptedServer, ScriptedServer]
    const agent = startAgentWith(t, started, first, [first.endpoint, second.endpoint])

    const connection = await first.next()
    connection.dismiss('shutting_down', { retry_within_ms: 60_000 })
    await agent.log.until('control.disconnected')
    await loopTurns(5)
    await agent.clock.advance(500)

    await second.next()
  }
)

t.test(
  'endpoints from Welcome are saved, and the agent returns to the preferred one once it is up',
  async t => {
    const started = await startServers(t, 2)
    const { dir, clock, servers } = started
    const [first, second] = servers as [ScriptedServer, ScriptedServer]
    const announced = [first.endpoint, second.endpoint]
    first.welcome = welcomeWith(announced)
    second.welcome = welcomeWith(announced)
    const agent = startTestAgent(t, { dir: join(dir, 'agent'), server: first, clock })
    await first.next()
    await agent.log.until('control.connected')
    t.same(agent.bundle()?.server_endpoints, announced)

    await first.close()
    await agent.log.until('control.disconnected')
    await loopTurns(5)
    await agent.clock.advance(250)
    await second.next()
    await agent.log.until('control.connected', 2)

    const port = Number(first.endpoint.split(':')[1])
    const again = await scriptedServer(t, { dir: join(dir, 'certificate'), messages, clock, port })
    again.welcome = welcomeWith(announced)
    await pass(clock, 120_000)
    t.match((await agent.log.until('control.returning')).message, first.endpoint)
    await agent.log.until('control.disconnected', 2)
    await loopTurns(5)
    await agent.clock.advance(250)
    await again.next()
  }
)

t.test('an agent stays at its endpoint while the preferred one does not answer', async t => {
  const started = await startServers(t, 1)
  const [server] = started.servers as [ScriptedServer]
  const agent = startAgentWith(t, started, server, [await deadEndpoint(), server.endpoint])
  await server.next()
  await agent.log.until('control.connected')

  await pass(agent.clock, 240_000)

  t.equal(agent.log.count('control.returning'), 0)
  t.equal(server.hellos.length, 1)
})

t.test('invalid endpoints from a server do not harm the agent', async t => {
  const { dir, clock, servers } = await startServers(t, 1)
  const [server] = servers as [ScriptedServer]
  server.welcome = welcomeWith(['nonsense', 'host:99999'])
  const agent = startTestAgent(t, { dir: join(dir, 'agent'), server, clock })
  await server.next()
  await agent.log.until('control.connected')

  await pass(clock, 130_000) // it probes its preferred endpoint
  t.equal(agent.log.count('control.returning'), 0)
  t.equal(server.hellos.length, 1, 'it does not reconnect')
})

t.test('endpoints that change while the stream is up are in the bundle before the agent answers', async t => {
  const started = await startServers(t, 1)
  const [server] = started.servers as [ScriptedServer]
  const agent = startTestAgent(t, { dir: join(started.dir, 'agent'), server })
  const { channel } = await server.next()
  await agent.log.until('control.connected')

  await channel.request(Endpoints, { endpoints: ['one.example:7443', 'two.example:7443'] })
  t.same(agent.bundle()?.server_endpoints, ['one.example:7443', 'two.example:7443'])
  await channel.request(Endpoints, { endpoints: [] })
  t.equal(agent.bundle()?.server_endpoints, undefined, 'none: the endpoint of the enrollment applies')
  await t.rejects(
    channel.request(Endpoints, { endpoints: Array.from({ length: 33 }, (_, i) => `${i}.example:1`) })
  )
})

t.test(
  'the order is random, survives changes of endpoints, and ends with the endpoint of the enrollment',
  async t => {
    const bundle = bundleOf({ endpoint: 'enrolled:1', fingerprint: 'ab'.repeat(32) }, 'token-one')
    const firsts = new Set<string>()
    for (let i = 0; i < 200; i++) {
      const order = new Order(Math.random)
      order.take({ ...bundle, server_endpoints: ['a:1', 'b:1', 'c:1'] })
      firsts.add(order.current)
    }
    t.same(
      [...firsts].sort(),
      ['a:1', 'b:1', 'c:1'],
      'each endpoint is first for some agents, the enrolled one for none'
    )

    const order = new Order(() => 0.99)
    order.take(bundle)
    t.equal(order.current, 'enrolled:1')
    order.take({ ...bundle, server_endpoints: ['a:1', 'b:1'] })
    t.equal(order.current, 'enrolled:1', 'the current endpoint does not change')
    t.equal(order.preferred, 'a:1')
    order.next(true)
    t.equal(order.current, 'a:1')
    order.take({ ...bundle, server_endpoints: ['c:1', 'b:1', 'a:1'] })
    t.equal(order.current, 'a:1')
    t.equal(order.preferred, null)
    order.take({ ...bundle, server_endpoints: ['b:1'] })
    t.equal(order.current, 'b:1', 'the agent moves from a removed endpoint to the first')
  }
)

t.test('endpoints of a replaced bundle do not change', async t => {
  const file = join(t.testdir(), 'bundle.json')
  const bundle = bundleOf({ endpoint: 'enrolled:1', fingerprint: 'ab'.repeat(32) }, 'token-two')
  writeBundle(file, bundle)

  t.notOk(saveEndpoints(file, 'token-one', ['a:1']))
  t.same(readBundle(file), bundle)
})
