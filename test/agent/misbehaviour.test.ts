// A plugin of an agent that misbehaves is named, and harms nobody else.
import t, { type Test } from 'tap'
import {
  type AgentCall,
  type AgentField,
  type AgentObjectKind,
  type AgentPlugin,
  defineField,
  defineObjectKind
} from '../../agent/plugin.ts'
import { Inventory } from '../../kernel/wire/control.ts'
import { respond } from '../../kernel/wire/message.ts'
import rules from '../../plugins/rules/agent.ts'
import { messages, RulePush } from '../../plugins/rules/wire.ts'
import { Echo } from '../support/echo.ts'
import { machineTime } from '../support/machine-time.ts'
import { type AgentConnection, scriptedServer } from './scripted-server.ts'
import { push, remove, startTestAgent } from './test-agent.ts'

const bug = (): never => {
  throw new TypeError('a bug')
}

/** An agent with a plugin that misbehaves, before others. */
async function rowdy(t: Test, hooks: Partial<AgentPlugin>, ...others: readonly AgentPlugin[]) {
  const server = await scriptedServer(t, { messages: [...messages, Echo] })
  const plugin: AgentPlugin = { name: 'rowdy', agent: '^1.0.0', messages: [Echo], ...hooks }
  const agent = startTestAgent(t, { dir: t.testdir(), server, plugins: [plugin, rules, ...others] })
  const visit = await server.next()
  const isNamed = async (hook: string) =>
    t.match(await agent.log.until('plugin.failed'), {
      level: 'error',
      fields: { plugin: 'rowdy', hook, error: /a bug[\s\S]*misbehaviour/ }
    })
  return { ...agent, visit, isNamed }
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

const moody = (hooks: Partial<AgentField>): Partial<AgentPlugin> => ({
  fields: [{ ...defineField({ key: 'mood', message: Echo }), ...hooks }]
})

for (const [hook, connected] of [
  ['throws', bug],
  ['rejects', async () => bug()]
] as const)
  t.test(`what a stream begins with and ${hook} leaves the stream up, and the others begin`, async t => {
    const began = Promise.withResolvers<void>()
    const other: AgentPlugin = { name: 'other', agent: '^1.0.0', connected: () => began.resolve() }
    const { visit, isNamed, engine } = await rowdy(t, { connected }, other)

    await isNamed('connected')
    await began.promise
    await push(visit, 'rule-1', 1, 8080)
    t.equal(engine.rules.size, 1)
    t.notOk(visit.ended.aborted)
  })

for (const [hook, event] of [
  ['throws', bug],
  ['rejects', async () => bug()]
] as const)
  t.test(`a plugin that ${hook} at what the engine says ends nothing, and no end is missed`, async t => {
    const { visit, isNamed, engine } = await rowdy(t, { event })
    await push(visit, 'rule-1', 1, 8080)

    await remove(visit, 'rule-1', 2, 'cut')

    await isNamed('event')
    await new Promise(resolve => setImmediate(resolve))
    await visit.channel.request(Inventory, { after: '' })
    t.match(visit.removed, [{ kind: 'rule', id: 'rule-1', revision: 2 }])
    t.equal(engine.rules.size, 0)
  })

for (const [hook, hooks] of [
  ['plan of mood', moody({ plan: bug })],
  ['setMeters of mood', moody({ setMeters: value => void (value && bug()) })]
] as const)
  t.test(`a rule whose ${hook} fails is refused with the plugin's name, and the others open`, async t => {
    const { visit, isNamed, engine } = await rowdy(t, hooks)
    await push(visit, 'rule-1', 1, 8081)

    await t.rejects(pushMood(visit, 'bad'), {
      code: 'internal',
      message: `plugin rowdy failed at ${hook}; the agent's log says why`
    })

    await isNamed(hook)
    await push(visit, 'rule-2', 1, 8082)
    t.equal(engine.rules.size, 2)
  })

t.test(
  'a plugin that cannot say what meters a rule passes refuses the rule, and its end asks it no more',
  async t => {
    let isBroken = false
    const meters = () => (isBroken ? bug() : [])
    const { visit, isNamed, engine } = await rowdy(t, { meters })
    await push(visit, 'rule-1', 1, 8081)
    isBroken = true

    await remove(visit, 'rule-1', 2, 'cut')
    t.equal(engine.rules.size, 0)
    await t.rejects(push(visit, 'rule-2', 1, 8082), { message: /^plugin rowdy failed at meters;/ })
    await isNamed('meters')
  }
)

t.test('limits that cannot be taken back at the end of a rule keep no other rule', async t => {
  const { visit, isNamed, engine } = await rowdy(t, moody({ setMeters: value => void (value ?? bug()) }))
  await pushMood(visit, 'good')

  await remove(visit, 'rule-good', 2, 'cut')

  await isNamed('setMeters of mood')
  await push(visit, 'rule-1', 1, 8080)
  t.equal(engine.rules.size, 1)
})

t.test('a handler that throws is a refusal to the server, and the stream goes on', async t => {
  const { visit, isNamed } = await rowdy(t, { handlers: [respond(Echo, async (_: AgentCall) => bug())] })

  await t.rejects(visit.channel.request(Echo, { text: 'speak' }), {
    code: 'internal',
    message: /^plugin rowdy failed/
  })

  await isNamed(Echo.name)
  await push(visit, 'rule-1', 1, 8080)
})

/** Echo pushes one of its objects. */
const keeper = (hooks: Partial<AgentObjectKind>): Partial<AgentPlugin> => ({
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

t.test('an object that cannot be put in force is refused with the name of its plugin', async t => {
  const { visit, isNamed } = await rowdy(t, keeper({ apply: async () => bug() }))

  await t.rejects(visit.channel.request(Echo, { text: 'one' }), {
    message: /^plugin rowdy failed at apply of mood;/
  })

  await isNamed('apply of mood')
})

t.test('an object that is for ever put in force is refused with the name of its plugin', async t => {
  const begun = Promise.withResolvers<void>()
  const apply = (): Promise<void> => {
    begun.resolve()
    return new Promise(() => {})
  }
  const { visit, log } = await rowdy(t, keeper({ apply }))
  const time = machineTime(t)
  const refused = visit.channel.request(Echo, { text: 'one' }, { deadlineMs: 60_000 })
  await begun.promise

  time.pass(10)

  await t.rejects(refused, { message: /^plugin rowdy failed at apply of mood;/ })
  t.match(await log.until('plugin.failed'), {
    fields: { plugin: 'rowdy', hook: 'apply of mood', error: /took more than 10 s/ }
  })
})

t.test('a release that hangs is named, and the agent stops', async t => {
  const begun = Promise.withResolvers<void>()
  const release = (): Promise<void> => {
    begun.resolve()
    return new Promise(() => {})
  }
  const agent = await rowdy(t, { start: async ({ defer }) => defer(release) })
  const time = machineTime(t)
  const outcome = agent.stop()
  await begun.promise

  time.pass(10)

  t.equal(await outcome, 'stopped')
  t.match(await agent.log.until('plugin.failed'), {
    fields: { plugin: 'rowdy', hook: 'release', error: /did not stop: a release took more than 10 s/ }
  })
})

t.test('an object that cannot be withdrawn keeps no revoked agent from its end', async t => {
  const agent = await rowdy(t, keeper({ withdraw: async () => bug() }))
  await push(agent.visit, 'rule-1', 1, 8080)
  t.same(await agent.visit.channel.request(Echo, { text: 'one' }), { text: 'applied' })

  agent.visit.dismiss('token_revoked')

  t.equal(await agent.outcome, 'revoked')
  await agent.isNamed('withdraw of mood')
  t.match(await agent.log.until('held.withdraw_failed'), { fields: { kind: 'mood', id: 'one' } })
  t.same(agent.engine.closed, [{ ruleId: 1, drainMs: 0 }])
  t.ok(agent.bundle()?.revoked_at)
})

t.test('a drain that fails ends nothing', async t => {
  const done = Promise.reject(new TypeError('a bug of misbehaviour'))
  done.catch(() => {}) // it is looked at later
  const agent = await rowdy(t, keeper({ withdraw: async () => ({ done }) }))
  await agent.visit.channel.request(Echo, { text: 'one' })

  agent.visit.dismiss('token_revoked')

  t.equal(await agent.outcome, 'revoked')
  await agent.isNamed('drain of mood')
})

t.test('last words that throw keep no other plugin from its own', async t => {
  let isSaid = false
  const other: AgentPlugin = {
    name: 'other',
    agent: '^1.0.0',
    async stopping() {
      isSaid = true
    }
  }
  const agent = await rowdy(t, { stopping: bug }, other)

  t.equal(await agent.stop(), 'stopped')

  await agent.isNamed('stopping')
  t.ok(isSaid)
})

t.test('work by the clock that throws is named, comes again, and ends no agent', async t => {
  let rounds = 0
  const start: AgentPlugin['start'] = async ({ call, defer }) =>
    defer(call.clock.every(1000, () => void (++rounds && bug())))
  const { clock, visit, isNamed } = await rowdy(t, { start })

  await clock.advance(2000)

  await isNamed('clock.every')
  t.equal(rounds, 2)
  await push(visit, 'rule-1', 1, 8080)
})

t.test('a release that throws is named, and the agent stops in order', async t => {
  const agent = await rowdy(t, { start: async ({ defer }) => defer(bug) })

  t.equal(await agent.stop(), 'stopped')

  await agent.isNamed('release')
})
