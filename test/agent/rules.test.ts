import t, { type Test } from 'tap'
import { Type } from 'typebox'
import {
  type AgentCall,
  type AgentPlugin,
  defineField,
  type RuleSpec,
  type TargetEvent
} from '../../agent/plugin.ts'
import { openAgentTime } from '../../agent/rules/agent-time.ts'
import { FieldRules } from '../../agent/rules/field-rules.ts'
import { openGuardrails } from '../../agent/rules/guardrails.ts'
import { Meters } from '../../agent/rules/meters.ts'
import { openPlanner } from '../../agent/rules/planner.ts'
import { openRuleClosings } from '../../agent/rules/rule-closings.ts'
import { Rules } from '../../agent/rules/rules.ts'
import { openRuleSettings } from '../../agent/state/rule-settings.ts'
import { openStateDatabase } from '../../agent/state/state-database.ts'
import { openCodec } from '../../kernel/wire/codec.ts'
import { defineMessage } from '../../kernel/wire/message.ts'
import { fakeClock } from '../../kit/fake-clock.ts'
import { fakeEngine } from '../../kit/fake-engine.ts'
import { recordLog } from './recorded-log.ts'

const proto = new URL('./fixtures/test-fields.proto', import.meta.url)
const IdleTime = defineMessage({
  name: 'sluice.testfields.IdleTime',
  proto,
  body: Type.Object({ idle_secs: Type.Integer() })
})
const AllowedSource = defineMessage({
  name: 'sluice.testfields.AllowedSource',
  proto,
  body: Type.Object({ cidr: Type.String() })
})

const testFields: AgentPlugin = {
  name: 'test-fields',
  agent: '^1.0.0',
  messages: [IdleTime, AllowedSource],
  shapes: [{ shape: 'udp' }, { shape: 'range' }, { shape: 'targets' }],
  fields: [
    defineField({
      key: 'idle',
      message: IdleTime,
      plan: ({ idle_secs }, draft) => {
        draft.idleMs = idle_secs * 1000
      }
    }),
    defineField({
      key: 'source',
      message: AllowedSource,
      plan: ({ cidr }, draft) => {
        draft.source = { allow: [{ cidr }], deny: [], refusal: 'source_denied' }
      }
    })
  ]
}

function open(t: Test, dir = t.testdir(), plugin = testFields) {
  const engine = fakeEngine()
  const codec = openCodec([IdleTime, AllowedSource])
  const db = openStateDatabase(dir)
  t.teardown(() => db.close())
  const log = recordLog()
  const bound: number[] = []
  const unbound: number[] = []
  const targetEvents: TargetEvent[] = []
  const guardrails = openGuardrails(
    { allow_ports: ['8000-8999'], allow_targets: [], deny_targets: ['169.254.0.0/16'], deny_local_ports: [] },
    []
  )
  const meters = new Meters(engine)
  const clock = fakeClock()
  const settings = openRuleSettings({ db, clock, log })
  const closings = openRuleClosings({ meters, clock, drainMs: () => settings.current().drainMs })
  const time = openAgentTime({ clock, journal: { now: () => 0, isTimeKnown: () => false } })
  const call = () => ({ codec }) as AgentCall // hooks get it as it is
  const plugins = [plugin]
  const planner = openPlanner({ plugins, codec, guardrails: () => guardrails, call })
  const rules = new Rules({
    engine,
    meters,
    planner: () => planner,
    fieldRules: new FieldRules({ plugins: () => plugins, closings, time, call, log }),
    closings,
    journal: { bind: id => void bound.push(id), unbind: id => void unbound.push(id) },
    settings,
    clock,
    log,
    emit: event => void targetEvents.push(event)
  })
  engine.start({
    bind: [],
    onEvents: batch => {
      for (const event of batch) if (event.kind === 'closed') rules.ended(event.counters.ruleId)
    }
  })
  return { engine, rules, meters, codec, clock, log, bound, unbound, dir, targetEvents }
}

const refusals = { connections: 'a', newConnections: 'b', bytes: 'c', budget: 'd' }

