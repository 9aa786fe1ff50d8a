import { randomInt } from 'node:crypto'
import t, { type Test } from 'tap'
import type { Admission } from '../../agent/portable-engine/meters/meter-chain.ts'
import { Meters } from '../../agent/portable-engine/meters/meters.ts'
import type { Direction, Waiter } from '../../agent/portable-engine/meters/waiter.ts'
import { limited, rate, unlimited } from './meter-fixture.ts'

const idleWaiter: Waiter = { resume() {}, reset() {} }

function openMeters(t: Test) {
  const emptied: number[] = []
  const meters = new Meters(id => emptied.push(id))
  t.teardown(() => meters.stop())
  const enter = (ids: readonly number[], waiter: Waiter | null = idleWaiter): Admission => {
    const admission = meters.chain(ids).enter(waiter)
    if ('refusal' in admission) throw new TypeError(`refused: ${admission.refusal}`)
    return admission
  }
  return { meters, emptied, enter }
}

t.test('in any order of calls, a budget can be used up but not exceeded', async t => {
  for (let round = 0; round < 50; round++) {
    const { meters, emptied, enter } = openMeters(t)
    const marks = [randomInt(1, 5_000), randomInt(1, 5_000)]
    for (const [id, mark] of marks.entries()) {
      meters.set(id, unlimited)
      meters.setBudget(id, { mark, holdMs: 60_000 })
    }
    const inFlight: (() => void)[] = []
    const admissions = Array.from({ length: 5 }, () => enter([0, 1]))
    const smaller = Math.min(...marks)
    const totals = () => meters.sample().map(({ bytesIn, bytesOut }) => bytesIn + bytesOut)

    for (let i = 0; i < 5_000 && emptied.length === 0; i++) {
      const admission = admissions[randomInt(admissions.length)]
      const direction: Direction = randomInt(2) === 0 ? 'in' : 'out'
      const bytes = admission?.reserve(direction, randomInt(1, 700)) ?? 0
      if (bytes > 0)
        inFlight.push(() =>
          randomInt(3) === 0 ? admission?.release(direction, bytes) : admission?.delivered(direction, bytes)
        )
      while (inFlight.length > (bytes > 0 ? 6 : 0)) inFlight.splice(randomInt(inFlight.length), 1)[0]?.()
      if (Math.max(...totals()) > smaller) t.fail(`${totals()} of ${marks}`)
    }

    t.same(totals(), [smaller, smaller])
    t.ok(emptied.length >= 1)
  }
})

t.test('a refusal consumes nothing from any meter', async t => {
  const { meters, enter } = openMeters(t)
  meters.set(1, limited({ connections: 1, newConnections: rate(0, 1) }))
  meters.set(2, limited({ newConnections: rate(0, 0) })) // the burst is at least one
  meters.set(3, limited({ connections: 0 }))

  t.same(meters.chain([1, 2, 3]).enter(idleWaiter), { refusal: 'too_many' })
  t.ok(meters.sample().every(({ active }) => active === 0))
  const admission = enter([1, 2])
  t.same(meters.chain([2]).enter(idleWaiter), { refusal: 'too_fast' })
  admission.leave()
  admission.leave()
  t.ok(meters.sample().every(({ active }) => active === 0))
  t.same(meters.chain([1]).enter(idleWaiter), { refusal: 'too_fast' })
})

t.test('a datagram passes whole or is dropped with a reason; the one that crosses a mark passes', async t => {
  const { meters, emptied, enter } = openMeters(t)
  meters.set(1, limited({ bytesIn: rate(0, 1_000) }))
  meters.set(2, unlimited)
  meters.setBudget(2, { mark: 950, holdMs: 60_000 })
  const admission = enter([1, 2], null)
  const send = (bytes: number) => {
    const reason = admission.admitDatagram('in', bytes)
    if (reason === null) admission.delivered('in', bytes)
    return reason
  }

  t.equal(send(1_001), 'too_much')
  t.equal(send(900), null)
  t.equal(send(101), 'too_much')
  t.equal(send(100), null)
  t.same(emptied, [2])
  t.equal(send(0), 'spent')
  t.equal(admission.admitDatagram('out', 5), 'spent')
  t.match(meters.sample(), [{ bytesIn: 1_000 }, { bytesIn: 1_000 }])
})

t.test('a waiter resumes when bytes are released or the mark moves, but not after it has left', async t => {
  const { meters, enter } = openMeters(t)
  meters.set(1, unlimited)
  meters.setBudget(1, { mark: 100, holdMs: 60_000 })
  const calls: string[] = []
  const waiterNamed = (name: string): Waiter => ({
    resume: direction => calls.push(`${name} ${direction}`),
    reset() {}
  })
  const first = enter([1], waiterNamed('first'))
  const second = enter([1], waiterNamed('second'))
  t.equal(first.reserve('in', 1_000), 100)
  t.equal(first.reserve('out', 1), 0)
  t.equal(second.reserve('in', 1), 0)

  first.release('in', 40)

  t.same(calls, ['first out', 'second in'])
  t.equal(second.reserve('in', 50), 40)
  second.delivered('in', 40)
  first.delivered('in', 60)
  t.equal(first.reserve('out', 1), 0)
  t.equal(second.reserve('in', 1), 0)
  second.leave()
  meters.setBudget(1, null)
  t.same(calls, ['first out', 'second in', 'first out'])
})
