// TCP rules open, count and close.
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { freePort } from '../../support/ports.ts'
import {
  collect,
  type EngineCase,
  endOf,
  engineFixture,
  exchange,
  noGuards,
  openCaller,
  openEchoRule,
  openTarget,
  portCounters,
  ruleTo,
  until,
  untilStable
} from '../engine-fixture.ts'
import { limited, unlimited } from '../meter-fixture.ts'

export const lifecycle: Record<string, EngineCase> = {
  async 'closing with a drain closes the port at once and lets connections finish'(t, openEngine) {
    const { engine, finalCounters } = engineFixture(t, openEngine)
    const rule = await openEchoRule(t, engine)
    const caller = await openCaller(t, rule.from)
    await exchange(caller, 'before')

    await engine.close(rule.id, 60_000)

    await t.rejects(openCaller(t, rule.from), { code: 'ECONNREFUSED' })
    t.equal(await exchange(caller, 'after'), 'after')
    t.match(engine.sample().rules, [{ ports: [{ active: 1 }] }])
    caller.end()
    t.equal(await endOf(caller), 'fin')
    t.match(await finalCounters(rule.id), { ports: [{ bytesIn: 11, bytesOut: 11, active: 0 }] })
    t.same(engine.sample().rules, [])
  },

  async 'a connection that is still open after the drain is reset'(t, openEngine) {
    const { engine, finalCounters } = engineFixture(t, openEngine)
    const rule = await openEchoRule(t, engine)
    const caller = await openCaller(t, rule.from)
    await exchange(caller, 'before')

    await engine.close(rule.id, 50)

    t.equal(await endOf(caller), 'reset')
    await finalCounters(rule.id)
  },

  async 'closing without a drain resets both sides at once, also during a drain'(t, openEngine) {
    let targetSide: Promise<'fin' | 'reset'> | undefined
    const port = await openTarget(t, socket => {
      socket.write('hello')
      targetSide = endOf(socket)
    })
    const { engine, finalCounters } = engineFixture(t, openEngine)
    const rule = await ruleTo([port])
    await engine.open(rule)
    const caller = await openCaller(t, rule.from)
    await once(caller, 'data')

    await engine.close(rule.id, 60_000)
    await engine.close(rule.id, 0)

    t.equal(await endOf(caller), 'reset')
    t.equal(await targetSide, 'reset')
    t.match(await finalCounters(rule.id), { ports: [{ bytesOut: 5, active: 0 }] })
  },

  async 'a port can be opened again right after it was closed, with connections in TIME_WAIT'(t, openEngine) {
    const port = await openTarget(t, socket => socket.end('bye'))
    const { engine } = engineFixture(t, openEngine)
    const rule = await ruleTo([port])
    await engine.open(rule)
    // The side that closes first, here the engine, keeps the port in TIME_WAIT.
    const callers = await Promise.all(Array.from({ length: 20 }, () => openCaller(t, rule.from)))
    await Promise.all(callers.map(caller => collect(caller)))
    for (const caller of callers) caller.end()
    await until(() => engine.sample().rules.every(counters => portCounters(counters).active === 0))

    await engine.close(rule.id, 0)
    await engine.open(await ruleTo([port], { from: rule.from }))

    t.equal(String(await collect(await openCaller(t, rule.from))), 'bye')
  },

  async 'a port that is closed right after opening stops listening, and can be opened again'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const { from } = await ruleTo([9])

    for (let again = 0; again < 50; again++) {
      const rule = await ruleTo([9], { from })
      await engine.open(rule)
      await engine.close(rule.id, 0)
    }

    await t.rejects(openCaller(t, from), { code: 'ECONNREFUSED' })
  },

  async 'a port is in use if another socket has it on IPv4 or IPv6; the error names the address'(
    t,
    openEngine
  ) {
    const { engine } = engineFixture(t, openEngine)
    for (const host of ['127.0.0.1', '::1', '0.0.0.0']) {
      const from = await freePort()
      const other = createServer().listen(from, host)
      await once(other, 'listening')

      const message = new RegExp(`^${host === '::1' ? '::1' : '127.0.0.1'} port ${from}: `)
      await t.rejects(engine.open(await ruleTo([9], { from })), { code: 'EADDRINUSE', message }, host)

      other.close()
      await engine.open(await ruleTo([9], { from }))
    }
  },

  async 'each port of a range forwards to the matching target port'(t, openEngine) {
    const { engine, counters } = engineFixture(t, openEngine)
    const first = await freePort(3)
    for (const port of [first, first + 1, first + 2])
      await openTarget(t, socket => socket.end(String(port)), { port })
    const from = await freePort(3)
    await engine.open(await ruleTo([first], { from, to: from + 2 }))

    for (const offset of [0, 1, 2])
      t.equal(String(await collect(await openCaller(t, from + offset))), String(first + offset))
    t.match(counters().ports, [{ port: from }, { port: from + 1 }, { port: from + 2, bytesOut: 5 }])
  },

  async 'a range with one port in use opens no port'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const from = await freePort(3)
    const other = createServer().listen(from + 2, '127.0.0.1')
    await once(other, 'listening')
    t.teardown(() => other.close())

    await t.rejects(engine.open(await ruleTo([9], { from, to: from + 2 })), { code: 'EADDRINUSE' })

    await t.rejects(openCaller(t, from), { code: 'ECONNREFUSED' })
    await t.rejects(openCaller(t, from + 1), { code: 'ECONNREFUSED' })
    t.same(engine.sample().rules, [])
  },

  async 'counters move while bytes are delivered'(t, openEngine) {
    const { engine, counters } = engineFixture(t, openEngine)
    const rule = await openEchoRule(t, engine)
    const caller = await openCaller(t, rule.from)

    await exchange(caller, 'hello')

    await until(() => portCounters(counters()).bytesOut === 5)
    t.match(portCounters(counters()), { bytesIn: 5, bytesOut: 5, active: 1 })
  },

  async 'bytes that are not written to the target before a reset are not counted'(t, openEngine) {
    let target: Socket | undefined
    const port = await openTarget(t, socket => {
      target = socket.pause()
    })
    const { engine, counters, finalCounters } = engineFixture(t, openEngine)
    const rule = await ruleTo([port])
    await engine.open(rule)
    const caller = await openCaller(t, rule.from)
    let offered = 0
    const chunk = Buffer.alloc(1024 * 1024)
    while (offered < 64 * chunk.length) {
      caller.write(chunk)
      offered += chunk.length
    }
    await untilStable(() => portCounters(counters()).bytesIn)
    const delivered = portCounters(counters()).bytesIn

    target?.resetAndDestroy()

    t.equal(await endOf(caller), 'reset')
    await engine.close(rule.id, 0)
    const { bytesIn } = portCounters(await finalCounters(rule.id))
    t.equal(bytesIn, delivered)
    t.ok(bytesIn < offered)
  },

  async 'stop resets all connections, reports the final counters, and later opens are refused'(
    t,
    openEngine
  ) {
    const { engine, events } = engineFixture(t, openEngine)
    const rule = await openEchoRule(t, engine)
    const other = await openEchoRule(t, engine)
    const caller = await openCaller(t, rule.from)
    await exchange(caller, 'hello')

    await Promise.all([engine.stop(), engine.stop()])

    t.equal(await endOf(caller), 'reset')
    await t.rejects(openCaller(t, other.from), { code: 'ECONNREFUSED' })
    await t.rejects(engine.open(await ruleTo([9])), { code: 'ESTOPPED' })
    const finalCounters = events.flatMap(event => (event.kind === 'closed' ? [event.counters] : []))
    t.match(
      finalCounters.find(({ ruleId }) => ruleId === rule.id),
      { ports: [{ bytesIn: 5, bytesOut: 5, active: 0 }] }
    )
    t.ok(finalCounters.some(({ ruleId }) => ruleId === other.id))
    t.same(engine.sample().rules, [])
  },

  async 'a stopped engine accepts commands without effect or event'(t, openEngine) {
    const { engine, events } = engineFixture(t, openEngine)
    engine.setMeter(1, unlimited)
    const rule = await ruleTo([9], { meters: [1] })
    await engine.open(rule)
    await engine.stop()
    const before = events.length

    engine.setMeter(1, limited({ connections: 1 }))
    engine.setBudget(1, { mark: 0, holdMs: 0 })
    engine.setFilters(rule.id, { ...noGuards, source: null, target: [] })
    engine.resolved(1, { ok: false, reason: 'timeout' })
    await engine.close(rule.id, 0)
    engine.removeMeter(1)

    await new Promise(setImmediate)
    t.equal(events.length, before)
    t.same(engine.sample().meters, [])
  },

  async 'invalid rules are refused'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const from = await freePort(2)
    const invalid = [
      await ruleTo([]),
      await ruleTo([9], { from: 0, to: 0 }),
      await ruleTo([9], { from: 65_536, to: 65_536 }),
      await ruleTo([9], { from, to: from - 1 }),
      await ruleTo([65_535], { from, to: from + 1 })
    ]

    for (const rule of invalid) await t.rejects(engine.open(rule), { code: 'EINVAL' })
  },

  async 'the id of an open or opening rule is refused with EINVAL'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const rule = await openEchoRule(t, engine)
    const other = await ruleTo([9], { id: rule.id + 1, from: await freePort() })

    await t.rejects(engine.open({ ...other, id: rule.id }), { code: 'EINVAL', message: /already open/ })
    const [first, second] = await Promise.allSettled([engine.open(other), engine.open({ ...other })])

    t.equal(first?.status, 'fulfilled')
    t.match(second, { status: 'rejected', reason: { code: 'EINVAL' } })
    t.equal(await exchange(await openCaller(t, rule.from), 'still here'), 'still here')
  }
}
