import t from 'tap'
import type { AgentPlugin } from '../../agent/plugin.ts'
import { digestOf, Inventory } from '../../kernel/wire/control.ts'
import rules from '../../plugins/rules/agent.ts'
import { messages } from '../../plugins/rules/wire.ts'
import { fakeTimers } from '../support/fake-timers.ts'
import { deadEndpoint, scriptedServer } from './scripted-server.ts'
import { pushRule, removeRule, startTestAgent } from './test-agent.ts'

t.test('an agent sends Hello, applies a rule, and lists it in its inventory', async t => {
  const server = await scriptedServer(t, { messages })
  const plugin: AgentPlugin = { name: 'extra', agent: '^1.0.0', capabilities: { extra: '1.2.0' } }
  const { engine } = startTestAgent(t, { dir: t.testdir(), server, plugins: [rules, plugin] })

  const connection = await server.next()
  t.match(connection.hello, {
    token: 'token-one',
    agent_version: '2.0.0',
    protocol_version: 1,
    capabilities: { versions: { extra: '1.2.0' } },
    state_digest: digestOf('', [])
  })

  t.match(await pushRule(connection, 'rule-1', 4, 8080), { rule_id: 'rule-1', revision: 4 })
  t.match([...engine.rules.values()], [{ from: 8080, targets: [{ host: '10.0.0.1', port: 80 }] }])
  t.match(await connection.channel.request(Inventory, { after: '' }), {
    rows: [{ kind: 'rule', id: 'rule-1', revision: 4, state: 'applied' }],
    more: false
  })
})

t.test('no phase follows stopping, also if a reload ends later or begins', async t => {
  const phases: string[] = []
  const up = Promise.withResolvers<void>()
  const refusal = Promise.withResolvers<never>()
  const plugin: AgentPlugin = {
    name: 'extra',
    agent: '^1.0.0',
    lifecycle(phase) {
      phases.push(phase)
      if (phase === 'up') up.resolve()
    }
  }
  const server = await scriptedServer(t, { messages })
  const { reload, stop, log } = startTestAgent(t, {
    dir: t.testdir(),
    server,
    plugins: [plugin],
    reread: () => refusal.promise
  })
  await up.promise

  reload()
  const stopped = stop()
  refusal.reject(new Error('refused'))
  await log.until('agent.reload_refused')
  reload()
  await stopped

  t.same(phases, ['up', 'reloading', 'stopping'])
})

t.test('a lost stream changes no rule, and the next Hello has the digest of the same objects', async t => {
  const server = await scriptedServer(t, { messages })
  const { engine, clock, log } = startTestAgent(t, { dir: t.testdir(), server })
  const first = await server.next()
  await pushRule(first, 'rule-1', 4, 8080)

  first.cut()
  await log.until('control.disconnected')
  await clock.advance(250) // half of 0.5 s
  const second = await server.next()

  t.equal(second.hello.state_digest, digestOf('generation-a', [{ kind: 'rule', id: 'rule-1', revision: 4 }]))
  t.equal(second.hello.instance_id, first.hello.instance_id)
  t.equal(engine.opened.length, 1)
  t.equal(engine.closed.length, 0)
})

t.test('an agent that starts while the server is down forwards from its saved state', async t => {
  const dir = t.testdir()
  const server = await scriptedServer(t, { messages })
  const first = startTestAgent(t, { dir, server })
  await pushRule(await server.next(), 'rule-1', 4, 8080)
  t.equal(await first.stop(), 'stopped')
  await server.close()

  const second = startTestAgent(t, { dir, server })
  await second.log.until('control.unreachable')

  t.match([...second.engine.rules.values()], [{ from: 8080 }])
})

t.test('a saved rule that cannot be opened is retried and reported', async t => {
  const dir = t.testdir()
  const server = await scriptedServer(t, { messages })
  const first = startTestAgent(t, { dir, server })
  await pushRule(await server.next(), 'rule-1', 4, 8080)
  await first.stop()

  const second = startTestAgent(t, { dir, server })
  second.engine.refuseNextOpen('EADDRINUSE')
  const connection = await server.next()
  t.equal(connection.hello.state_digest, digestOf('generation-a', []))
  await second.clock.advance(1000)
  await second.log.until('rule.opened')

  await connection.channel.request(Inventory, { after: '' }) // earlier messages have arrived by now
  t.match(connection.statuses, [
    { kind: 'rule', id: 'rule-1', revision: 4, code: 'port_in_use' },
    { kind: 'rule', id: 'rule-1', revision: 4, code: '' }
  ])
})

t.test(
  'a removal is answered when the port is closed, and ObjectRemoved follows after the drain',
  async t => {
    const server = await scriptedServer(t, { messages })
    const { engine } = startTestAgent(t, { dir: t.testdir(), server })
    const connection = await server.next()
    await pushRule(connection, 'rule-1', 1, 8080)
    engine.holdDrains()

    t.match(await removeRule(connection, 'rule-1', 2, 'drain'), { rule_id: 'rule-1', revision: 2 })
    t.equal(engine.rules.size, 0)
    t.match((await connection.channel.request(Inventory, { after: '' })).rows, [
      { id: 'rule-1', state: 'draining' }
    ])
    t.same(connection.removed, [])

    engine.finishDrain(1)
    await new Promise(resolve => setImmediate(resolve))
    await connection.channel.request(Inventory, { after: '' })
    t.match(connection.removed, [{ kind: 'rule', id: 'rule-1', revision: 2 }])
  }
)

