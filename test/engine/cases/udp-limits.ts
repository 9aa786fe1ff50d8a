// What keeps datagrams and flows out: the cap, filters, meters, budgets, own listeners.
import type { EngineRule, Meter } from '../../../agent/engine.ts'
import { freePort } from '../../kit/ports.ts'
import { type Case, portCounters, rig, until } from '../rig.ts'
import { openUdpRule, openUdpTarget, talk } from './udp-kit.ts'

const open: Meter = {
  bytesIn: null,
  bytesOut: null,
  connections: null,
  newConnections: null,
  refusals: {
    connections: 'too_many',
    newConnections: 'too_fast',
    bytes: 'too_much',
    budget: 'spent'
  }
}

let lastMeter = 0

/** A rule to an echo behind one meter, and a caller. */
const behind = async (t: Parameters<Case>[0], openEngine: Parameters<Case>[1], meter: Partial<Meter>) => {
  const target = await openUdpTarget(t)
  const on = rig(t, openEngine)
  const id = ++lastMeter
  on.engine.meter(id, { ...open, ...meter })
  const rule = await openUdpRule(on.engine, [target.port], { meters: [id] })
  const counted = () => on.engine.sample().meters.find(meter => meter.id === id)
  return { ...on, id, rule, target, counted, caller: await talk(t, rule.from) }
}

