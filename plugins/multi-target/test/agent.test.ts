import t from 'tap'
import type { Sample } from '../../../agent/engine/engine.ts'
import type { AgentCall, ControlStream, Ejection, RuleSpec, TargetStanding } from '../../../agent/plugin.ts'
import { fakeClock } from '../../../kit/fake-clock.ts'
import multiTarget from '../agent.ts'
import { targetsMark } from '../wire.ts'

const spec = {
  id: 'rule-1',
  owner: 'ann',
  protocol: 'tcp',
  fields: {},
  targets: [
    { host: '10.0.0.1', port: 80 },
    { host: '::1', port: 81 }
  ]
} as unknown as RuleSpec

const reported = { rule_id: 'rule-1', targets_mark: targetsMark(spec.targets) }

function testStream() {
  const clock = fakeClock()
  const sent: object[] = []
  const logged: [string, object][] = []
  let targets = spec.targets.map(() => ({
    health: 'unknown',
    consecutiveFailures: 0,
    failures: 0,
    connects: 0,
    lastFailureAt: null as number | null,
    lastSuccessAt: null as number | null,
    lastFailure: null as string | null,
    lastSource: 'traffic'
  }))
  let standings: readonly TargetStanding[] = spec.targets.map(() => ({
    share: 1,
    ejection: null,
    ejections: 0
  }))
  const closed = new Map<string, string>()
  let isPortClosed = false
  const pause = () => {
    closed.set(spec.id, 'paused')
    isPortClosed = true
  }
  const eject = (ejection: Ejection | null) => {
    standings = [
      { share: 1, ejection: null, ejections: 0 },
      { share: ejection ? 0 : 0.1, ejection, ejections: 1 }
    ]
  }
  const record = (_: string, message: string, fields: object) => void logged.push([message, fields])
  const call = {
    clock,
    rules: {
      find: (id: number) => (id === 1 ? spec : undefined),
      standings: () => standings,
      closed: () => closed,
      runningCount: () => 1
    },
    paths: { find: () => ({ spec }), mayProbeIdle: () => false },
    takeSample: () =>
      ({
        rules: [
          { ruleId: 1, ports: [], targets },
          { ruleId: 2, ports: [], targets }
        ].filter(({ ruleId }) => ruleId !== 1 || !isPortClosed)
      }) as unknown as Sample,
    log: { info: record, warn: record }
  } as unknown as AgentCall // the members that the plugin uses
  const controller = new AbortController()
  const stream = {
    signal: controller.signal,
    send: (_: object, body: object) => void sent.push(body)
  } as unknown as ControlStream
  const setTarget = (at: number, changed: Partial<(typeof targets)[0]>) => {
    targets = targets.map((target, index) => (index === at ? { ...target, ...changed } : target))
  }
  const connect = async () => {
    await multiTarget.start({ call, defer() {}, metrics: [], explainers: [] })
    multiTarget.connected(stream, call)
  }
  return { call, connect, clock, sent, logged, controller, setTarget, eject, pause }
}

t.test(
  'the agent sends all health after it connects, then changes, and successes alone once a minute',
  async t => {
    const { connect, clock, sent, controller, setTarget } = testStream()

    await connect()
    t.match(sent, [{ rules: [{ rule_id: 'rule-1', targets: [{ state: 'unknown' }, { state: 'unknown' }] }] }])
    await clock.advance(5000)
    t.equal(sent.length, 1)
    setTarget(0, { health: 'healthy', lastSuccessAt: clock.now() })
    await clock.advance(5000)
    t.match(sent[1], { rules: [{ targets: [{ state: 'healthy' }, {}] }] })
    setTarget(0, { lastSuccessAt: clock.now() })
    await clock.advance(5000)
    t.equal(sent.length, 2)
    await clock.advance(60_000)
    setTarget(0, { lastSuccessAt: clock.now() })
    await clock.advance(5000)
    t.equal(sent.length, 3)
    controller.abort()
    setTarget(0, { health: 'failed' })
    await clock.advance(60_000)
    t.equal(sent.length, 3)
  }
)

