// The agent plugin with a fake engine. The test sets its counters.
import t, { type Test } from 'tap'
import { openStateDatabase } from '../../../agent/state/state-database.ts'
import { openCodec } from '../../../kernel/wire/codec.ts'
import { fakeClock } from '../../../kit/fake-clock.ts'
import {
  type AgentConnection,
  type ScriptedServer,
  scriptedServer
} from '../../../test/agent/scripted-server.ts'
import { pushRule, startTestAgent, type TestAgent } from '../../../test/agent/test-agent.ts'
import rules from '../../rules/agent.ts'
import { RulePush, messages as rulesMessages } from '../../rules/wire.ts'
import quota from '../agent.ts'
import { messages, QuotaRequired, requiredKey, TrafficQuotaUpdate, unsupportedCode } from '../wire.ts'

const codec = openCodec([QuotaRequired])
const start = fakeClock().now()
const secs = (ms: number): number => Math.floor(ms / 1000)

const baseUpdate: TrafficQuotaUpdate = {
  action: 'SET',
  user_id: 'ann',
  revision: 10,
  monthly_bytes: 1000,
  anchor: Date.UTC(2025, 11, 15, 12, 0, 10) / 1000,
  period_end: Date.UTC(2026, 0, 15, 12, 0, 10) / 1000, // 10 s from now
  since: Date.UTC(2025, 11, 15, 12, 0, 10) / 1000,
  used: 0,
  credit: 0,
  epoch: '',
  seq: 0,
  hold_secs: 60
}

interface AgentFixture {
  readonly server: ScriptedServer
  readonly agent: TestAgent
  readonly connection: AgentConnection
  set(over?: Partial<TrafficQuotaUpdate>): Promise<unknown>
}

async function agentFixture(t: Test, dir = t.testdir()): Promise<AgentFixture> {
  const server = await scriptedServer(t, { messages: [...rulesMessages, ...messages] })
  let now = (): number => start
  server.welcome = {
    kinds: ['rule', 'quota'],
    get server_time_ms() {
      return now()
    }
  }
  const agent = startTestAgent(t, { dir, server, plugins: [rules, quota] })
  now = agent.clock.now
  const connection = await server.next()
  return {
    server,
    agent,
    connection,
    set: over => connection.channel.request(TrafficQuotaUpdate, { ...baseUpdate, ...over })
  }
}

/** Sets the total bytes delivered by a rule and counted by its quota. */
function setDelivered({ engine }: TestAgent, ruleId: number, bytes: number): void {
  const rule = engine.rules.get(ruleId)
  if (!rule) throw new TypeError(`no rule ${ruleId}`)
  const idle = { bytesOut: 0, datagramsIn: 0, datagramsOut: 0, active: 0 }
  engine.setCounters(ruleId, { ports: [{ port: rule.from, bytesIn: bytes, ...idle }] })
  const [meter] = rule.meters
  const others = [...engine.rules.values()].filter(({ id, meters }) => id !== ruleId && meters[0] === meter)
  const theirs = engine
    .sample()
    .rules.filter(counters => others.some(({ id }) => id === counters.ruleId))
    .reduce((sum, { ports }) => sum + (ports[0]?.bytesIn ?? 0), 0)
  engine.setMeterCounters(meter ?? 0, { bytesIn: bytes + theirs })
}

const budgets = ({ engine }: TestAgent) => [...engine.budgets.values()]

t.test('all rules of a user share one budget, also those that are already open', async t => {
  const { agent, connection, set } = await agentFixture(t)
  await pushRule(connection, 'rule-1', 1, 8001)
  setDelivered(agent, 1, 5000)
  await agent.clock.advance(1000)
  await set({ since: secs(start) + 60, monthly_bytes: 300 })
  await pushRule(connection, 'rule-2', 2, 8002)

  const [first, second] = agent.engine.opened
  t.equal(first?.meters[0], second?.meters[0])
  t.strictSame(budgets(agent), [{ mark: 5300, holdMs: 60_000 }])
  t.match(agent.engine.meters.get(first?.meters[0] ?? 0), { refusals: { budget: 'traffic_quota_exhausted' } })
  t.match(agent.log.lines.filter(({ event }) => event === 'traffic_quota.applied_set').length, 1)
})

t.test('the budget is the size minus uncleared usage and uncommitted bytes', async t => {
  const { agent, connection, set } = await agentFixture(t)
  await pushRule(connection, 'rule-1', 1, 8001)
  setDelivered(agent, 1, 100)

  await set({ used: 400, credit: 50 })
  t.match(budgets(agent), [{ mark: 100 + 1000 - 400 + 50 - 100 }])

  setDelivered(agent, 1, 150)
  await set({ revision: 11, used: 5000 })
  t.match(budgets(agent), [{ mark: 150 }], 'nothing remains, however large the usage')

  await set({ revision: 9, monthly_bytes: 9 })
  t.match(budgets(agent), [{ mark: 150 }], 'an older update changes nothing')
  t.same(
    agent.log.lines
      .filter(({ event }) => event === 'traffic_quota.applied_set')
      .map(({ fields }) => fields['monthly_bytes']),
    [1000, 1000],
    'and is not reported as applied'
  )

  await set({ revision: 12, action: 'REMOVE' })
  t.same(budgets(agent), [])
  t.equal(agent.engine.rules.size, 1)
})