export const udpLimits: Record<string, Case> = {
  async 'the cap is of the rule over all its ports; what exceeds it is dropped and counted'(t, openEngine) {
    const first = await freePort(2)
    const from = await freePort(2)
    for (const port of [first, first + 1]) await openUdpTarget(t, undefined, { port })
    const { engine, counters } = rig(t, openEngine)
    await openUdpRule(engine, [first], { from, to: from + 1, flowCap: 2, idleMs: 400 })
    const [one, two, three] = [await talk(t, from), await talk(t, from + 1), await talk(t, from)] as const
    await one.ask('one')
    await two.ask('two')

    three.say('three')

    await until(() => counters().flowsDroppedOverflow === 1)
    t.equal(await one.ask('still here'), 'still here')
    t.match(counters(), { connectionsTotal: 2, rejected: {} })
    await until(() => counters().ports.every(({ active }) => active === 0))
    t.equal(await three.ask('now'), 'now')
  },

  async 'a source that is denied has no flow'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine, counters } = rig(t, openEngine)
    const source = { allow: [{ cidr: '127.0.0.0/8' }], deny: [], refusal: 'source_denied' }
    const rule = await openUdpRule(engine, [target.port], { source })

    t.equal(await (await talk(t, rule.from, '127.0.0.1')).ask('in'), 'in')
    ;(await talk(t, rule.from, '::1')).say('out')

    await until(() => counters().rejected.source_denied === 1)
    t.match(counters(), { connectionsTotal: 1, rejected: { source_denied: 1 } })
  },

  async 'a flow is judged on the address that it is sent to, by address, port and name'(t, openEngine) {
    const target = await openUdpTarget(t)
    const names = { 'good.test': { ok: true, addresses: ['::ffff:127.0.0.1'] } } as const
    const { engine, counters } = rig(t, openEngine, { names })
    const refused = async (deny: object) => {
      const filter = { allow: null, deny: [deny], refusal: 'denied_by_agent' }
      const rule = await openUdpRule(engine, [{ host: 'good.test', port: target.port }], { target: [filter] })
      const caller = await talk(t, rule.from)
      caller.say('hello')
      await until(() => counters().rejected.denied_by_agent === 1 || caller.heard.length === 1)
      const { rejected, ports } = counters()
      await engine.close(rule.id, 0)
      await until(() => engine.sample().rules.length === 0)
      return rejected.denied_by_agent === 1 && ports[0]?.active === 0
    }

    t.equal(await refused({ cidr: '127.0.0.0/8' }), true)
    t.equal(await refused({ cidr: '127.0.0.1', ports: [target.port, target.port] }), true)
    t.equal(await refused({ host: 'good.test' }), true)
    t.equal(await refused({ cidr: '127.0.0.1', ports: [1, 9] }), false)
  },

  async 'new filters end the flows that they no longer allow, and no others'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine, counters } = rig(t, openEngine)
    const rule = await openUdpRule(engine, [target.port])
    const four = await talk(t, rule.from, '127.0.0.1')
    const six = await talk(t, rule.from, '::1')
    await four.ask('hello')
    await six.ask('hello')
    const deny = (cidr: string) => ({ allow: null, deny: [{ cidr }], refusal: 'source_denied' })

    engine.filter(rule.id, { source: deny('::1'), target: [] })

    await until(() => portCounters(counters()).active === 1)
    t.equal(await four.ask('still here'), 'still here')
    engine.filter(rule.id, { source: null, target: [deny('127.0.0.1')] })
    await until(() => portCounters(counters()).active === 0)
    t.same(counters().rejected, { source_denied: 2 })
    engine.filter(rule.id, { source: null, target: [] })
    t.equal(await six.ask('again'), 'again')
  },

  async 'filters that change while a name is asked for are the ones that judge'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine, events, counters } = rig(t, openEngine)
    const rule = await openUdpRule(engine, [{ host: 'late.test', port: target.port }])
    ;(await talk(t, rule.from)).say('hello')
    await until(() => events.length > 0)

    engine.filter(rule.id, {
      source: null,
      target: [{ allow: [], deny: [], refusal: 'denied_by_agent' }]
    })
    const [question] = events
    if (question?.kind === 'resolve') engine.resolved(question.token, { ok: true, addresses: ['127.0.0.1'] })

    await until(() => portCounters(counters()).active === 0)
    t.match(counters(), { rejected: { denied_by_agent: 1 }, ports: [{ datagramsIn: 0 }] })
  },

  async 'a datagram to an own listener is not sent'(t, openEngine) {
    const { engine, counters } = rig(t, openEngine, { bind: ['0.0.0.0', '::'] })
    for (const host of ['127.0.0.1', '0.0.0.0', '::1', '127.0.0.9']) {
      const port = await freePort()
      const rule = await openUdpRule(engine, [{ host, port }], { from: port, to: port })

      ;(await talk(t, port)).say('hello')

      await until(() => counters().rejected.loop === 1)
      t.match(counters(), { ports: [{ active: 0, datagramsIn: 0 }] }, host)
      await engine.close(rule.id, 0)
      await until(() => engine.sample().rules.length === 0)
    }
  },

  async 'flows are connections to a meter: at once, and new ones in a second'(t, openEngine) {
    const { engine, id, rule, caller, counters, counted } = await behind(t, openEngine, { connections: 1 })
    const other = await talk(t, rule.from)
    await caller.ask('first')

    other.say('one too many')
    await until(() => counters().rejected.too_many === 1)
    engine.meter(id, { ...open, newConnections: { perSec: 0.001, burst: 1 } })
    await other.ask('second')
    ;(await talk(t, rule.from)).say('too soon')

    await until(() => counters().rejected.too_fast === 1)
    t.equal(await caller.ask('still here'), 'still here')
    t.match(counted(), { active: 2, bytesIn: 21, bytesOut: 21 })
    await engine.close(rule.id, 0)
    await until(() => counted()?.active === 0)
  },

  async 'what exceeds a byte rate is dropped and counted, on live flows, each way'(t, openEngine) {
    const { engine, id, caller, counters, counted, target } = await behind(t, openEngine, {})
    const bytes = Buffer.alloc(1_000)
    await caller.ask(bytes)

    engine.meter(id, { ...open, bytesIn: { perSec: 1, burst: 2_500 } })
    for (let i = 0; i < 5; i++) caller.say(bytes)
    await until(() => counters().rejected.too_much === 3)
    await until(() => caller.heard.length === 3)
    t.equal(target.heard.length, 3)
    engine.meter(id, { ...open, bytesOut: { perSec: 1, burst: 1_500 } })
    for (let i = 0; i < 5; i++) caller.say(bytes)
    await until(() => counters().rejected.too_much === 7)
    await until(() => caller.heard.length === 4)
    engine.meter(id, open)
    await caller.ask(bytes)

    t.match(counters(), { connectionsTotal: 1, ports: [{ datagramsIn: 9, datagramsOut: 5 }] })
    t.match(counted(), { bytesIn: 9_000, bytesOut: 5_000 })
  },

  async 'a datagram larger than the burst never passes'(t, openEngine) {
    const { caller, counters } = await behind(t, openEngine, { bytesIn: { perSec: 1e9, burst: 500 } })

    caller.say(Buffer.alloc(501))

    await until(() => counters().rejected.too_much === 1)
    t.equal(await caller.ask(Buffer.alloc(500)).then(({ length }) => length), 500)
  },

  async 'a spent budget drops datagrams and new flows, says so once, and lets pass again'(t, openEngine) {
    const { engine, events, id, rule, caller, counters, counted } = await behind(t, openEngine, {})
    const empties = () => events.filter(({ kind }) => kind === 'meter-empty').length
    engine.budget(id, { mark: 10, holdMs: 20 })

    await caller.ask('12345')

    await until(() => empties() === 1)
    t.match(counted(), { bytesIn: 5, bytesOut: 5, active: 1 })
    caller.say('more')
    await until(() => counters().rejected.spent === 1)
    ;(await talk(t, rule.from)).say('me too')
    await until(() => counters().rejected.spent === 2)
    t.match(counters(), { connectionsTotal: 1, ports: [{ active: 1, datagramsIn: 1 }] })

    engine.budget(id, null)
    t.equal(await caller.ask('again'), 'again')
    t.equal(counters().connectionsTotal, 1, 'the flow has lived on')
    t.equal(empties(), 1)
  },

  async 'the datagram that crosses the mark passes whole, and shuts the meter'(t, openEngine) {
    const { engine, events, id, caller, counters, counted } = await behind(t, openEngine, {})
    engine.budget(id, { mark: 150, holdMs: 1_000 })

    caller.say(Buffer.alloc(100))
    await until(() => caller.heard.length === 1)
    caller.say(Buffer.alloc(100))

    await until(() => counters().rejected.spent === 1)
    t.ok(events.some(event => event.kind === 'meter-empty' && event.meterId === id))
    t.match(counted(), { bytesIn: 100, bytesOut: 100 })
    engine.budget(id, { mark: 400, holdMs: 1_000 })
    await caller.ask(Buffer.alloc(100))
    t.match(counted(), { bytesIn: 200, bytesOut: 200 })
  },

  async 'of several meters each has its say, and a refusal by one costs the others nothing'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine, counters } = rig(t, openEngine)
    const [outer, inner] = [++lastMeter, ++lastMeter]
    const named = (name: string) => ({ ...open, refusals: { ...open.refusals, bytes: name } })
    engine.meter(outer, { ...named('outer'), bytesIn: { perSec: 0.001, burst: 1_000 } })
    engine.meter(inner, { ...named('inner'), bytesIn: { perSec: 0.001, burst: 300 } })
    const both = await openUdpRule(engine, [target.port], { meters: [outer, inner] })
    const one = await openUdpRule(engine, [target.port], { meters: [outer] })
    const caller = await talk(t, both.from)

    for (let i = 0; i < 5; i++) caller.say(Buffer.alloc(200))
    await until(() => counters().rejected.inner === 4)
    const other = await talk(t, one.from)
    for (let i = 0; i < 4; i++) await other.ask(Buffer.alloc(200))
    other.say(Buffer.alloc(200))

    await until(() => ruleOf(engine.sample().rules, one)?.rejected.outer === 1)
    t.same(counters().rejected, { inner: 4 })
  },

  async 'a rule whose meter is not there is refused'(t, openEngine) {
    const { engine } = rig(t, openEngine)

    await t.rejects(openUdpRule(engine, [9], { meters: [999_999] }), { code: 'EINVAL' })

    t.same(engine.sample().rules, [])
  }
}

const ruleOf = <T extends { readonly ruleId: number }>(rules: readonly T[], { id }: EngineRule) =>
  rules.find(({ ruleId }) => ruleId === id)
