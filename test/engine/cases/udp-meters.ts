// Meters: byte rates and budgets drop datagrams; limits of connections and of new connections refuse flows.
import type { Test } from 'tap'
import type { EngineRule, Meter } from '../../../agent/engine/engine.ts'
import { type EngineCase, engineFixture, type OpenEngine, until } from '../engine-fixture.ts'
import { limited, unlimited } from '../meter-fixture.ts'
import { openUdpCaller, openUdpRule, openUdpTarget } from './udp-fixture.ts'

let lastMeter = 0

/** Opens a rule with one meter to an echo target, and a caller. */
const openMetered = async (t: Test, openEngine: OpenEngine, limits: Partial<Meter>) => {
  const target = await openUdpTarget(t)
  const fixture = engineFixture(t, openEngine)
  const { engine } = fixture
  const id = ++lastMeter
  engine.setMeter(id, limited(limits))
  const rule = await openUdpRule(engine, [target.port], { meters: [id] })
  const meterCounters = () => engine.sample().meters.find(meter => meter.id === id)
  return { ...fixture, id, rule, target, meterCounters, caller: await openUdpCaller(t, rule.from) }
}

export const udpMeters: Record<string, EngineCase> = {
  async 'connection limits of a meter count flows'(t, openEngine) {
    const { engine, id, rule, caller, counters, meterCounters } = await openMetered(t, openEngine, {
      connections: 1
    })
    const other = await openUdpCaller(t, rule.from)
    await caller.exchange('first')

    other.send('one too many')
    await until(() => counters().rejected.too_many === 1)
    engine.setMeter(id, limited({ newConnections: { perSec: 0.001, burst: 1 } }))
    await other.exchange('second')
    ;(await openUdpCaller(t, rule.from)).send('too soon')

    await until(() => counters().rejected.too_fast === 1)
    t.equal(await caller.exchange('still here'), 'still here')
    t.match(meterCounters(), { active: 2, bytesIn: 21, bytesOut: 21 })
    await engine.close(rule.id, 0)
    await until(() => meterCounters()?.active === 0)
  },

  async 'the tokens of a datagram that the system rejects are returned'(t, openEngine) {
    const { rule, counters } = await openMetered(t, openEngine, {
      bytesIn: { perSec: 0.001, burst: 65_522 }
    })
    const caller = await openUdpCaller(t, rule.from, '::1')

    caller.send(Buffer.alloc(65_520)) // over the IPv4 maximum
    await until(() => counters().rejected['datagram_too_large'] === 1)

    t.equal(await caller.exchange('after it'), 'after it')
  },

  async 'datagrams above a byte rate are dropped and counted in each direction, also on live flows'(
    t,
    openEngine
  ) {
    const { engine, id, caller, counters, meterCounters, target } = await openMetered(t, openEngine, {})
    const bytes = Buffer.alloc(1_000)
    await caller.exchange(bytes)

    engine.setMeter(id, limited({ bytesIn: { perSec: 1, burst: 2_500 } }))
    for (let i = 0; i < 5; i++) caller.send(bytes)
    await until(() => counters().rejected.too_much === 3)
    await until(() => caller.received.length === 3)
    t.equal(target.received.length, 3)
    engine.setMeter(id, limited({ bytesOut: { perSec: 1, burst: 1_500 } }))
    for (let i = 0; i < 5; i++) caller.send(bytes)
    await until(() => counters().rejected.too_much === 7)
    await until(() => caller.received.length === 4)
    engine.setMeter(id, unlimited)
    await caller.exchange(bytes)

    t.match(counters(), { connectionsTotal: 1, ports: [{ datagramsIn: 9, datagramsOut: 5 }] })
    t.match(meterCounters(), { bytesIn: 9_000, bytesOut: 5_000 })
  },

  async 'a datagram larger than the burst is always dropped'(t, openEngine) {
    const { caller, counters } = await openMetered(t, openEngine, { bytesIn: { perSec: 1e9, burst: 500 } })

    caller.send(Buffer.alloc(501))

    await until(() => counters().rejected.too_much === 1)
    t.equal(await caller.exchange(Buffer.alloc(500)).then(({ length }) => length), 500)
  },

  async 'an exhausted budget drops datagrams and new flows, is reported once, and can be lifted'(
    t,
    openEngine
  ) {
    const { engine, events, id, rule, caller, counters, meterCounters } = await openMetered(t, openEngine, {})
    const emptyEvents = () => events.filter(({ kind }) => kind === 'meter-empty').length
    engine.setBudget(id, { mark: 10, holdMs: 20 })

    await caller.exchange('12345')

    await until(() => emptyEvents() === 1)
    t.match(meterCounters(), { bytesIn: 5, bytesOut: 5, active: 1 })
    caller.send('more')
    await until(() => counters().rejected.spent === 1)
    ;(await openUdpCaller(t, rule.from)).send('me too')
    await until(() => counters().rejected.spent === 2)
    t.match(counters(), { connectionsTotal: 1, ports: [{ active: 1, datagramsIn: 1 }] })

    engine.setBudget(id, null)
    t.equal(await caller.exchange('again'), 'again')
    t.equal(counters().connectionsTotal, 1, 'the flow was kept')
    t.equal(emptyEvents(), 1)
  },

  async 'the datagram that crosses the mark passes whole and exhausts the budget'(t, openEngine) {
    const { engine, events, id, caller, counters, meterCounters } = await openMetered(t, openEngine, {})
    engine.setBudget(id, { mark: 150, holdMs: 1_000 })

    caller.send(Buffer.alloc(100))
    await until(() => caller.received.length === 1)
    caller.send(Buffer.alloc(100))

    await until(() => counters().rejected.spent === 1)
    t.ok(events.some(event => event.kind === 'meter-empty' && event.meterId === id))
    t.match(meterCounters(), { bytesIn: 100, bytesOut: 100 })
    engine.setBudget(id, { mark: 400, holdMs: 1_000 })
    await caller.exchange(Buffer.alloc(100))
    t.match(meterCounters(), { bytesIn: 200, bytesOut: 200 })
  },

  async 'each meter can drop a datagram, and a drop consumes nothing from the others'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine, counters } = engineFixture(t, openEngine)
    const outer = ++lastMeter
    const inner = ++lastMeter
    const limitedTo = (burst: number, bytes: string) =>
      limited({ bytesIn: { perSec: 0.001, burst }, refusals: { ...unlimited.refusals, bytes } })
    engine.setMeter(outer, limitedTo(1_000, 'outer'))
    engine.setMeter(inner, limitedTo(300, 'inner'))
    const both = await openUdpRule(engine, [target.port], { meters: [outer, inner] })
    const one = await openUdpRule(engine, [target.port], { meters: [outer] })
    const caller = await openUdpCaller(t, both.from)

    for (let i = 0; i < 5; i++) caller.send(Buffer.alloc(200))
    await until(() => counters().rejected.inner === 4)
    const other = await openUdpCaller(t, one.from)
    for (let i = 0; i < 4; i++) await other.exchange(Buffer.alloc(200))
    other.send(Buffer.alloc(200))

    await until(() => ruleOf(engine.sample().rules, one)?.rejected.outer === 1)
    t.same(counters().rejected, { inner: 4 })
  },

  async 'a rule with an unknown meter is refused'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)

    await t.rejects(openUdpRule(engine, [9], { meters: [999_999] }), { code: 'EINVAL' })

    t.same(engine.sample().rules, [])
  }
}

const ruleOf = <T extends { readonly ruleId: number }>(rules: readonly T[], { id }: EngineRule) =>
  rules.find(({ ruleId }) => ruleId === id)