t.test('the largest possible size is accepted', async t => {
  const { agent, connection, set } = await agentFixture(t)
  await pushRule(connection, 'rule-1', 1, 8001)
  setDelivered(agent, 1, 100)

  await set({ monthly_bytes: Number.MAX_SAFE_INTEGER })

  t.match(budgets(agent), [{ mark: Number.MAX_SAFE_INTEGER }])
})

t.test('a budget exists before the first rule, which then passes its meter', async t => {
  const { agent, connection, set } = await agentFixture(t)
  await set()
  t.match(budgets(agent), [{ mark: 1000 }])

  await pushRule(connection, 'rule-1', 1, 8001)
  t.same(agent.engine.opened[0]?.meters.slice(0, 1), [...agent.engine.budgets.keys()])
})

t.test('usage is saved: a restart without the server continues where the last run ended', async t => {
  const dir = t.testdir()
  const first = await agentFixture(t, dir)
  await pushRule(first.connection, 'rule-1', 1, 8001)
  await first.set()
  setDelivered(first.agent, 1, 600)
  await first.agent.clock.advance(1000)
  await first.agent.stop()
  await first.server.close()

  const again = startTestAgent(t, { dir, server: first.server, plugins: [rules, quota] })
  while (again.engine.opened.length === 0) await new Promise(resolve => setImmediate(resolve))

  t.match(budgets(again), [{ mark: 400, holdMs: 60_000 }])
})

t.test('the next period begins without the server, and bytes delivered in it count', async t => {
  const { agent, connection, set, server } = await agentFixture(t)
  await pushRule(connection, 'rule-1', 1, 8001)
  await set()
  setDelivered(agent, 1, 1000)
  await agent.clock.advance(9000)
  t.match(budgets(agent), [{ mark: 1000 }])
  connection.cut()
  await server.close()

  await agent.clock.advance(1000)

  // The first minute of the period is not committed: all its bytes count.
  t.match(budgets(agent), [{ mark: 1000 + 1000 - 1000 }])
  await agent.clock.advance(61_000)
  t.equal(agent.log.lines.filter(({ event }) => event === 'traffic_quota.period').length, 1)
})

t.test('a full disk when a new period begins does not stop the agent', async t => {
  const dir = t.testdir()
  const { agent, connection, set } = await agentFixture(t, dir)
  await pushRule(connection, 'rule-1', 1, 8001)
  await set()
  setDelivered(agent, 1, 1000)
  const disk = openStateDatabase(dir)
  t.teardown(() => disk.close())
  disk.exec(
    "create trigger full before insert on managed_object begin select raise(fail, 'database or disk is full'); end"
  )

  await agent.clock.advance(10_000)
  await agent.log.until('traffic_quota.not_saved')

  t.match(budgets(agent), [{ mark: 1000 + 1000 - 1000 }])
  await agent.clock.advance(60_000)
  t.equal(agent.log.lines.filter(({ event }) => event === 'traffic_quota.not_saved').length, 1)
})

t.test('a period that begins with a minute does not count usage of the one before', async t => {
  const { agent, connection, set } = await agentFixture(t)
  await pushRule(connection, 'rule-1', 1, 8001)
  await set({ anchor: Date.UTC(2025, 11, 15, 12, 1) / 1000, period_end: Date.UTC(2026, 0, 15, 12, 1) / 1000 })
  setDelivered(agent, 1, 1000)
  await agent.clock.advance(10_000)
  t.match(budgets(agent), [{ mark: 1000 }])

  await agent.clock.advance(50_000)

  t.match(budgets(agent), [{ mark: 2000 }])
})

t.test('an exhausted quota is logged once, with its user', async t => {
  const { agent, set } = await agentFixture(t)
  await set()
  const [meterId = 0] = [...agent.engine.budgets.keys()]

  agent.engine.emit({ kind: 'meter-empty', meterId })

  t.match(
    agent.log.lines.filter(({ event }) => event === 'traffic_quota.exhausted'),
    [{ fields: { user: 'ann' } }]
  )
})

t.test('a rule that requires a quota does not open while the engine has not taken its budget', async t => {
  const { agent, connection, set } = await agentFixture(t)
  const { setBudget } = agent.engine
  const push = () =>
    connection.channel.request(RulePush, {
      rule_id: 'rule-1',
      revision: 1,
      owner: 'ann',
      protocol: 'tcp',
      listen_from: 8001,
      listen_to: 8001,
      targets: [{ host: '10.0.0.1', port: 80, priority: 0 }],
      prefer_ipv6: false,
      fields: { [requiredKey]: codec.encode(QuotaRequired, {}) },
      retry: false
    })
  agent.engine.setBudget = () => {
    throw new Error('refused')
  }
  await t.rejects(set(), { code: 'internal' })
  await t.rejects(push(), { code: unsupportedCode })

  agent.engine.setBudget = setBudget
  await set({ revision: 11 })

  await push()
  t.equal(agent.engine.rules.size, 1)
})
