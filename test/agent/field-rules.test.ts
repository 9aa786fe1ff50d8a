// The hooks of a field's agent half: opened, changed, gone, closings and timers.
import t, { type Test } from 'tap'
import {
  type AgentCall,
  type AgentField,
  type AgentPlugin,
  defineField,
  type FieldRule,
  type RuleSpec
} from '../../agent/plugin.ts'
import { openAgentTime } from '../../agent/rules/agent-time.ts'
import { FieldRules } from '../../agent/rules/field-rules.ts'
import { openCodec } from '../../kernel/wire/codec.ts'
import { Refused } from '../../kernel/wire/message.ts'
import { type FakeClock, fakeClock } from '../../kit/fake-clock.ts'
import rules from '../../plugins/rules/agent.ts'
import { messages, RulePush } from '../../plugins/rules/wire.ts'
import { Echo } from '../support/echo.ts'
import { recordLog } from './recorded-log.ts'
import { type AgentConnection, type ScriptedServer, scriptedServer } from './scripted-server.ts'
import { removeRule, startTestAgent, type TestAgent } from './test-agent.ts'

type MoodRule = FieldRule<typeof Echo.body>
type Hooks = Partial<AgentField<typeof Echo.body>>

const codec = openCodec([Echo])

/** A plugin with the text field `mood`. It records the arguments of its hooks. */
function moodPlugin(hooks: Hooks = {}, name = 'mood') {
  const seen: string[] = []
  const note = (hook: string) => (rule: MoodRule) => {
    seen.push(`${hook} ${rule.spec.id} ${rule.value.text}`)
    hooks[hook as 'opened']?.(rule, {} as never)
  }
  const field = defineField({
    key: name,
    message: Echo,
    ...hooks,
    opened: note('opened'),
    changed: note('changed'),
    gone: note('gone')
  })
  const plugin: AgentPlugin = { name, agent: '^1.0.0', fields: [field] }
  return { plugin, field, seen }
}

interface Start {
  readonly clock?: FakeClock
  readonly after?: { readonly dir: string; readonly server: ScriptedServer } // of the agent's previous run
  readonly serverTimeMs?: number
}

async function start(t: Test, moods: readonly AgentPlugin[], options: Start = {}) {
  const { clock = fakeClock(), after, serverTimeMs = clock.now() } = options
  const dir = after?.dir ?? t.testdir()
  const server = after?.server ?? (await scriptedServer(t, { messages: [...messages, Echo] }))
  server.welcome = { server_time_ms: serverTimeMs }
  const agent = startAgent(t, moods, { dir, server, clock })
  return { ...agent, dir, server, connection: await server.next() }
}

const echo: AgentPlugin = { name: 'echo', agent: '^1.0.0', messages: [Echo] }

const startAgent = (
  t: Test,
  moods: readonly AgentPlugin[],
  { dir, server, clock = fakeClock() }: { dir: string; server: ScriptedServer; clock?: FakeClock }
) => startTestAgent(t, { dir, server, clock, plugins: [rules, echo, ...moods] })

let revision = 0

function push({ channel }: AgentConnection, moods: Readonly<Record<string, string>>, more: object = {}) {
  const fields = Object.fromEntries(
    Object.entries(moods).map(([key, text]) => [key, codec.encode(Echo, { text })])
  )
  return channel.request(RulePush, {
    rule_id: 'rule-1',
    revision: ++revision,
    owner: 'ann',
    protocol: 'tcp',
    listen_from: 8080,
    listen_to: 8080,
    targets: [{ host: '10.0.0.1', port: 80, priority: 0 }],
    prefer_ipv6: false,
    fields,
    retry: false,
    ...more
  })
}

/** The rule's own meter: the last one. */
const meterOf = ({ engine }: Pick<TestAgent, 'engine'>) => {
  const id = engine.opened.at(-1)?.meters.at(-1) ?? 0
  return { ...engine.meters.get(id), budget: engine.budgets.get(id) ?? null }
}

const open = { connections: null, budget: null }
const closedFor = (reason: string, budget: object | null = null) => ({
  connections: 0,
  budget,
  refusals: { connections: reason, budget: reason }
})