const spec = (changes: Partial<RuleSpec> = {}): RuleSpec => ({
  id: 'rule-1',
  owner: 'ann',
  protocol: 'tcp',
  from: 8080,
  to: 8080,
  targets: [{ host: '10.0.0.1', port: 80 }],
  preferIpv6: false,
  fields: {},
  ...changes
})

t.test('a rule opens with the settings of its fields and guardrails, bound to the journal', async t => {
  const { engine, rules, codec, bound, log } = open(t)
  const idle = codec.encode(IdleTime, { idle_secs: 7 })

  await rules.open(spec({ fields: { idle } }))

  t.match(engine.opened, [
    { id: 1, from: 8080, to: 8080, idleMs: 7000, source: null, target: [{ refusal: 'denied_by_agent' }] }
  ])
  t.same(bound, [1])
  t.equal(rules.find(1)?.id, 'rule-1')
  t.match(log.lines, [{ event: 'rule.opened', fields: { rule: 'rule-1' } }])
})

t.test('an equal rule stays open, a different one replaces it while live connections continue', async t => {
  const { engine, rules } = open(t)
  await rules.open(spec())

  await rules.open(spec({ owner: 'bob' }))
  t.equal(engine.opened.length, 1)

  await rules.open(spec({ targets: [{ host: '10.0.0.2', port: 80 }] }))
  t.same(engine.replaced, [1])
  t.same(engine.closed, [{ ruleId: 1, drainMs: null }])
  t.same(
    engine.opened.map(({ id }) => id),
    [1, 2]
  )
})

t.test('a change of filters only does not reopen the rule', async t => {
  const { engine, rules, codec } = open(t)
  await rules.open(spec())

  await rules.open(spec({ fields: { source: codec.encode(AllowedSource, { cidr: '10.0.0.0/8' }) } }))

  t.equal(engine.opened.length, 1)
  t.match(engine.filtersSet, [{ ruleId: 1, filters: { source: { allow: [{ cidr: '10.0.0.0/8' }] } } }])
})

t.test('a change of weights does not reopen the rule, other changes of its balance do', async t => {
  const weighted: AgentPlugin = {
    ...testFields,
    fields: [
      defineField({
        key: 'weight',
        message: IdleTime,
        plan: ({ idle_secs: weight }, draft) => {
          draft.balance = { by: weight > 9 ? 'source_hash' : 'round_robin', tiers: [0], weights: [weight] }
        }
      })
    ]
  }
  const { engine, rules, codec } = open(t, t.testdir(), weighted)
  const withWeight = (idle_secs: number) =>
    spec({ fields: { weight: codec.encode(IdleTime, { idle_secs }) } })
  await rules.open(withWeight(1))

  await rules.open(withWeight(2))
  await rules.open(withWeight(2))
  t.same(engine.weightsSet, [{ ruleId: 1, weights: [2] }])
  t.equal(engine.opened.length, 1)

  const { id } = withWeight(2)
  rules.setWeights(id, [7])
  rules.setWeights('another', [8])
  t.same(engine.weightsSet.slice(1), [{ ruleId: 1, weights: [7] }])

  await rules.open(withWeight(10))
  await rules.open(spec())
  t.match(engine.opened, [
    { balance: { weights: [1] } },
    { balance: { by: 'source_hash' } },
    { balance: null }
  ])
})

t.test('an unknown field is refused, and the open rule stays', async t => {
  const { engine, rules } = open(t)
  await rules.open(spec())

  await t.rejects(rules.open(spec({ fields: { shape: new Uint8Array() } })), { code: 'field_unknown' })

  t.equal(engine.rules.size, 1)
})

t.test('a rule that the guardrails refuse is not opened', async t => {
  const { engine, rules } = open(t)

  await t.rejects(rules.open(spec({ from: 80, to: 80 })), { code: 'denied_by_agent' })
  await t.rejects(rules.open(spec({ targets: [{ host: '169.254.169.254', port: 80 }] })), {
    code: 'denied_by_agent'
  })

  t.equal(engine.opened.length, 0)
})

