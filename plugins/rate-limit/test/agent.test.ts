// The agent half with a fake engine that exposes its meters.
import t, { type Test } from 'tap'
import { openCodec } from '../../../kernel/wire/codec.ts'
import { scriptedServer } from '../../../test/agent/scripted-server.ts'
import { startTestAgent, type TestAgent } from '../../../test/agent/test-agent.ts'
import rules from '../../rules/agent.ts'
import { RulePush, RuleRemove, messages as rulesMessages } from '../../rules/wire.ts'
import rateLimit from '../agent.ts'
import { encodeLimits, type RateLimit } from '../limits.ts'
import {
  EnvelopeRemove,
  EnvelopeRequired,
  EnvelopeSet,
  key,
  Limits,
  messages,
  requiredKey,
  Throttled,
  unsupportedCode
} from '../wire.ts'

const codec = openCodec([Limits, EnvelopeRequired])
const required = { [requiredKey]: codec.encode(EnvelopeRequired, {}) }
const unlimited = { bytesIn: null, bytesOut: null, connections: null, newConnections: null }

async function agentFixture(t: Test, dir = t.testdir()) {
  const server = await scriptedServer(t, { messages: [...rulesMessages, ...messages] })
  server.welcome = { kinds: ['rule', 'envelope'] }
  const agent = startTestAgent(t, { dir, server, plugins: [rateLimit, rules] })
  const connection = await server.next()
  let revision = 0
  return {
    agent,
    server,
    connection,
    push: (rule: string, port: number, limits: RateLimit | null, owner = 'ann', fields: object = {}) =>
      connection.channel.request(RulePush, {
        rule_id: rule,
        revision: ++revision,
        owner,
        protocol: 'tcp',
        listen_from: port,
        listen_to: port,
        targets: [{ host: '10.0.0.1', port: 80, priority: 0 }],
        prefer_ipv6: false,
        fields: { ...fields, ...(limits && { [key]: codec.encode(Limits, encodeLimits(limits)) }) },
        retry: false
      }),
    remove: (rule: string) =>
      connection.channel.request(RuleRemove, { rule_id: rule, revision: ++revision, removal: 'cut' }),
    setEnvelope: (owner: string, limits: RateLimit) =>
      connection.channel.request(EnvelopeSet, {
        owner_id: owner,
        revision: ++revision,
        limits: encodeLimits(limits)
      }),
    removeEnvelope: (owner: string) =>
      connection.channel.request(EnvelopeRemove, { owner_id: owner, revision: ++revision })
  }
}

const meterLimits = ({ engine }: TestAgent, at: number) =>
  (engine.opened[at]?.meters ?? []).map(id => engine.meters.get(id))

t.test('a rule has the meter of its owner, then its own, even without limits', async t => {
  const { agent, push } = await agentFixture(t)

  await push('rule-1', 8001, { bandwidth_in_bps: 8_000_000, new_connections_per_sec: 3 })
  await push('rule-2', 8002, null)

  const [owner, own] = meterLimits(agent, 0)
  t.match(owner, { ...unlimited, refusals: { connections: 'owner_concurrent_connections' } })
  t.match(own, {
    bytesIn: { perSec: 1_000_000, burst: 100_000 },
    bytesOut: null,
    newConnections: { perSec: 3, burst: 3 },
    refusals: { newConnections: 'new_connections_per_sec', bytes: 'bandwidth' }
  })
  const [first, second] = agent.engine.opened
  t.equal(first?.meters[0], second?.meters[0], 'both share the meter of their owner')
  t.not(first?.meters[1], second?.meters[1])
})

t.test('adding, changing and removing limits does not reopen the rule', async t => {
  const { agent, push } = await agentFixture(t)
  await push('rule-1', 8001, null)

  for (const limits of [{ concurrent_connections: 2 }, { bandwidth_out_bps: 8 }, null]) {
    await push('rule-1', 8001, limits)
    t.match(meterLimits(agent, 0)[1], {
      connections: limits?.concurrent_connections ?? null,
      bytesOut: limits?.bandwidth_out_bps ? { perSec: 1 } : null
    })
  }
  t.equal(agent.engine.opened.length, 1)
})