t.test('a rule is opened, changed by each new revision, and gone when it is removed', async t => {
  const { plugin, seen } = moodPlugin()
  const { connection, engine } = await start(t, [plugin])

  await push(connection, { mood: 'one' })
  await push(connection, { mood: 'two' })
  await push(connection, { mood: 'two' }, { targets: [{ host: '10.0.0.2', port: 80, priority: 0 }] })
  t.equal(engine.opened.length, 2, 'the engine reopened it')
  await removeRule(connection, 'rule-1', ++revision, 'drain')

  t.same(seen, ['opened rule-1 one', 'changed rule-1 two', 'changed rule-1 two', 'gone rule-1 two'])
})

t.test(
  'a rule without the field calls no hooks; adding and removing the field calls opened and gone',
  async t => {
    const { plugin, seen } = moodPlugin({ opened: rule => rule.close({ mode: 'refuse', reason: 'moody' }) })
    const agent = await start(t, [plugin])
    const { connection, engine } = agent

    await push(connection, {})
    t.same(seen, [])
    await push(connection, { mood: 'one' })
    t.match(meterOf(agent), closedFor('moody'))
    await push(connection, {})

    t.same(seen, ['opened rule-1 one', 'gone rule-1 one'])
    t.match(meterOf(agent), open, 'it no longer closes the rule')
    t.equal(engine.opened.length, 1, 'the engine did not reopen it')
  }
)

t.test('gone is called for a rule that cannot open, and opened once it can', async t => {
  const { plugin, seen } = moodPlugin()
  const { connection, engine } = await start(t, [plugin])
  engine.refuseNextOpen('EADDRINUSE')

  await t.rejects(push(connection, { mood: 'one' }), { code: 'port_in_use' })
  await push(connection, { mood: 'one' })

  t.same(seen, ['opened rule-1 one', 'gone rule-1 one', 'opened rule-1 one'])
})

t.test('a field can refuse a rule in opened, and plan receives the rule', async t => {
  const planned: string[] = []
  const { plugin } = moodPlugin({
    plan: (_value, _draft, { id }) => void planned.push(id),
    opened() {
      throw new TypeError('a bug')
    }
  })
  const { connection, engine, log } = await start(t, [plugin])

  await t.rejects(push(connection, { mood: 'one' }), { code: 'internal' })

  t.match(await log.until('plugin.failed'), { fields: { plugin: 'mood', hook: 'opened of mood' } })
  t.same(engine.opened, [])
  t.ok(planned.includes('rule-1'))
})

t.test('after a restart without the server a field closes a rule before its port accepts', async t => {
  const first = moodPlugin()
  const agent = await start(t, [first.plugin])
  await push(agent.connection, { mood: 'one' })
  await agent.stop()
  t.same(first.seen, ['opened rule-1 one'], 'a stop does not call gone')

  let openBefore = -1
  const again = moodPlugin({
    opened(rule) {
      openBefore = next.engine.opened.length
      rule.close({ mode: 'cut', reason: 'moody' })
    }
  })
  agent.server.onHello = () => {
    throw new Refused('server_busy', 'it does not answer')
  }
  const next = startAgent(t, [again.plugin], agent)
  await next.log.until('rule.opened')

  t.same(again.seen, ['opened rule-1 one'])
  t.equal(openBefore, 0)
})

t.test(
  'a closed rule refuses with its reason; live connections continue, pause, or are cut after a drain',
  async t => {
    const { plugin, field } = moodPlugin()
    const clock = fakeClock()
    let having = (): readonly MoodRule[] => []
    const watch: AgentPlugin = {
      name: 'watch',
      agent: '^1.0.0',
      async start({ call }) {
        having = () => call.rules.having(field)
      }
    }
    const agent = await start(t, [plugin, watch], { clock })
    await push(agent.connection, { mood: 'one' })
    const [rule] = having()
    t.equal(rule?.value.text, 'one')
    t.match(meterOf(agent), open)

    rule?.close({ mode: 'refuse', reason: 'later' })
    t.match(meterOf(agent), closedFor('later'))
    rule?.close({ mode: 'hold', reason: 'paused' })
    t.match(meterOf(agent), closedFor('paused', { mark: 0, holdMs: 2 ** 31 - 1 }))
    rule?.close({ mode: 'cut', reason: 'expired', drainMs: 5000 })
    t.match(meterOf(agent), closedFor('expired'), 'live connections drain')
    await clock.advance(5000)
    t.match(meterOf(agent), closedFor('expired', { mark: 0, holdMs: 0 }))
    rule?.open()
    t.match(meterOf(agent), open)
    rule?.close({ mode: 'cut', reason: 'expired' })
    await clock.advance(29_999)
    t.match(meterOf(agent), closedFor('expired'), 'the default is the drain time of a removed rule')
    await clock.advance(1)
    t.match(meterOf(agent), closedFor('expired', { mark: 0, holdMs: 0 }))
  }
)

