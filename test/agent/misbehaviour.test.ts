// An error in a plugin's agent half is logged with its name and harms nothing else.
import t, { type Test } from 'tap'
import {
  type AgentCall,
  type AgentField,
  type AgentObjectKind,
  type AgentPlugin,
  defineField,
  defineObjectKind
} from '../../agent/plugin.ts'
import { guardPlugin } from '../../agent/plugins/guard-plugin.ts'
import { Inventory } from '../../kernel/wire/control.ts'
import { respond } from '../../kernel/wire/message.ts'
import { recordLog } from '../../kit/record-log.ts'
import rules from '../../plugins/rules/agent.ts'
import { messages, RulePush } from '../../plugins/rules/wire.ts'
import { Echo } from '../support/echo.ts'
import { fakeTimers } from '../support/fake-timers.ts'
import { type AgentConnection, scriptedServer } from './scripted-server.ts'
import { pushRule, removeRule, startTestAgent } from './test-agent.ts'

const bug = (): never => {
  throw new TypeError('a bug')
}

/** Starts an agent with a plugin 'faulty' that has these hooks, and with other plugins after it. */
async function startFaultyAgent(t: Test, hooks: Partial<AgentPlugin>, ...others: readonly AgentPlugin[]) {
  const server = await scriptedServer(t, { messages: [...messages, Echo] })
  const plugin: AgentPlugin = { name: 'faulty', agent: '^1.0.0', messages: [Echo], ...hooks }
  const agent = startTestAgent(t, { dir: t.testdir(), server, plugins: [plugin, rules, ...others] })
  const connection = await server.next()
  const expectLogged = async (hook: string) =>
    t.match(await agent.log.until('plugin.failed'), {
      level: 'error',
      fields: { plugin: 'faulty', hook, error: /a bug[\s\S]*misbehaviour/ }
    })
  return { ...agent, connection, expectLogged }
}

const pushMood = ({ channel }: AgentConnection, mood: string) =>
  channel.request(RulePush, {
    rule_id: `rule-${mood}`,
    revision: 1,
    owner: 'ann',
    protocol: 'tcp',
    listen_from: 8080,
    listen_to: 8080,
    targets: [{ host: '10.0.0.1', port: 80, priority: 0 }],
    prefer_ipv6: false,
    fields: { mood: Uint8Array.from([10, mood.length, ...Buffer.from(mood)]) },
    retry: false
  })

const fieldPlugin = (hooks: Partial<AgentField>): Partial<AgentPlugin> => ({
  fields: [{ ...defineField({ key: 'mood', message: Echo }), ...hooks }]
})

t.test('pushes that arrive together share a sync, and a handler that says so delays no other', t => {
  const concurrent = { ...respond(Inventory, async () => bug()), isConcurrent: true as const }
  const plugin = { ...rules, handlers: [concurrent] }

  const { handlers = [] } = guardPlugin(plugin, recordLog([]), {})

  t.match(
    handlers.find(({ name }) => name === RulePush.name),
    { isGrouped: true }
  )
  t.match(
    handlers.find(({ name }) => name === Inventory.name),
    { isConcurrent: true }
  )
  t.end()
})

for (const [how, connected] of [
  ['throws', bug],
  ['rejects', async () => bug()]
] as const)
  t.test(`the stream stays up when connected ${how}, and other plugins are called`, async t => {
    const called = Promise.withResolvers<void>()
    const other: AgentPlugin = { name: 'other', agent: '^1.0.0', connected: () => called.resolve() }
    const { connection, expectLogged, engine } = await startFaultyAgent(t, { connected }, other)

    await expectLogged('connected')
    await called.promise
    await pushRule(connection, 'rule-1', 1, 8080)
    t.equal(engine.rules.size, 1)
    t.notOk(connection.ended.aborted)
  })

for (const [how, event] of [
  ['throws', bug],
  ['rejects', async () => bug()]
] as const)
  t.test(`a rule ends although the event hook of a plugin ${how}`, async t => {
    const { connection, expectLogged, engine } = await startFaultyAgent(t, { event })
    await pushRule(connection, 'rule-1', 1, 8080)

    await removeRule(connection, 'rule-1', 2, 'cut')

    await expectLogged('event')
    await new Promise(resolve => setImmediate(resolve))
    await connection.channel.request(Inventory, { after: '' })
    t.match(connection.removed, [{ kind: 'rule', id: 'rule-1', revision: 2 }])
    t.equal(engine.rules.size, 0)
  })

for (const [hook, hooks] of [
  ['plan of mood', fieldPlugin({ plan: bug })],
  ['setMeters of mood', fieldPlugin({ setMeters: value => void (value && bug()) })]
] as const)
  t.test(`if ${hook} fails, the rule is refused with the plugin's name, and others open`, async t => {
    const { connection, expectLogged, engine } = await startFaultyAgent(t, hooks)
    await pushRule(connection, 'rule-1', 1, 8081)

    await t.rejects(pushMood(connection, 'bad'), {
      code: 'internal',
      message: `plugin faulty failed at ${hook}; the agent's log says why`
    })

    await expectLogged(hook)
    await pushRule(connection, 'rule-2', 1, 8082)
    t.equal(engine.rules.size, 2)
  })

t.test('an error in meters refuses the rule; a removal does not call it', async t => {
  let isBroken = false
  const meters = () => (isBroken ? bug() : [])
  const { connection, expectLogged, engine } = await startFaultyAgent(t, { meters })
  await pushRule(connection, 'rule-1', 1, 8081)
  isBroken = true

  await removeRule(connection, 'rule-1', 2, 'cut')
  t.equal(engine.rules.size, 0)
  await t.rejects(pushRule(connection, 'rule-2', 1, 8082), { message: /^plugin faulty failed at meters;/ })
  await expectLogged('meters')
})