t.test('a stop closes listeners, waits for drain and last report, and keeps the saved rules', async t => {
  const dir = t.testdir()
  const server = await scriptedServer(t, { messages })
  const steps: string[] = []
  const reporter: AgentPlugin = {
    name: 'reporter',
    agent: '^1.0.0',
    async stopping() {
      steps.push('reported')
    }
  }
  const agent = startTestAgent(t, { dir, server, plugins: [rules, reporter] })
  const connection = await server.next()
  await pushRule(connection, 'rule-1', 1, 8080)
  agent.engine.holdDrains()

  const stopped = agent.stop().then(outcome => {
    steps.push(outcome)
  })
  await agent.log.until('rule.closed')
  t.equal(agent.engine.rules.size, 0)
  t.same(steps, [])
  t.notOk(connection.ended.aborted, 'the stream stays up until the last report')
  agent.engine.finishDrain(1)
  await stopped

  t.same(steps, ['reported', 'stopped'])
  const next = startTestAgent(t, { dir, server })
  await next.log.until('rule.opened')
})

t.test('a second signal ends the drain and the last report', async t => {
  const server = await scriptedServer(t, { messages })
  const never = Promise.withResolvers<void>()
  const plugin: AgentPlugin = { name: 'slow', agent: '^1.0.0', stopping: () => never.promise }
  const agent = startTestAgent(t, { dir: t.testdir(), server, plugins: [rules, plugin] })
  await pushRule(await server.next(), 'rule-1', 1, 8080)
  agent.engine.holdDrains()

  const stopped = agent.stop()
  await agent.log.until('rule.closed')
  agent.cut()

  t.equal(await stopped, 'stopped')
  t.ok(agent.engine.isStopped)
})

t.test('the agent waits 3 s for the last report', async t => {
  const server = await scriptedServer(t, { messages })
  const stopping = Promise.withResolvers<void>()
  const plugin: AgentPlugin = {
    name: 'slow',
    agent: '^1.0.0',
    stopping() {
      stopping.resolve()
      return new Promise(() => {})
    }
  }
  const agent = startTestAgent(t, { dir: t.testdir(), server, plugins: [plugin] })
  await server.next()

  const stopped = agent.stop()
  await stopping.promise
  await agent.clock.advance(3000)

  t.equal(await stopped, 'stopped')
})

t.test("a plugin start that hangs fails after 10 s with the plugin's name", async t => {
  const called = Promise.withResolvers<void>()
  const plugin: AgentPlugin = {
    name: 'hung',
    agent: '^1.0.0',
    start() {
      called.resolve()
      return new Promise(() => {})
    }
  }
  const server = await scriptedServer(t)
  const timers = fakeTimers(t)
  const agent = startTestAgent(t, { dir: t.testdir(), server, plugins: [rules, plugin] })
  const failed = t.rejects(agent.outcome, {
    errorCode: { code: 'startup.plugin_failed', exit: 78 },
    message: 'plugin hung did not start: start took more than 10 s'
  })
  await called.promise
  timers.advance(10)

  await failed
  t.ok(agent.engine.isStopped)
})

t.test('DNS failures of one name are logged once in 10 s, with the number of suppressed lines', async t => {
  const server = await scriptedServer(t, { messages })
  const { engine, log, clock } = startTestAgent(t, { dir: t.testdir(), server })
  await pushRule(await server.next(), 'rule-1', 1, 8080)
  const failed = { kind: 'dns-failed', ruleId: 1, host: 'db.example', reason: 'nxdomain' } as const

  engine.emit(failed, failed, failed)
  t.match(
    log.lines.filter(({ event }) => event === 'rule.dns_failed').map(({ fields }) => fields),
    [{ rule: 'rule-1', host: 'db.example', reason: 'nxdomain', suppressed: 0 }]
  )
  await clock.advance(10_000)
  t.equal(log.count('rule.dns_failed'), 2)
  t.match(log.lines.at(-1)?.fields, { suppressed: 2 })
  await clock.advance(60_000)
  t.equal(log.count('rule.dns_failed'), 2)
})

t.test('names that the engine asks for are resolved', async t => {
  const server = await scriptedServer(t, { messages })
  const { engine } = startTestAgent(t, { dir: t.testdir(), server })
  await server.next()

  engine.emit({ kind: 'resolve', token: 9, ruleId: 1, host: 'db.example' })
  await new Promise(resolve => setImmediate(resolve))

  t.same(engine.answers.get(9), { ok: true, addresses: ['address of db.example'] })
})

t.test('a second agent in the same state directory is refused', async t => {
  const dir = t.testdir()
  const server = { endpoint: await deadEndpoint(), fingerprint: 'ab'.repeat(32) }
  const first = startTestAgent(t, { dir, server })
  await first.log.until('control.unreachable')

  const second = startTestAgent(t, { dir, server })

  await t.rejects(second.outcome, {
    errorCode: { code: 'startup.store_in_use', exit: 75 },
    message: /in use by another agent/
  })
})