t.test('if several fields close a rule, the strictest decides; it opens when none closes it', async t => {
  const byName = new Map<string, MoodRule>()
  const opened: Hooks['opened'] = rule => byName.set(rule.value.text, rule)
  const calm = moodPlugin({ opened }, 'calm')
  const angry = moodPlugin({ opened }, 'angry')
  const agent = await start(t, [calm.plugin, angry.plugin])
  await push(agent.connection, { calm: 'calm', angry: 'angry' })

  byName.get('calm')?.close({ mode: 'refuse', reason: 'calm' })
  byName.get('angry')?.close({ mode: 'hold', reason: 'angry' })
  t.match(meterOf(agent), closedFor('angry', { mark: 0 }))
  byName.get('angry')?.open()
  t.match(meterOf(agent), closedFor('calm'))
  byName.get('calm')?.open()
  t.match(meterOf(agent), open)
})

t.test('a reason that is not a valid statistics key is refused', async t => {
  const { plugin } = moodPlugin({ opened: rule => rule.close({ mode: 'refuse', reason: 'Not a code' }) })
  const { connection, log } = await start(t, [plugin])

  await t.rejects(push(connection, { mood: 'one' }), { code: 'internal' })
  t.match(await log.until('plugin.failed'), {
    message: /a reason has at most 32 characters a-z, 0-9 and _, got Not a code/
  })
})

t.test('a timer of a rule follows server time, and ends with the next revision', async t => {
  const clock = fakeClock()
  const fired: string[] = []
  const opened: Hooks['opened'] = ({ at, value }) =>
    void at(clock.now() + 60_000, () => void fired.push(value.text))
  const { plugin } = moodPlugin({ opened, changed: opened })
  const { connection } = await start(t, [plugin], { clock, serverTimeMs: clock.now() + 30_000 })

  await push(connection, { mood: 'one' })
  await push(connection, { mood: 'two' })
  await clock.advance(29_000)
  t.same(fired, [])
  await clock.advance(2000)

  t.same(fired, ['two'], 'the server is 30 s ahead of this host')
})

t.test('fields decide again when the server sets the time back', async t => {
  const clock = fakeClock()
  const { plugin, seen } = moodPlugin()
  const serverTimeMs = clock.now() - 3_600_000
  const first = await start(t, [plugin], { clock, serverTimeMs })
  await push(first.connection, { mood: 'one' })
  await first.stop()
  t.same(seen, ['opened rule-1 one'])

  const next = await start(t, [plugin], { clock, after: first, serverTimeMs })
  await next.connection.channel.request(Echo, { text: '' }).catch(() => {}) // after Welcome

  t.same(seen, ['opened rule-1 one', 'opened rule-1 one', 'changed rule-1 one'])
})

t.test('failed timer work is logged once and retried with backoff until it succeeds', async t => {
  const clock = fakeClock()
  let attempts = 0
  const { plugin } = moodPlugin({
    opened: ({ at }) =>
      void at(0, async () => {
        if (++attempts < 4) throw new TypeError('a bug')
      })
  })
  const { connection, log } = await start(t, [plugin], { clock })
  await push(connection, { mood: 'one' })

  for (const [ms, count] of [
    [0, 1],
    [999, 1],
    [1, 2],
    [2000, 3],
    [4000, 4],
    [60_000, 4]
  ] as const) {
    await clock.advance(ms)
    t.equal(attempts, count)
  }

  const failures = log.lines.filter(({ event }) => event === 'plugin.failed')
  t.match(failures, [{ fields: { plugin: 'mood', hook: 'at of mood', error: /a bug/ } }])
  t.equal(failures.length, 1)
})

