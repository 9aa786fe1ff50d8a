import t from 'tap'
import type { EngineEvent } from '../../agent/engine/engine.ts'
import { zeroCounters } from '../../agent/portable-engine/live-counters.ts'
import { type Attempt, TargetHealth } from '../../agent/portable-engine/target-health.ts'
import { ruleTo } from './engine-fixture.ts'

/** Opens the health of a rule's targets, with a fake clock. */
async function openHealth(targetCount = 2) {
  const rule = await ruleTo(Array.from({ length: targetCount }, () => 9))
  const { targets } = zeroCounters(rule)
  const events: EngineEvent[] = []
  let nowMs = 1_000
  const health = new TargetHealth(
    rule,
    targets,
    event => events.push(event),
    () => nowMs
  )
  const begin = (): Attempt => {
    const [first] = health.attempts()
    if (!first) throw new TypeError('no target to try')
    return first
  }
  return {
    targets,
    events,
    health,
    begin,
    advance(ms: number) {
      nowMs += ms
    },
    fail(times: number, index = 0) {
      for (let i = 0; i < times; i++) health.attempt(index).failed('refused')
    },
    /** Returns the targets in the current dial order. */
    order(): number[] {
      const attempts = [...health.attempts()]
      for (const attempt of attempts) attempt.abandoned()
      return attempts.map(({ index }) => index)
    }
  }
}

t.test('targets are tried in order; after three consecutive failures a target is skipped', async t => {
  const { order, fail, health, targets, events } = await openHealth()

  fail(2)
  t.same(order(), [0, 1])
  health.attempt(0).succeeded()
  fail(2)
  t.same(order(), [0, 1])
  fail(1)

  t.same(order(), [1])
  t.match(targets, [
    { health: 'failed', consecutiveFailures: 3 },
    { health: 'unknown', consecutiveFailures: 0 }
  ])
  t.match(events, [
    { kind: 'target-health', target: 0, from: 'unknown', to: 'healthy', reason: 'connected' },
    { kind: 'target-health', target: 0, from: 'healthy', to: 'failed', reason: 'refused' }
  ])
})

t.test('three failures spread over more than 30 seconds do not fail a target', async t => {
  const { order, fail, advance, targets } = await openHealth()

  fail(2)
  advance(30_001)
  fail(1)
  t.same(order(), [0, 1])
  t.match(targets, [{ health: 'unknown', consecutiveFailures: 3 }])
  advance(1_000)
  fail(1)
  t.same(order(), [0, 1])
  advance(29_000)
  fail(1)

  t.same(order(), [1])
})

t.test('ten seconds after its last failure one attempt may try a failed target', async t => {
  const { order, fail, advance, begin } = await openHealth()
  fail(3)
  advance(9_999)
  t.same(order(), [1])
  advance(1)

  const attempt = begin()
  t.equal(attempt.index, 0)
  t.same(order(), [1], 'one attempt at a time')
  attempt.failed('timeout')
  advance(9_999)
  t.same(order(), [1])
  advance(1)
  const other = begin()
  other.abandoned()

  t.same(order(), [0, 1], 'an abandoned attempt changes nothing')
})

t.test('two consecutive successes heal a failed target', async t => {
  const { order, fail, advance, begin, targets, events } = await openHealth()
  fail(3)
  advance(10_000)

  begin().succeeded()
  t.match(targets, [{ health: 'failed', consecutiveFailures: 0 }])
  const second = begin()
  t.equal(second.index, 0)
  t.same(order(), [1], 'still one attempt at a time')
  second.succeeded()

  t.match(targets, [{ health: 'healthy' }])
  t.same(order(), [0, 1])
  t.match(events.slice(1), [{ from: 'failed', to: 'healthy', reason: 'connected' }])
})

t.test('one success does not heal a failed target', async t => {
  const { order, fail, advance, begin } = await openHealth()
  fail(3)
  advance(10_000)
  begin().succeeded()
  begin().failed('reset')
  advance(10_000)
  begin().succeeded()

  begin().failed('reset')
  t.same(order(), [1])
})

t.test('when all targets have failed, all are tried in order', async t => {
  const { order, fail, begin } = await openHealth(3)
  for (const index of [0, 1, 2]) fail(3, index)

  const attempt = begin()
  t.same(order(), [0, 1, 2])
  attempt.abandoned()
})