t.test('an engine fault becomes a refusal code, and the journal is unbound', async t => {
  const { engine, rules, unbound } = open(t)

  engine.refuseNextOpen('EADDRINUSE')
  await t.rejects(rules.open(spec()), { code: 'port_in_use' })
  engine.refuseNextOpen('EACCES')
  await t.rejects(rules.open(spec()), { code: 'activation_failed' })

  t.same(unbound, [1, 2])
  t.equal(rules.find(1), undefined)
})

t.test('a drain ends with the last connection, or with a second close that cuts', async t => {
  const { engine, rules } = open(t)
  engine.holdDrains()
  await rules.open(spec())
  let isDone = false

  const { done } = await rules.close('rule-1', 'drain')
  done.then(() => {
    isDone = true
  })
  t.equal(isDone, false)
  t.equal(rules.find(1)?.id, 'rule-1', 'its last events still have a rule id')

  await (await rules.close('rule-1', 'cut')).done
  t.equal(isDone, true)
  t.same(engine.closed.at(-1), { ruleId: 1, drainMs: 0 })
  t.equal(rules.find(1), undefined)
})

t.test('closing a rule that is not open is done at once', async t => {
  const { rules } = open(t)

  await (await rules.close('nobody', 'drain')).done

  t.pass()
})

t.test('settings of the server are saved and reopen no rule', async t => {
  const first = open(t)
  await first.rules.open(spec())

  first.rules.configure({ drainMs: 5000, tcpIdleMs: 60_000 })
  await first.rules.open(spec())
  t.equal(first.engine.opened.length, 1, 'a running rule keeps the idle time that it was opened with')

  const second = open(t, first.dir)
  await second.rules.open(spec())
  await second.rules.close('rule-1', 'drain')
  t.match(second.engine.opened, [{ idleMs: 60_000, unansweredMs: 10_000 }])
  t.same(second.engine.closed, [{ ruleId: 1, drainMs: 5000 }])
})

t.test('closeAll waits for every drain', async t => {
  const { engine, rules } = open(t)
  engine.holdDrains()
  await rules.open(spec())
  await rules.open(spec({ id: 'rule-2', from: 8081, to: 8081 }))
  await rules.close('rule-2', 'drain')
  let isDone = false

  const all = rules.closeAll('drain').then(() => {
    isDone = true
  })
  engine.finishDrain(1)
  await new Promise(resolve => setImmediate(resolve))
  t.equal(isDone, false)
  engine.finishDrain(2)
  await all

  t.equal(isDone, true)
})

t.test('a rule that failed to open does not remove limits from later rules', async t => {
  let failures = 1
  const limiting: AgentPlugin = {
    name: 'limiting',
    agent: '^1.0.0',
    meters: () => [{ key: 'all', refusals }],
    fields: [
      defineField({
        key: 'idle',
        message: IdleTime,
        setMeters() {
          if (failures-- > 0) throw new TypeError('a bug')
        }
      })
    ]
  }
  const { engine, rules, meters } = open(t, t.testdir(), limiting)
  meters.setLimits('all', limits(3))
  await t.rejects(rules.open(spec()), { code: 'activation_failed' })
  await rules.open(spec())

  meters.setLimits('all', null)
  meters.setLimits('all', limits(7))

  const [id = 0] = [...engine.rules.values()].flatMap(rule => rule.meters)
  t.match(engine.meters.get(id), { connections: 7 })
})

const limits = (connections: number) => ({ bytesIn: null, bytesOut: null, connections, newConnections: null })

t.test('a change that the engine refuses does not affect the open rule and its limits', async t => {
  const limiting: AgentPlugin = {
    name: 'limiting',
    agent: '^1.0.0',
    meters: () => [{ key: 'all', refusals, isOwn: true }],
    fields: [
      defineField({
        key: 'idle',
        message: IdleTime,
        setMeters: (value, _, meters) => meters.setLimits('all', value && limits(value.idle_secs))
      })
    ]
  }
  const { engine, rules, codec, unbound } = open(t, t.testdir(), limiting)
  const withLimit = (idle_secs: number) => ({ idle: codec.encode(IdleTime, { idle_secs }) })
  await rules.open(spec({ fields: withLimit(3) }))

  engine.refuseNextOpen('EADDRINUSE')
  await t.rejects(rules.open(spec({ from: 8081, to: 8081, fields: withLimit(7) })), { code: 'port_in_use' })

  t.same(engine.closed, [])
  t.same(unbound, [2])
  t.match([...engine.meters.values()], [{ connections: 3 }])
  t.match(rules.find(1), { from: 8080 })
})