t.test('a failing interval is logged once and backs off', async t => {
  const clock = fakeClock()
  let rounds = 0
  const plugin: AgentPlugin = {
    name: 'beat',
    agent: '^1.0.0',
    async start({ call, defer }) {
      defer(
        call.clock.every(1000, () => {
          rounds++
          throw new TypeError('a bug')
        })
      )
    }
  }
  const { log } = await start(t, [plugin], { clock })

  await clock.advance(1000 * (1 + 1 + 2 + 4 + 8))

  t.equal(rounds, 5)
  t.equal(log.lines.filter(({ event }) => event === 'plugin.failed').length, 1)
})

t.test('a timer polls at most once a second while the time does not move', async t => {
  const clock = fakeClock()
  const startMs = clock.now()
  let looks = 0
  let isStill = true
  const journal = {
    now() {
      looks++
      return isStill ? startMs : clock.now()
    },
    isTimeKnown: () => true
  }
  const time = openAgentTime({ clock, journal })
  let isDone = false
  time.at(startMs + 1, () => {
    isDone = true
  })

  await clock.advance(60_000)
  t.ok(looks < 200, `${looks}`)
  t.notOk(isDone)
  isStill = false
  await clock.advance(1000)

  t.ok(isDone)
})

t.test('a rule forgets fired timers, and ignores calls of a plugin after its end', async t => {
  const works: (() => unknown)[] = []
  let cancelled = 0
  const closed: string[] = []
  let kept: MoodRule | undefined
  const again = (rule: MoodRule): void => {
    kept = rule
    rule.at(works.length, () => again(rule))
  }
  const { plugin } = moodPlugin({ opened: again })
  const fieldRules = new FieldRules({
    plugins: () => [plugin],
    closings: { set: (_meter, _field, closing) => void (closing && closed.push(closing.reason)) },
    time: {
      at(_ms, work) {
        works.push(work)
        return () => void cancelled++
      }
    },
    call: () => ({ codec }) as AgentCall,
    log: recordLog()
  })
  const fields = { mood: codec.encode(Echo, { text: 'one' }) }
  fieldRules.enter({ id: 'rule-1', fields } as unknown as RuleSpec, 'own')
  for (let fired = 0; fired < 3; fired++) await works[fired]?.()

  fieldRules.leave('rule-1')
  t.equal(cancelled, 1, 'only the pending one')
  kept?.close({ mode: 'cut', reason: 'late' })
  kept?.at(0, () => {})

  t.same(closed, [])
  t.equal(works.length, 4)
})

t.test('a rule that a replaced plugin closed accepts no caller before the new plugin decides', async t => {
  const closed: (string | null)[] = []
  const decisions = [moodPlugin({ opened: rule => rule.close({ mode: 'refuse', reason: 'first' }) })]
  const fieldRules = new FieldRules({
    plugins: () => decisions.slice(-1).map(({ plugin }) => plugin),
    closings: { set: (_meter, _field, closing) => void closed.push(closing?.reason ?? null) },
    time: { at: () => () => {} },
    call: () => ({ codec }) as AgentCall,
    log: recordLog()
  })
  const fields = { mood: codec.encode(Echo, { text: 'one' }) }
  const spec = { id: 'rule-1', fields } as unknown as RuleSpec
  const replaceBy = (opened: (rule: MoodRule) => void): void => {
    fieldRules.release('mood')
    decisions.push(moodPlugin({ opened }))
    fieldRules.enter(spec, 'own')
  }
  fieldRules.enter(spec, 'own')
  replaceBy(rule => rule.close({ mode: 'hold', reason: 'second' }))
  t.same(closed, ['first', 'second'])
  replaceBy(() => {})
  t.same(closed, ['first', 'second', null], 'no decision counts as open')
  t.same(
    decisions.map(({ seen }) => seen),
    [1, 2, 3].map(() => ['opened rule-1 one']),
    'gone is not called'
  )
})