t.test('the last success before a quiet period is sent a minute after the previous one', async t => {
  const { connect, clock, sent, setTarget } = testStream()
  setTarget(0, { health: 'healthy', lastSuccessAt: clock.now() })
  await connect()
  const last = clock.now() + 5000
  await clock.advance(5000)
  setTarget(0, { lastSuccessAt: last })

  await clock.advance(50_000)
  t.equal(sent.length, 1)
  await clock.advance(5000)

  t.match(sent.slice(1), [{ rules: [{ targets: [{ last_success_ms: last }, {}] }] }])
  await clock.advance(600_000)
  t.equal(sent.length, 2)
})

t.test('a change is logged with its reason and sent immediately', async t => {
  const { call, connect, sent, logged, setTarget } = testStream()
  await connect()

  setTarget(1, { health: 'failed', consecutiveFailures: 3 })
  multiTarget.event(
    { kind: 'target-health', ruleId: 1, target: 1, from: 'healthy', to: 'failed', reason: 'refused' },
    call
  )

  t.same(logged, [
    [
      '[::1]:81 is failed: refused',
      { rule: 'rule-1', target: '[::1]:81', from: 'healthy', to: 'failed', reason: 'refused' }
    ]
  ])
  t.match(sent[1], { rules: [{ targets: [{}, { state: 'failed', consecutive_failures: 3 }] }] })
})

t.test('an ejection and its end are logged with the reason and sent immediately', async t => {
  const { call, connect, sent, logged, eject } = testStream()
  await connect()
  const ejection = { reason: 'slow_connect', until: Date.UTC(2026, 0, 31, 3, 12, 10) }

  eject(ejection)
  multiTarget.event({ kind: 'target-ejected', rule: spec, target: 1, ...ejection }, call)
  t.match(logged, [
    ['[::1]:81 is not dialed until 2026-01-31T03:12:10.000Z: slow_connect', { rule: 'rule-1' }]
  ])
  t.same(sent[1], {
    rules: [
      {
        rule_id: 'rule-1',
        targets_mark: targetsMark(spec.targets),
        targets: [
          { state: 'unknown', consecutive_failures: 0 },
          {
            state: 'unknown',
            consecutive_failures: 0,
            ejected_until_ms: ejection.until,
            ejected_reason: 'slow_connect',
            ejections: 1
          }
        ]
      }
    ]
  })
  eject(null)
  multiTarget.event(
    { kind: 'target-returned', rule: spec, target: 1, reason: ejection.reason, share: 0.1 },
    call
  )
  t.equal(logged[1]?.[0], '[::1]:81 is dialed again')
  t.same(sent[2], {
    rules: [
      {
        rule_id: 'rule-1',
        targets_mark: targetsMark(spec.targets),
        targets: [
          { state: 'unknown', consecutive_failures: 0 },
          { state: 'unknown', consecutive_failures: 0, ejections: 1 }
        ]
      }
    ]
  })
})

t.test('the last attempt decides, with its source and the reason of a failure', async t => {
  const { connect, clock, sent, setTarget } = testStream()
  await connect()

  setTarget(0, { consecutiveFailures: 1, failures: 1, lastFailure: 'dns_nxdomain' })
  await clock.advance(5000)
  const failed = { state: 'failed', consecutive_failures: 1, reason: 'dns_nxdomain', source: 'traffic' }
  t.same(sent[1], {
    rules: [{ ...reported, targets: [failed, { state: 'unknown', consecutive_failures: 0 }] }]
  })

  setTarget(0, { consecutiveFailures: 0, connects: 1, lastSuccessAt: 5, lastSource: 'probe' })
  await clock.advance(5000)
  t.match(sent[2], { rules: [{ targets: [{ state: 'healthy', source: 'probe', reason: undefined }, {}] }] })
})

t.test('among several targets, one that the engine has failed stays failed until it is healed', async t => {
  const { connect, sent, setTarget } = testStream()

  setTarget(0, { health: 'failed', consecutiveFailures: 0, lastSuccessAt: 5, lastFailure: 'refused' })
  await connect()

  t.match(sent[0], { rules: [{ targets: [{ state: 'failed', reason: 'refused' }, {}] }] })
})

t.test('the targets of a rule that is closed become unknown, once', async t => {
  const { connect, clock, sent, setTarget, pause } = testStream()
  setTarget(0, { consecutiveFailures: 1, failures: 1, lastFailure: 'refused', lastFailureAt: 5 })
  await connect()

  pause()
  await clock.advance(60_000)

  const unknown = { state: 'unknown', consecutive_failures: 0 }
  t.same(sent.slice(1), [{ rules: [{ ...reported, targets: [unknown, unknown] }] }])
})
