// Both halves: a server, and an agent that probes real sockets on a fake engine.
import { once } from 'node:events'
import { createServer } from 'node:net'
import t, { type Test } from 'tap'
import { runAgent, testServer } from '../../../kit/public.ts'
import { freePort } from '../../../test/support/ports.ts'
import { until } from '../../rules/test/fixture.ts'

interface Health {
  readonly state: string
  readonly reason: string | null
  readonly source: string | null
}

async function openApp(t: Test, agentOptions: Parameters<typeof runAgent>[3]) {
  const server = await testServer(t)
  const agent = await runAgent(t, server, 'edge', agentOptions)
  const port = await freePort()
  const { body } = await server.call<{ rule_id: string }>('POST', '/v1/rules', {
    client: 'edge',
    listen_port: 8080,
    targets: [{ host: '127.0.0.1', port }]
  })
  const rule = `/v1/rules/${body.rule_id}`
  /** Returns the health of the target as soon as it has this state. Seconds pass meanwhile. */
  const health = async (state: string): Promise<Health> => {
    const read = async () => {
      await server.clock.advance(1000)
      const { targets } = (await server.call<{ targets: { health: Health }[] }>('GET', rule)).body
      return targets[0]?.health ?? { state: 'none', reason: null, source: null }
    }
    return until(read, found => found.state === state)
  }
  return { server, agent, port, rule, health }
}

t.test(
  'a dead target of a rule without callers is seen, logged and journaled, and so is its return',
  async t => {
    const { server, agent, port, rule, health } = await openApp(t, { idleProbe: true })
    t.match(await health('failed'), { reason: 'refused', source: 'probe' })

    const target = createServer(socket => socket.resume()).listen(port, '127.0.0.1')
    t.teardown(() => target.close())
    await once(target, 'listening')
    t.match(await health('healthy'), { reason: null, source: 'probe' })

    const changes = agent.log.filter(({ event }) => event === 'rule.target.health_changed')
    t.match(changes, [
      { fields: { target: `127.0.0.1:${port}`, from: 'unknown', to: 'failed', reason: 'refused' } },
      { fields: { from: 'failed', to: 'healthy', reason: 'connected' } }
    ])
    const entries = await until(
      async () => (await server.call<object[]>('GET', `${rule}/journal?kind=target`)).body,
      found => found.length === 2
    )
    t.match(entries, [
      { from: 'failed', to: 'healthy', cause: 'connected' },
      { from: 'unknown', to: 'failed', cause: 'refused', details: { target: `127.0.0.1:${port}` } }
    ])
  }
)

t.test('a caller who fails is known without a probe', async t => {
  const { agent, health } = await openApp(t, { idleProbe: true })
  const [ruleId = 0] = agent.engine.rules.keys()
  const [counted] = agent.engine.sample().rules.flatMap(({ targets }) => targets)
  if (!counted) throw new TypeError('the rule has no target')

  agent.engine.setCounters(ruleId, {
    targets: [
      { ...counted, consecutiveFailures: 1, failures: 1, lastFailure: 'dns_nxdomain', lastFailureAt: 1 }
    ]
  })

  t.match(await health('failed'), { reason: 'dns_nxdomain', source: 'traffic' })
})

t.test('the target of a paused rule is unknown', async t => {
  const { server, rule, health } = await openApp(t, { idleProbe: true })
  await health('failed')

  t.match(await server.call('POST', `${rule}/pause`), { status: 204 })

  t.match(await health('unknown'), { reason: null, source: null })
})

t.test('the client explains why a target has failed', async t => {
  const { server, health, port } = await openApp(t, { idleProbe: true })
  await health('failed')

  const { body } = await server.call<{ steps: object[] }>('POST', '/v1/explain', {
    client: 'edge',
    port: 8080,
    protocol: 'tcp'
  })

  const step = body.steps.find(found => JSON.stringify(found).includes('"health"'))
  t.match(step, { id: `127.0.0.1:${port}`, reason: 'refused', verdict: 'info' })
})