t.test('connections of a removed port drain; those of a remaining port continue', async t => {
  const { engine, rules } = open(t)
  engine.holdDrains()
  await rules.open(spec())

  await rules.open(spec({ to: 8081 }))
  await rules.open(spec({ from: 8081, to: 8081 }))
  await rules.open(spec({ from: 8082, to: 8082, existing: 'cut' }))

  t.same(engine.replaced, [1, 2, 3])
  t.same(engine.closed, [
    { ruleId: 1, drainMs: null },
    { ruleId: 2, drainMs: null },
    { ruleId: 3, drainMs: null }
  ])
  t.same(
    engine.resets.map(({ ruleId, keep }) => [ruleId, keep?.from, keep?.to]),
    [1, 2, 3, 4].map(id => [id, 8082, 8082]),
    'including connections of earlier changes'
  )
})

t.test('a shrinking range drains the connections of removed ports', async t => {
  const { engine, rules, clock } = open(t)
  engine.holdDrains()
  await rules.open(spec({ to: 8089 }))

  await rules.open(spec({ to: 8084 }))
  await clock.advance(29_999)
  t.same(engine.resets, [])
  await clock.advance(1)

  t.match(engine.resets, [
    { ruleId: 1, keep: { from: 8080, to: 8084 } },
    { ruleId: 2, keep: { from: 8080, to: 8084 } }
  ])
})

t.test('a pause that cuts ends the flows of a UDP rule at once', async t => {
  const { engine, rules } = open(t)
  await rules.open(spec({ protocol: 'udp' }))

  await rules.open(spec({ protocol: 'udp', paused: true, existing: 'cut' }))

  t.match(engine.resets, [{ ruleId: 1, keep: null }])
})

t.test('connections to removed targets stay, are cut, or are cut after the drain time', async t => {
  const { engine, rules, clock } = open(t)
  engine.holdDrains()
  const to = (...hosts: string[]) => hosts.map(host => ({ host, port: 80 }))
  await rules.open(spec({ targets: to('10.0.0.1', '10.0.0.2') }))

  await rules.open(spec({ targets: to('10.0.0.2', '10.0.0.3') }))
  t.same(engine.targetsReset, [])
  await rules.open(spec({ targets: to('10.0.0.3'), existing: 'drain' }))
  t.same(engine.targetsReset, [])
  await clock.advance(30_000)
  t.same(engine.targetsReset, [
    { ruleId: 1, targets: [0, 1] },
    { ruleId: 2, targets: [0] }
  ])
  await rules.open(spec({ targets: to('10.0.0.4'), existing: 'cut' }))
  t.same(engine.targetsReset.slice(2), [
    { ruleId: 1, targets: [0, 1] },
    { ruleId: 2, targets: [0, 1] },
    { ruleId: 3, targets: [0] }
  ])
})

t.test('filters change for connections of earlier targets, too', async t => {
  const { engine, rules, codec } = open(t)
  engine.holdDrains()
  await rules.open(spec())
  await rules.open(spec({ targets: [{ host: '10.0.0.2', port: 80 }] }))

  const source = codec.encode(AllowedSource, { cidr: '10.0.0.0/8' })
  await rules.open(spec({ targets: [{ host: '10.0.0.2', port: 80 }], fields: { source } }))

  t.match(engine.filtersSet, [{ ruleId: 1 }, { ruleId: 2 }])
})

