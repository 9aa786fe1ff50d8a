// Creates rules of each kind in `failoverKinds`, changes them under traffic, and removes them.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'
import t, { type Test } from 'tap'
import { type Caller, datagramBytes, dial, type Protocol } from '../matrix/callers.ts'
import { failoverKinds, type RuleKind } from '../matrix/rule-kinds.ts'
import { createRule, type TestRule } from '../matrix/test-rule.ts'
import { engines, openWorld, retryDelay, type Stats, type World } from '../matrix/world.ts'
import { freePort } from '../support/ports.ts'

const host = '127.0.0.1'
const noHello = Buffer.alloc(0)

t.jobs = engines.length

for (const engine of engines)
  t.test(`on the ${engine} engine`, { timeout: 240_000, buffered: true, jobs: 12 }, async t => {
    const world = await openWorld(t, engine)
    for (const kind of failoverKinds) {
      t.test(`${kind.name}: a changed or removed rate limit applies to live traffic`, { buffered: true }, t =>
        testRateLimitChange(t, world, kind)
      )
      t.test(
        `${kind.name}: live traffic continues after its rule is removed, and the port is free at once`,
        { buffered: true },
        t => testRemoval(t, world, kind)
      )
      t.test(
        `${kind.name}: a rule fails permanently if another program uses one of its ports`,
        { buffered: true },
        t => testPortInUse(t, world, kind)
      )
      t.test(
        `${kind.name}: exactly one of many concurrent creates for one port succeeds`,
        { buffered: true },
        t => testConcurrentCreates(t, world, kind)
      )
    }
  })

const createTestRule = async (t: Test, world: World, kind: RuleKind): Promise<TestRule> =>
  createRule(t, world, { kind, owner: '_operator', listenPort: await freePort(kind.portCount) })

const slowBytesPerSec = 10_000
const slow = {
  bandwidth_out_bps: slowBytesPerSec * 8,
  bandwidth_out_burst_bytes: 2 * datagramBytes,
  concurrent_connections: 1
}

async function testRateLimitChange(t: Test, world: World, kind: RuleKind): Promise<void> {
  const rule = await createTestRule(t, world, kind)
  const put = (rate_limit: object | null) => world.call('PUT', `/v1/rules/${rule.ruleId}`, { rate_limit })
  const live = rule.dial()
  await live.echo(4_000)

  await put(slow)

  await checkSlow(t, live, kind.protocol)
  const before = rule.refused()
  const late = rule.dial()
  if (kind.protocol === 'udp') late.send(100)
  else await t.rejects(late.echo(100), 'a second connection')
  await waitForRejected(world, rule, { concurrent_connections: 1 })
  t.equal(rule.refused() - before, 1)

  await put(null)

  await live.echo(kind.protocol === 'udp' ? 20_000 : 1_000_000) // takes 100 s under the limit
  await rule.dial().echo(100)
}

async function checkSlow(t: Test, live: Caller, protocol: Protocol): Promise<void> {
  if (protocol === 'udp') {
    const before = live.received()
    live.send(30 * datagramBytes)
    while (live.received() < before + 2 * datagramBytes) await retryDelay()
    t.ok(live.received() < before + 20 * datagramBytes, 'most datagrams are dropped')
    return
  }
  const startedAt = performance.now()
  await live.echo(8_000)
  const leastMs = ((8_000 - slow.bandwidth_out_burst_bytes) * 1000) / slowBytesPerSec
  t.ok(performance.now() - startedAt >= leastMs, 'it is slow')
}

async function waitForRejected(
  { call }: World,
  { ruleId }: TestRule,
  wanted: Stats['rejected']
): Promise<void> {
  for (;;) {
    const stats = await call<Stats>('GET', `/v1/rules/${ruleId}/stats`)
    if (Object.entries(wanted).every(([reason, count]) => stats.rejected[reason] === count)) return
    await retryDelay()
  }
}

async function testRemoval(t: Test, world: World, kind: RuleKind): Promise<void> {
  const rule = await createTestRule(t, world, kind)
  const live = rule.dial()
  await live.echo(4_000)
  const url = `/v1/rules/${rule.ruleId}`

  t.equal((await world.request('DELETE', url)).status, 204)

  const { rule_id: next } = await world.call<{ rule_id: string }>('POST', '/v1/rules', {
    ...bodyOf(kind, rule.listenPort),
    targets: [{ host, port: rule.targets[0]?.port }]
  })
  if (kind.protocol === 'tcp') {
    t.match(await world.call('GET', url), { state: 'draining' })
    t.equal((await world.request('DELETE', url)).status, 204, 'again')
    await live.echo(100_000)
    live.close()
  }
  while ((await world.request('GET', url)).status !== 404) await retryDelay()
  await rule.dial().echo(100)
  t.match(await world.call('GET', `/v1/rules/${next}`), { state: 'active' })
}

async function testPortInUse(t: Test, world: World, kind: RuleKind): Promise<void> {
  const port = await freePort(kind.portCount)
  const last = port + kind.portCount - 1
  const release = await occupyPort(t, kind.protocol, last)
  const body = { ...bodyOf(kind, port), targets: [{ host, port: 9 }] }

  const refused = await world.request('POST', '/v1/rules', body)

  t.match(refused, { status: 409, body: { error: { code: 'port_in_use' } } })
  const url = `/v1/rules/${ruleIdIn(refused.body)}`
  t.match(await world.call('GET', url), { state: 'failed', state_reason: 'port_in_use' })
  if (kind.portCount > 1 && kind.protocol === 'tcp')
    await t.rejects(dial(t, 'tcp', port, noHello).echo(1), 'its other ports are not open')
  release()
  t.match(await world.request('POST', '/v1/rules', body), { status: 409 }, 'a failed rule keeps its port')
  t.equal((await world.request('DELETE', url)).status, 204)
  t.match(await world.request('POST', '/v1/rules', body), { status: 201, body: { state: 'active' } })
}

async function testConcurrentCreates(t: Test, world: World, kind: RuleKind): Promise<void> {
  const body = { ...bodyOf(kind, await freePort(kind.portCount)), targets: [{ host, port: 9 }] }

  const replies = await Promise.all(Array.from({ length: 5 }, () => world.request('POST', '/v1/rules', body)))

  t.same(replies.map(({ status }) => status).sort(), [201, 409, 409, 409, 409])
}

const bodyOf = (kind: RuleKind, listen_port: number) => ({
  client: 'paris',
  protocol: kind.protocol,
  listen_port,
  ...(kind.portCount > 1 && { listen_port_end: listen_port + kind.portCount - 1 }),
  ...(kind.hasServerName && { sni_pattern: 'one.example' }),
  ...kind.extraFields
})

const ruleIdIn = (body: unknown): string =>
  (body as { error: { details: { rule_id: string } } }).error.details.rule_id // as in the error schema

/** Listens on the port, like another program, until released. */
async function occupyPort(t: Test, protocol: Protocol, port: number): Promise<() => void> {
  const listener =
    protocol === 'tcp' ? createServer().listen(port, '0.0.0.0') : createSocket('udp4').bind(port, '0.0.0.0')
  await once(listener, 'listening')
  let isOpen = true
  const release = () => {
    if (isOpen) listener.close()
    isOpen = false
  }
  t.teardown(release)
  return release
}
