import { randomInt } from 'node:crypto'
import t, { type Test } from 'tap'
import type { Admission } from '../../agent/portable-engine/meters/meter-chain.ts'
import { Meters } from '../../agent/portable-engine/meters/meters.ts'
import type { Direction, Waiter } from '../../agent/portable-engine/meters/waiter.ts'
import { limited, rate, unlimited } from './meter-fixture.ts'

const ignoring: Waiter = { resume() {}, reset() {} }

function open(t: Test) {
  const emptied: number[] = []
  const meters = new Meters(id => emptied.push(id))
  t.teardown(() => meters.stop())
  const enter = (ids: readonly number[], waiter: Waiter | null = ignoring): Admission => {
    const pass = meters.chain(ids).enter(waiter)
    if ('refusal' in pass) throw new TypeError(`refused: ${pass.refusal}`)
    return pass
  }
  return { meters, emptied, enter }
}

t.test('no total passes its mark, and the whole budget can be used, in any order of calls', async t => {
  for (let round = 0; round < 50; round++) {
    const { meters, emptied, enter } = open(t)
    const marks = [randomInt(1, 5_000), randomInt(1, 5_000)]
    for (const [id, mark] of marks.entries()) {
      meters.set(id, unlimited)
      meters.setBudget(id, { mark, holdMs: 60_000 })
    }
    const underWay: (() => void)[] = []
    const passes = Array.from({ length: 5 }, () => enter([0, 1]))
    const smaller = Math.min(...marks)
    const totals = () => meters.sample().map(({ bytesIn, bytesOut }) => bytesIn + bytesOut)

    for (let i = 0; i < 5_000 && emptied.length === 0; i++) {
      const pass = passes[randomInt(passes.length)]
      const direction: Direction = randomInt(2) === 0 ? 'in' : 'out'
      const bytes = pass?.reserve(direction, randomInt(1, 700)) ?? 0
      if (bytes > 0)
        underWay.push(() => (randomInt(3) === 0 ? pass?.release(bytes) : pass?.delivered(direction, bytes)))
      while (underWay.length > (bytes > 0 ? 6 : 0)) underWay.splice(randomInt(underWay.length), 1)[0]?.()
      if (Math.max(...totals()) > smaller) t.fail(`${totals()} of ${marks}`)
    }

    t.same(totals(), [smaller, smaller])
    t.ok(emptied.length >= 1)
  }
})

t.test('a refusal takes nothing from any meter', async t => {
  const { meters, enter } = open(t)
  meters.set(1, limited({ connections: 1, newConnections: rate(0, 1) }))
  meters.set(2, limited({ newConnections: rate(0, 0) })) // a burst is at least one
  meters.set(3, limited({ connections: 0 }))

  t.same(meters.chain([1, 2, 3]).enter(ignoring), { refusal: 'too_many' })
  t.ok(meters.sample().every(({ active }) => active === 0))
  const pass = enter([1, 2])
  t.same(meters.chain([2]).enter(ignoring), { refusal: 'too_fast' })
  pass.leave()
  pass.leave()
  t.ok(meters.sample().every(({ active }) => active === 0))
  t.same(meters.chain([1]).enter(ignoring), { refusal: 'too_fast' })
})

t.test('a datagram passes whole or is dropped with a reason; the one that crosses a mark passes', async t => {
  const { meters, emptied, enter } = open(t)
  meters.set(1, limited({ bytesIn: rate(0, 1_000) }))
  meters.set(2, unlimited)
  meters.setBudget(2, { mark: 950, holdMs: 60_000 })
  const pass = enter([1, 2], null)
  const send = (bytes: number) => {
    const reason = pass.admitDatagram('in', bytes)
    if (reason === null) pass.delivered('in', bytes)
    return reason
  }

  t.equal(send(1_001), 'too_much')
  t.equal(send(900), null)
  t.equal(send(101), 'too_much')
  t.equal(send(100), null)
  t.same(emptied, [2])
  t.equal(send(0), 'spent')
  t.equal(pass.admitDatagram('out', 5), 'spent')
  t.match(meters.sample(), [{ bytesIn: 1_000 }, { bytesIn: 1_000 }])
})

t.test(
  'a waiter is resumed when bytes are released and when the mark moves, not after it has left',
  async t => {
    const { meters, enter } = open(t)
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

    first.release(40)

    t.same(calls, ['first out', 'second in'])
    t.equal(second.reserve('in', 50), 40)
    second.delivered('in', 40)
    first.delivered('in', 60)
    t.equal(first.reserve('out', 1), 0)
    t.equal(second.reserve('in', 1), 0)
    second.leave()
    meters.setBudget(1, null)
    t.same(calls, ['first out', 'second in', 'first out'])
  }
)
