// Meters: byte rates delay bytes; limits of connections and of new connections refuse.
import { randomBytes } from 'node:crypto'
import {
  collect,
  type EngineCase,
  echo,
  endOf,
  engineFixture,
  exchange,
  openCaller,
  openTarget,
  portCounters,
  ruleTo,
  sha256,
  until
} from '../engine-fixture.ts'
import { countReceived, flood, limited, meterCounters, rate, unlimited } from '../meter-fixture.ts'

const sleep = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

export const meters: Record<string, EngineCase> = {
  async 'bytes pass at the rate in each direction, at most rate * t + burst'(t, openEngine) {
    const rates = { bytesIn: rate(400_000, 100_000), bytesOut: rate(3_000_000, 600_000) }
    const port = await openTarget(t, socket => flood(socket.resume()))
    const { engine } = engineFixture(t, openEngine)
    engine.setMeter(1, limited(rates))
    const rule = await ruleTo([port], { meters: [1] })
    await engine.open(rule)
    const readMeter = () => ({ ...meterCounters(engine, 1), at: performance.now() }) // counters first, then the time
    const beganAt = performance.now()
    flood((await openCaller(t, rule.from)).resume())
    await until(
      () => meterCounters(engine, 1).bytesIn > 200_000 && meterCounters(engine, 1).bytesOut > 1_200_000
    )

    const first = readMeter()
    await sleep(5_000)
    const last = readMeter()

    for (const direction of ['bytesIn', 'bytesOut'] as const) {
      const { perSec, burst } = rates[direction]
      const ratio = (last[direction] - first[direction]) / (((last.at - first.at) * perSec) / 1000)
      const sinceBegin = (last.at - beganAt) / 1000
      t.ok(last[direction] <= perSec * sinceBegin + burst, `${direction} is within rate * t + burst`)
      t.ok(ratio > 0.93 && ratio < 1.07, `${direction} passes at ${ratio} of the rate`)
    }
    t.ok(last.throttledMs - first.throttledMs > 5_000, 'both directions waited')
  },

  async 'a rate above the largest integer limits nothing'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    engine.setMeter(1, limited({ bytesIn: rate(1e300, 1e300), bytesOut: rate(1e300, 1e300) }))
    const rule = await ruleTo([await openTarget(t, echo)], { meters: [1] })
    await engine.open(rule)

    t.equal(await exchange(await openCaller(t, rule.from), 'through'), 'through')
    t.equal(meterCounters(engine, 1).throttledMs, 0)
  },

  async 'setting, changing and lifting a rate applies to live connections'(t, openEngine) {
    const port = await openTarget(t, flood)
    const { engine } = engineFixture(t, openEngine)
    engine.setMeter(1, unlimited)
    const rule = await ruleTo([port], { meters: [1] })
    await engine.open(rule)
    const bytes = countReceived(await openCaller(t, rule.from))
    const inHalfASecond = async () => {
      const before = bytes()
      await sleep(500)
      return bytes() - before
    }
    await until(() => bytes() > 4_000_000)

    engine.setMeter(1, limited({ bytesOut: rate(100_000, 16_384) }))
    await inHalfASecond() // bytes that passed the meter earlier still arrive
    await inHalfASecond()
    const slow = await inHalfASecond()
    engine.setMeter(1, limited({ bytesOut: rate(2_000_000, 200_000) }))
    const faster = await inHalfASecond()
    engine.setMeter(1, unlimited)
    const before = bytes()

    await until(() => bytes() > before + 16_000_000)
    t.ok(slow > 10_000 && slow < 150_000, `${slow} bytes at 50,000 allowed`)
    t.ok(faster > 4 * slow, `${faster} bytes at 1,000,000 allowed`)
  },

  async 'delayed bytes arrive bit for bit, and FIN after them'(t, openEngine) {
    const request = randomBytes(300_000)
    const port = await openTarget(t, echo)
    const { engine } = engineFixture(t, openEngine)
    engine.setMeter(1, limited({ bytesIn: rate(400_000, 20_000) }))
    engine.setMeter(2, limited({ bytesOut: rate(500_000, 5_000) }))
    const rule = await ruleTo([port], { meters: [1, 2] })
    await engine.open(rule)
    const caller = await openCaller(t, rule.from)

    caller.end(request)

    t.equal(sha256(await collect(caller)), sha256(request))
    for (const id of [1, 2]) t.match(meterCounters(engine, id), { bytesIn: 300_000, bytesOut: 300_000 })
    t.ok(meterCounters(engine, 1).throttledMs > 300)
  },

  async 'connections share a rate fairly, and do not slow down others'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    engine.setMeter(1, limited({ bytesOut: rate(1_000_000, 50_000) }))
    engine.setMeter(2, unlimited)
    const capped = await ruleTo([await openTarget(t, flood)], { meters: [1] })
    const free = await ruleTo([await openTarget(t, echo)], { meters: [2] })
    await engine.open(capped)
    await engine.open(free)
    const all = await Promise.all(
      Array.from({ length: 5 }, async () => countReceived(await openCaller(t, capped.from)))
    )

    const caller = await openCaller(t, free.from)
    const beganAt = performance.now()
    for (let i = 0; i < 100; i++) await exchange(caller, 'quick')
    const tookMs = performance.now() - beganAt
    await until(() => meterCounters(engine, 1).bytesOut > 1_500_000)

    const shares = all.map(bytes => bytes() / meterCounters(engine, 1).bytesOut)
    t.ok(
      shares.every(share => share > 0.1),
      `shares, fair is a fifth each: ${shares}`
    )
    t.ok(tookMs < 2_000, `${tookMs} ms for 100 exchanges beside them`)
  },

  async 'a rate of zero stops a direction, and the caller can still leave'(t, openEngine) {
    const { engine, counters } = engineFixture(t, openEngine)
    engine.setMeter(1, limited({ bytesOut: rate(0, 1_000) }))
    const rule = await ruleTo([await openTarget(t, flood)], { meters: [1] })
    await engine.open(rule)
    const caller = await openCaller(t, rule.from)
    const bytes = countReceived(caller)

    await until(() => bytes() >= 1_000)
    caller.resetAndDestroy()

    await until(() => portCounters(counters()).active === 0)
    t.equal(bytes(), 1_000)
    t.match(meterCounters(engine, 1), { bytesOut: 1_000, active: 0 })
  },

  async 'connections above the limit are reset until one ends'(t, openEngine) {
    const { engine, counters } = engineFixture(t, openEngine)
    engine.setMeter(1, limited({ connections: 2 }))
    const rule = await ruleTo([await openTarget(t, echo)], { meters: [1] })
    await engine.open(rule)
    const one = await openCaller(t, rule.from)
    const two = await openCaller(t, rule.from)
    await exchange(one, 'one')
    await exchange(two, 'two')

    t.equal(await endOf(await openCaller(t, rule.from)), 'reset')

    t.match(counters(), { connectionsTotal: 2, rejected: { too_many: 1 } })
    engine.setMeter(1, limited({ connections: 1 }))
    t.equal(await exchange(two, 'a lower limit ends no connection'), 'a lower limit ends no connection')
    one.destroy()
    two.destroy()
    await until(() => meterCounters(engine, 1).active === 0)
    t.equal(await exchange(await openCaller(t, rule.from), 'again'), 'again')
    t.equal(meterCounters(engine, 1).active, 1)
  },

  async 'new connections above their rate are reset'(t, openEngine) {
    const { engine, counters } = engineFixture(t, openEngine)
    engine.setMeter(1, limited({ newConnections: rate(0.001, 3) }))
    const rule = await ruleTo([await openTarget(t, echo)], { meters: [1] })
    await engine.open(rule)

    for (const text of ['one', 'two', 'three'])
      t.equal(await exchange(await openCaller(t, rule.from), text), text)

    for (let i = 0; i < 2; i++) t.equal(await endOf(await openCaller(t, rule.from)), 'reset')
    t.match(counters(), { connectionsTotal: 3, rejected: { too_fast: 2 } })
    engine.setMeter(1, unlimited)
    t.equal(await exchange(await openCaller(t, rule.from), 'four'), 'four')
  },

  async 'the first refusing meter decides, and a refusal consumes nothing from any meter'(t, openEngine) {
    const { engine, counters } = engineFixture(t, openEngine)
    const port = await openTarget(t, echo)
    engine.setMeter(1, limited({ connections: 2, newConnections: rate(0.001, 2) }))
    engine.setMeter(
      2,
      limited({ connections: 0, refusals: { ...unlimited.refusals, connections: 'second' } })
    )
    const both = await ruleTo([port], { meters: [1, 2] })
    const alone = await ruleTo([port], { meters: [1] })
    await engine.open(both)
    await engine.open(alone)

    for (let i = 0; i < 3; i++) t.equal(await endOf(await openCaller(t, both.from)), 'reset')

    t.match(counters().rejected, { second: 3 })
    t.match(meterCounters(engine, 1), { active: 0 })
    for (const text of ['one', 'two']) t.equal(await exchange(await openCaller(t, alone.from), text), text)
    t.equal(await endOf(await openCaller(t, both.from)), 'reset')
    t.match(counters().rejected, { second: 3, too_many: 1 })
  },

  async 'the slowest meter limits the rate'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    engine.setMeter(1, limited({ bytesOut: rate(1_000_000, 1_000_000) }))
    engine.setMeter(2, limited({ bytesOut: rate(0, 5_000) }))
    const rule = await ruleTo([await openTarget(t, flood)], { meters: [1, 2] })
    await engine.open(rule)
    const bytes = countReceived(await openCaller(t, rule.from))

    await until(() => bytes() === 5_000)
    t.match(engine.sample().meters, [{ bytesOut: 5_000 }, { bytesOut: 5_000 }])

    engine.setMeter(2, unlimited)
    engine.setMeter(1, limited({ bytesOut: rate(0, 1) }))
    await sleep(100)
    const before = bytes()
    await sleep(200)
    t.equal(bytes(), before)
  },

  async 'a meter counts all its rules, and exists until it is removed'(t, openEngine) {
    const { engine, finalCounters } = engineFixture(t, openEngine)
    engine.setMeter(7, unlimited)
    const port = await openTarget(t, echo)
    const rules = [await ruleTo([port], { meters: [7] }), await ruleTo([port], { meters: [7] })]
    for (const rule of rules) {
      await engine.open(rule)
      await exchange(await openCaller(t, rule.from), 'hello')
    }
    await until(() => meterCounters(engine, 7).bytesOut === 10)
    t.same(engine.sample().meters, [{ id: 7, bytesIn: 10, bytesOut: 10, active: 2, throttledMs: 0 }])

    for (const { id } of rules) {
      await engine.close(id, 0)
      await finalCounters(id)
    }

    t.same(engine.sample().meters, [{ id: 7, bytesIn: 10, bytesOut: 10, active: 0, throttledMs: 0 }])
    engine.removeMeter(7)
    t.same(engine.sample().meters, [])
    await t.rejects(engine.open(await ruleTo([port], { meters: [7] })), { code: 'EINVAL' })
    t.same(engine.sample().rules, [])
  }
}
