import t from 'tap'
import type { Sample } from '../../../agent/engine/engine.ts'
import type { AgentCall, ControlStream, Ejection, RuleSpec, TargetStanding } from '../../../agent/plugin.ts'
import { fakeClock } from '../../../kit/fake-clock.ts'
import multiTarget from '../agent.ts'
import { targetsMark } from '../wire.ts'

const spec = {
  id: 'rule-1',
  targets: [
    { host: '10.0.0.1', port: 80 },
    { host: '::1', port: 81 }
  ]
} as unknown as RuleSpec

function testStream() {
  const clock = fakeClock()
  const sent: object[] = []
  const logged: [string, object][] = []
  let targets = spec.targets.map(() => ({
    health: 'unknown',
    consecutiveFailures: 0,
    lastFailureAt: null as number | null,
    lastSuccessAt: null as number | null
  }))
  let standings: readonly TargetStanding[] = []
  const eject = (ejection: Ejection | null) => {
    standings = [
      { share: 1, ejection: null, ejections: 0 },
      { share: ejection ? 0 : 0.1, ejection, ejections: 1 }
    ]
  }
  const record = (_: string, message: string, fields: object) => void logged.push([message, fields])
  const call = {
    clock,
    rules: { find: (id: number) => (id === 1 ? spec : undefined), standings: () => standings },
    takeSample: () =>
      ({
        rules: [
          { ruleId: 1, targets },
          { ruleId: 2, targets }
        ]
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
  return { call, stream, clock, sent, logged, controller, setTarget, eject }
}

t.test(
  'the agent sends all health after it connects, then changes, and successes alone once a minute',
  async t => {
    const { call, stream, clock, sent, controller, setTarget } = testStream()

    multiTarget.connected(stream, call)
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
  const { call, stream, clock, sent, setTarget } = testStream()
  setTarget(0, { health: 'healthy', lastSuccessAt: clock.now() })
  multiTarget.connected(stream, call)
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
  const { call, stream, sent, logged, setTarget } = testStream()
  multiTarget.connected(stream, call)

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
  const { call, stream, sent, logged, eject } = testStream()
  multiTarget.connected(stream, call)
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