t.test('an envelope exists before the first rule, limits all rules, and outlives the last', async t => {
  const { agent, push, remove, setEnvelope, removeEnvelope } = await agentFixture(t)
  await setEnvelope('ann', { concurrent_connections: 2 })
  await push('rule-1', 8001, null)
  await push('rule-2', 8002, null, 'bob')

  t.match(meterLimits(agent, 0)[0], { connections: 2 })
  t.match(meterLimits(agent, 1)[0], { connections: null })

  await setEnvelope('ann', { bandwidth_in_bps: 800 })
  t.match(meterLimits(agent, 0)[0], { connections: null, bytesIn: { perSec: 100 } })
  await remove('rule-1')
  await push('rule-3', 8003, null)
  t.match(meterLimits(agent, 2)[0], { bytesIn: { perSec: 100 } })

  await removeEnvelope('ann')
  t.match(meterLimits(agent, 2)[0], unlimited)
})

t.test('limits apply after a restart without the server', async t => {
  const dir = t.testdir()
  const first = await agentFixture(t, dir)
  await first.setEnvelope('ann', { concurrent_connections: 2 })
  await first.push('rule-1', 8001, { bandwidth_in_bps: 800 })
  await first.agent.stop()
  await first.server.close()

  const again = startTestAgent(t, { dir, server: first.server, plugins: [rateLimit, rules] })
  while (again.engine.opened.length === 0) await new Promise(resolve => setImmediate(resolve))

  t.match(meterLimits(again, 0), [{ connections: 2 }, { bytesIn: { perSec: 100 } }])
})

t.test('the meter of a removed rule is removed', async t => {
  const { agent, push, remove } = await agentFixture(t)
  for (let i = 0; i < 20; i++) {
    await push(`rule-${i}`, 8001, { concurrent_connections: 1 })
    await remove(`rule-${i}`)
  }

  t.equal(agent.engine.meters.size, 0)
})

t.test('waiting time is reported by rule and owner when it has increased', async t => {
  const { agent, push } = await agentFixture(t)
  await push('rule-1', 8001, { bandwidth_in_bps: 8 })
  const [owner = 0, own = 0] = agent.engine.opened[0]?.meters ?? []
  const sent: unknown[] = []
  const stream = {
    signal: new AbortController().signal,
    send: (message: { name: string }, body: object) => message.name === Throttled.name && sent.push(body)
  }
  const call = {
    clock: agent.clock,
    takeSample: agent.engine.sample,
    meters: {
      keyOf: (id: number) =>
        new Map([
          [owner, 'owner ann'],
          [own, 'rule rule-1'],
          [9, 'quota ann']
        ]).get(id)
    }
  }
  rateLimit.connected(stream as never, call as never) // the members that the plugin uses

  agent.engine.setMeterCounters(own, { throttledMs: 1500 })
  agent.engine.setMeterCounters(owner, { throttledMs: 20 })
  await agent.clock.advance(5000)
  await agent.clock.advance(5000)

  t.strictSame(sent, [
    {
      waits: [
        { scope: 'owner', id: 'ann', ms: 20 },
        { scope: 'rule', id: 'rule-1', ms: 1500 }
      ]
    }
  ])
})

t.test('a rule that requires an envelope opens only while the envelope is in force', async t => {
  const { agent, push, setEnvelope, removeEnvelope } = await agentFixture(t)
  const refusal = { code: unsupportedCode }

  await t.rejects(push('rule-1', 8001, null, 'ann', required), refusal)
  for (const limits of [{ concurrent_connections: 1 }, {}]) {
    await setEnvelope('ann', limits)
    await push('rule-1', 8001, null, 'ann', required)
    await t.rejects(
      push('rule-2', 8002, null, 'bob', required),
      refusal,
      'the envelope of another owner does not help'
    )
    await removeEnvelope('ann')
    await t.rejects(push('rule-3', 8003, null, 'ann', required), refusal)
  }

  t.same(
    [...agent.engine.rules.values()].map(({ from }) => from),
    [8001]
  )
})

t.test('an envelope that the engine refuses is not in force', async t => {
  const { agent, push, setEnvelope } = await agentFixture(t)
  const { setMeter } = agent.engine
  agent.engine.setMeter = () => {
    throw new Error('refused')
  }
  await t.rejects(setEnvelope('ann', { concurrent_connections: 1 }), { code: 'internal' })
  agent.engine.setMeter = setMeter

  await t.rejects(push('rule-1', 8001, null, 'ann', required), { code: unsupportedCode })
})