t.test('a paused rule closes its port and opens it again; live connections continue', async t => {
  const { engine, rules } = open(t)
  engine.holdDrains()
  await rules.open(spec())

  await rules.open(spec({ paused: true }))
  t.same(engine.closed, [{ ruleId: 1, drainMs: null }])
  t.same([...rules.closed()], [['rule-1', 'paused']])
  t.equal(rules.isOpen('rule-1'), true)
  await rules.open(spec({ paused: true, targets: [{ host: '10.0.0.2', port: 80 }] }))
  t.equal(engine.opened.length, 1)

  await rules.open(spec({ targets: [{ host: '10.0.0.2', port: 80 }] }))
  t.match(engine.opened.slice(1), [{ id: 2, targets: [{ host: '10.0.0.2' }] }])
  t.same([...rules.closed()], [])
})

t.test('a pause that cuts resets connections, one that drains after the drain time', async t => {
  const { engine, rules, clock } = open(t)
  engine.holdDrains()
  await rules.open(spec({ id: 'cut' }))
  await rules.open(spec({ id: 'drained', from: 8081, to: 8081 }))

  await rules.open(spec({ id: 'cut', paused: true, existing: 'cut' }))
  await rules.open(spec({ id: 'drained', from: 8081, to: 8081, paused: true, existing: 'drain' }))
  t.same([...engine.budgets], [[1, { mark: 0, holdMs: 0 }]])
  await clock.advance(30_000)

  t.same(
    [...engine.budgets.values()],
    [
      { mark: 0, holdMs: 0 },
      { mark: 0, holdMs: 0 }
    ]
  )
})

t.test('a rule that starts paused opens no port, and a refused resume leaves it paused', async t => {
  const { engine, rules } = open(t)
  await rules.open(spec({ paused: true }))
  t.equal(engine.opened.length, 0)

  engine.refuseNextOpen('EADDRINUSE')
  await t.rejects(rules.open(spec()), { code: 'port_in_use' })
  t.same([...rules.closed()], [['rule-1', 'paused']])

  await rules.open(spec())
  t.equal(engine.rules.size, 1)
  await rules.close('rule-1', 'drain')
  t.equal(engine.meters.size, 0)
})

t.test('a paused UDP rule and a paused TLS name keep their port, and refuse each caller', async t => {
  const named: AgentPlugin = {
    ...testFields,
    fields: [
      defineField({
        key: 'idle',
        message: IdleTime,
        plan: (_, draft) => {
          draft.name = 'a.test'
        }
      })
    ]
  }
  const { engine, rules, codec } = open(t, t.testdir(), named)
  await rules.open(spec({ protocol: 'udp', paused: true }))
  await rules.open(
    spec({
      id: 'named',
      from: 8443,
      to: 8443,
      paused: true,
      fields: { idle: codec.encode(IdleTime, { idle_secs: 1 }) }
    })
  )

  t.equal(engine.rules.size, 2)
  t.match(
    [...engine.meters.values()],
    [
      { connections: 0, refusals: { connections: 'paused' } },
      { connections: 0, refusals: { connections: 'paused' } }
    ]
  )
})

t.test('a port that a field closed opens again once no other process has it', async t => {
  let close = () => {}
  let reopen = () => {}
  const closing: AgentPlugin = {
    ...testFields,
    fields: [
      defineField({
        key: 'idle',
        message: IdleTime,
        opened(rule) {
          close = () => rule.close({ mode: 'refuse', reason: 'asleep', closesPort: true })
          reopen = () => rule.open()
        }
      })
    ]
  }
  const { engine, rules, codec, clock, log } = open(t, t.testdir(), closing)
  await rules.open(spec({ fields: { idle: codec.encode(IdleTime, { idle_secs: 1 }) } }))

  close()
  await log.until('rule.not_listening')
  t.same([...rules.closed()], [['rule-1', 'asleep']])
  engine.refuseNextOpen('EADDRINUSE')
  reopen()
  await log.until('rule.reopen_failed')
  t.same([...rules.closed()], [['rule-1', 'port_in_use']])
  engine.refuseNextOpen('EADDRINUSE')
  await clock.advance(1000)
  await log.until('rule.reopen_failed', 2)
  await clock.advance(2000)
  await log.until('rule.opened', 2)

  t.same([...rules.closed()], [])
  t.equal(engine.rules.size, 1)
})