t.test('limits that cannot be lifted after a rule do not affect other rules', async t => {
  const { connection, expectLogged, engine } = await startFaultyAgent(
    t,
    fieldPlugin({ setMeters: value => void (value ?? bug()) })
  )
  await pushMood(connection, 'good')

  await removeRule(connection, 'rule-good', 2, 'cut')

  await expectLogged('setMeters of mood')
  await pushRule(connection, 'rule-1', 1, 8080)
  t.equal(engine.rules.size, 1)
})

t.test('a handler that throws refuses the request, and the stream stays up', async t => {
  const { connection, expectLogged } = await startFaultyAgent(t, {
    handlers: [respond(Echo, async (_: AgentCall) => bug())]
  })

  await t.rejects(connection.channel.request(Echo, { text: 'speak' }), {
    code: 'internal',
    message: /^plugin faulty failed/
  })

  await expectLogged(Echo.name)
  await pushRule(connection, 'rule-1', 1, 8080)
})

/** Returns the members of a plugin with an object kind that is pushed with Echo messages. */
const kindPlugin = (hooks: Partial<AgentObjectKind>): Partial<AgentPlugin> => ({
  kinds: [
    {
      ...defineObjectKind({
        kind: 'mood',
        push: Echo,
        readPush: ({ text }) => ({ id: text, revision: 1 }),
        answer: () => ({ text: 'applied' }),
        apply: async () => {},
        withdraw: async () => ({ done: Promise.resolve() })
      }),
      ...hooks
    }
  ]
})

t.test('an object that cannot be applied is refused with the name of its plugin', async t => {
  const { connection, expectLogged } = await startFaultyAgent(t, kindPlugin({ apply: async () => bug() }))

  await t.rejects(connection.channel.request(Echo, { text: 'one' }), {
    message: /^plugin faulty failed at apply of mood;/
  })

  await expectLogged('apply of mood')
})

t.test('an object is refused after 10 s with the name of its plugin if apply hangs', async t => {
  const called = Promise.withResolvers<void>()
  const apply = (): Promise<void> => {
    called.resolve()
    return new Promise(() => {})
  }
  const { connection, log } = await startFaultyAgent(t, kindPlugin({ apply }))
  const timers = fakeTimers(t)
  const refused = connection.channel.request(Echo, { text: 'one' }, { deadlineMs: 60_000 })
  await called.promise

  timers.advance(10)

  await t.rejects(refused, { message: /^plugin faulty failed at apply of mood;/ })
  t.match(await log.until('plugin.failed'), {
    fields: { plugin: 'faulty', hook: 'apply of mood', error: /took more than 10 s/ }
  })
})

t.test('a release that hangs is logged, and the agent stops', async t => {
  const called = Promise.withResolvers<void>()
  const release = (): Promise<void> => {
    called.resolve()
    return new Promise(() => {})
  }
  const agent = await startFaultyAgent(t, { start: async ({ defer }) => defer(release) })
  const timers = fakeTimers(t)
  const outcome = agent.stop()
  await called.promise

  timers.advance(10)

  t.equal(await outcome, 'stopped')
  t.match(await agent.log.until('plugin.failed'), {
    fields: { plugin: 'faulty', hook: 'release', error: /did not stop: a release took more than 10 s/ }
  })
})

t.test('a revoked agent ends although an object cannot be withdrawn', async t => {
  const agent = await startFaultyAgent(t, kindPlugin({ withdraw: async () => bug() }))
  await pushRule(agent.connection, 'rule-1', 1, 8080)
  t.same(await agent.connection.channel.request(Echo, { text: 'one' }), { text: 'applied' })

  agent.connection.dismiss('token_revoked')

  t.equal(await agent.outcome, 'revoked')
  await agent.expectLogged('withdraw of mood')
  t.match(await agent.log.until('object.withdraw_failed'), { fields: { kind: 'mood', id: 'one' } })
  t.same(agent.engine.closed, [{ ruleId: 1, drainMs: 0 }])
  t.ok(agent.bundle()?.revoked_at)
})

t.test('a drain that fails is logged', async t => {
  const done = Promise.reject(new TypeError('a bug of misbehaviour'))
  done.catch(() => {}) // the agent awaits it later
  const agent = await startFaultyAgent(t, kindPlugin({ withdraw: async () => ({ done }) }))
  await agent.connection.channel.request(Echo, { text: 'one' })

  agent.connection.dismiss('token_revoked')

  t.equal(await agent.outcome, 'revoked')
  await agent.expectLogged('drain of mood')
})

t.test('an error in stopping does not prevent the call to other plugins', async t => {
  let isCalled = false
  const other: AgentPlugin = {
    name: 'other',
    agent: '^1.0.0',
    async stopping() {
      isCalled = true
    }
  }
  const agent = await startFaultyAgent(t, { stopping: bug }, other)

  t.equal(await agent.stop(), 'stopped')

  await agent.expectLogged('stopping')
  t.ok(isCalled)
})

t.test('timer work that throws is logged and runs again', async t => {
  let rounds = 0
  const start: AgentPlugin['start'] = async ({ call, defer }) =>
    defer(call.clock.every(1000, () => void (++rounds && bug())))
  const { clock, connection, expectLogged } = await startFaultyAgent(t, { start })

  await clock.advance(2000)

  await expectLogged('clock.every')
  t.equal(rounds, 2)
  await pushRule(connection, 'rule-1', 1, 8080)
})

t.test('a release that throws is logged, and the agent stops in order', async t => {
  const agent = await startFaultyAgent(t, { start: async ({ defer }) => defer(bug) })

  t.equal(await agent.stop(), 'stopped')

  await agent.expectLogged('release')
})
