// Budgets: exact to the byte; connections pause at zero and resume after a refill.

import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { Test } from 'tap'
import type { EngineRule } from '../../../agent/engine/engine.ts'
import {
  type EngineCase,
  echo,
  endOf,
  engineFixture,
  exchange,
  type OpenEngine,
  openCaller,
  openTarget,
  portCounters,
  ruleTo,
  until
} from '../engine-fixture.ts'
import {
  countReceived,
  flood,
  limited,
  meterCounters,
  meterTotal,
  rate,
  unlimited
} from '../meter-fixture.ts'

/** Longer than any case takes. */
const holdMs = 300_000

async function open(
  t: Test,
  openEngine: OpenEngine,
  serve: (socket: Socket) => void,
  changes: Partial<EngineRule> = {}
) {
  const fixture = engineFixture(t, openEngine)
  const { engine, events } = fixture
  engine.setMeter(1, unlimited)
  const rule = await ruleTo([await openTarget(t, serve)], { meters: [1], ...changes })
  await engine.open(rule)
  const emptyEvents = () => events.filter(({ kind }) => kind === 'meter-empty').length
  return { ...fixture, rule, emptyEvents }
}

export const budget: Record<string, EngineCase> = {
  async 'a budget is exact to the byte'(t, openEngine) {
    let received = 0
    const { engine, rule, emptyEvents } = await open(t, openEngine, socket =>
      socket.on('data', chunk => {
        received += chunk.length
      })
    )
    engine.setBudget(1, { mark: 100_001, holdMs })
    const caller = await openCaller(t, rule.from)

    flood(caller)
    await until(() => emptyEvents() === 1)

    await until(() => received === 100_001)
    t.match(meterCounters(engine, 1), { bytesIn: 100_001, bytesOut: 0, active: 1 })
    engine.setBudget(1, { mark: 100_002, holdMs })
    await until(() => emptyEvents() === 2)
    await until(() => received === 100_002)
    engine.setBudget(1, null)
    await until(() => received > 10_000_000)
    t.equal(emptyEvents(), 2)
  },

  async 'both directions use the same budget'(t, openEngine) {
    const { engine, rule, emptyEvents } = await open(t, openEngine, echo)
    engine.setBudget(1, { mark: 1_000_000, holdMs })
    const caller = await openCaller(t, rule.from)
    await exchange(caller, 'hello')

    flood(caller.resume())
    await until(() => emptyEvents() === 1)

    const { bytesIn, bytesOut } = meterCounters(engine, 1)
    t.equal(bytesIn + bytesOut, 1_000_000)
    t.ok(bytesOut > 0)
  },

  async 'a budget set during a transfer stops it, arrived bytes are counted, and the next budget is exact'(
    t,
    openEngine
  ) {
    let received = 0
    const { engine, rule, emptyEvents } = await open(t, openEngine, socket =>
      socket.on('data', chunk => {
        received += chunk.length
      })
    )
    flood(await openCaller(t, rule.from))
    await until(() => received > 1_000_000)

    engine.setBudget(1, { mark: meterTotal(engine, 1), holdMs })
    await until(() => emptyEvents() === 1)
    await until(() => received === meterTotal(engine, 1))

    const mark = received + 1_000_000
    engine.setBudget(1, { mark, holdMs })
    await until(() => emptyEvents() === 2)
    await until(() => received === mark)
    t.equal(meterTotal(engine, 1), mark)
  },

  async 'bytes that wait for a target when a budget is set are charged once'(t, openEngine) {
    let received = 0
    const { promise: reads, resolve: read } = Promise.withResolvers<void>()
    const { engine, rule, emptyEvents } = await open(t, openEngine, socket => {
      socket.pause()
      reads.then(() => socket.resume())
      socket.on('data', chunk => {
        received += chunk.length
      })
    })
    flood(await openCaller(t, rule.from))
    let before = -1
    await until(() => {
      const total = meterTotal(engine, 1)
      const isStill = total > 0 && total === before
      before = total
      return isStill
    })

    const mark = before + 3_000_000
    engine.setBudget(1, { mark, holdMs })
    read()

    await until(() => emptyEvents() === 1)
    await until(() => received === mark)
    t.equal(meterTotal(engine, 1), mark)
  },

  async 'many connections together reach the mark exactly'(t, openEngine) {
    const { engine, rule, emptyEvents } = await open(t, openEngine, echo)
    engine.setBudget(1, { mark: 5_000_000, holdMs })

    const callers = await Promise.all(Array.from({ length: 20 }, () => openCaller(t, rule.from)))
    await until(() => meterCounters(engine, 1).active === 20)
    for (const caller of callers) flood(caller.resume())
    await until(() => emptyEvents() === 1)

    t.equal(meterTotal(engine, 1), 5_000_000)
  },

  async 'new connections are reset while the budget is exhausted'(t, openEngine) {
    const { engine, rule, counters, emptyEvents } = await open(t, openEngine, echo)
    engine.setBudget(1, { mark: 10, holdMs })
    const caller = await openCaller(t, rule.from)
    t.equal(await exchange(caller, 'hello'), 'hello')
    await until(() => emptyEvents() === 1)

    t.equal(await endOf(await openCaller(t, rule.from)), 'reset')
    t.equal(await endOf(await openCaller(t, rule.from)), 'reset')

    t.match(counters(), { connectionsTotal: 1, rejected: { spent: 2 } })
    caller.write('and')
    engine.setMeter(1, limited({ bytesIn: rate(1_000_000, 1_000_000) })) // a rate does not refill a budget
    t.equal(meterTotal(engine, 1), 10)
    engine.setBudget(1, { mark: 1_000, holdMs })
    t.equal(await exchange(caller, ' on').then(first => first.slice(0, 3)), 'and')
    t.equal(await exchange(await openCaller(t, rule.from), 'again'), 'again')
    t.equal(emptyEvents(), 1)
  },

  async 'a connection on hold longer than the hold time is reset on both sides'(t, openEngine) {
    const ends: Promise<'fin' | 'reset'>[] = []
    const { engine, rule, counters, emptyEvents } = await open(t, openEngine, socket => {
      ends.push(endOf(socket))
    })
    const silent = await openCaller(t, rule.from)
    const busy = await openCaller(t, rule.from)
    busy.write('hello')
    await until(() => portCounters(counters()).bytesIn === 5 && ends.length === 2)

    engine.setBudget(1, { mark: 5, holdMs: 100 })

    t.same(await Promise.all([silent, busy].map(endOf)), ['reset', 'reset'])
    t.same(await Promise.all(ends), ['reset', 'reset'])
    await until(() => meterCounters(engine, 1).active === 0)
    t.equal(emptyEvents(), 1)
    t.equal(await endOf(await openCaller(t, rule.from)), 'reset')
  },

  async 'raising the mark in time saves connections on hold'(t, openEngine) {
    const { engine, rule, emptyEvents } = await open(t, openEngine, echo)
    const caller = await openCaller(t, rule.from)
    await exchange(caller, 'hello')
    engine.setBudget(1, { mark: 10, holdMs: 200 })
    await until(() => emptyEvents() === 1)

    engine.setBudget(1, { mark: 1_000, holdMs: 200 })
    await new Promise(resolve => setTimeout(resolve, 400))

    t.equal(await exchange(caller, 'still here'), 'still here')
    engine.setBudget(1, { mark: 3, holdMs })
    await until(() => emptyEvents() === 2)
    engine.setBudget(1, { mark: 4, holdMs })
    engine.setBudget(1, null)
    t.equal(await exchange(caller, 'and again'), 'and again')
    t.equal(emptyEvents(), 2)
  },

  async 'bytes that were reserved and not delivered return to the budget'(t, openEngine) {
    const mark = 40_000_000
    const { engine, rule, emptyEvents } = await open(t, openEngine, socket => socket.pause())
    const reading = await ruleTo([await openTarget(t, socket => socket.resume())], { meters: [1] })
    await engine.open(reading)
    engine.setBudget(1, { mark, holdMs })
    const stuck = await openCaller(t, rule.from)
    flood(stuck)
    await new Promise(resolve => setTimeout(resolve, 500))

    stuck.resetAndDestroy()
    await engine.close(rule.id, 0)
    flood(await openCaller(t, reading.from))

    await until(() => emptyEvents() === 1)
    t.equal(meterTotal(engine, 1), mark)
  },

  async 'the smaller of two budgets limits, and neither is charged for undelivered bytes'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    for (const id of [1, 2]) engine.setMeter(id, unlimited)
    const rule = await ruleTo([await openTarget(t, flood)], { meters: [1, 2] })
    await engine.open(rule)
    engine.setBudget(1, { mark: 900_000, holdMs })
    engine.setBudget(2, { mark: 30_000, holdMs })
    const bytes = countReceived(await openCaller(t, rule.from))

    await until(() => bytes() === 30_000)
    t.match(engine.sample().meters, [{ bytesOut: 30_000 }, { bytesOut: 30_000 }])
    engine.setBudget(2, null)

    await until(() => bytes() === 900_000)
    t.match(engine.sample().meters, [{ bytesOut: 900_000 }, { bytesOut: 900_000 }])
  },

  async 'a connection on hold is not idle'(t, openEngine) {
    const { engine, emptyEvents, rule } = await open(t, openEngine, echo, { idleMs: 200 })
    const caller = await openCaller(t, rule.from)
    await exchange(caller, 'hello')
    engine.setBudget(1, { mark: 10, holdMs })
    await until(() => emptyEvents() === 1)
    caller.write('kept')

    await new Promise(resolve => setTimeout(resolve, 600))
    engine.setBudget(1, null)

    t.equal(String(await once(caller.resume(), 'data')), 'kept')
    t.equal(await endOf(caller), 'reset', 'without a hold it counts as idle')
  },

  async 'a connection that still dials when the hold time ends is also reset'(t, openEngine) {
    const { engine, events, emptyEvents } = await open(t, openEngine, echo)
    const late = await ruleTo([{ host: 'late.test', port: 9 }], { meters: [1] })
    await engine.open(late)
    const caller = await openCaller(t, late.from)
    await until(() => events.some(({ kind }) => kind === 'resolve'))

    engine.setBudget(1, { mark: 0, holdMs: 50 })

    t.equal(await endOf(caller), 'reset')
    await until(() => meterCounters(engine, 1).active === 0)
    t.equal(emptyEvents(), 1)
  }
}
