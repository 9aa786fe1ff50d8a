// Refused flows: the flow cap, filters, own listeners.
import { freePort } from '../../support/ports.ts'
import { type EngineCase, engineFixture, noGuards, portCounters, until } from '../engine-fixture.ts'
import { openUdpCaller, openUdpRule, openUdpTarget } from './udp-fixture.ts'

export const udpLimits: Record<string, EngineCase> = {
  async 'the flow cap covers all ports of a rule; datagrams of further flows are dropped and counted'(
    t,
    openEngine
  ) {
    const first = await freePort(2)
    const from = await freePort(2)
    for (const port of [first, first + 1]) await openUdpTarget(t, undefined, { port })
    const { engine, counters } = engineFixture(t, openEngine)
    await openUdpRule(engine, [first], { from, to: from + 1, flowCap: 2, idleMs: 400 })
    const [one, two, three] = [
      await openUdpCaller(t, from),
      await openUdpCaller(t, from + 1),
      await openUdpCaller(t, from)
    ] as const
    await one.exchange('one')
    await two.exchange('two')

    three.send('three')

    await until(() => counters().flowsDroppedOverflow === 1)
    t.equal(await one.exchange('still here'), 'still here')
    t.match(counters(), { connectionsTotal: 2, rejected: {} })
    await until(() => counters().ports.every(({ active }) => active === 0))
    t.equal(await three.exchange('now'), 'now')
  },

  async 'a denied source gets no flow'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine, counters } = engineFixture(t, openEngine)
    const source = { allow: [{ cidr: '127.0.0.0/8' }], deny: [], refusal: 'source_denied' }
    const rule = await openUdpRule(engine, [target.port], { source })

    t.equal(await (await openUdpCaller(t, rule.from, '127.0.0.1')).exchange('in'), 'in')
    ;(await openUdpCaller(t, rule.from, '::1')).send('out')

    await until(() => counters().rejected.source_denied === 1)
    t.match(counters(), { connectionsTotal: 1, rejected: { source_denied: 1 } })
  },

  async 'the target filter checks address, port and name of the target of a flow'(t, openEngine) {
    const target = await openUdpTarget(t)
    const names = { 'good.test': { ok: true, addresses: ['::ffff:127.0.0.1'] } } as const
    const { engine, counters } = engineFixture(t, openEngine, { names })
    const refused = async (deny: object) => {
      const filter = { allow: null, deny: [deny], refusal: 'denied_by_agent' }
      const rule = await openUdpRule(engine, [{ host: 'good.test', port: target.port }], { target: [filter] })
      const caller = await openUdpCaller(t, rule.from)
      caller.send('hello')
      await until(() => counters().rejected.denied_by_agent === 1 || caller.received.length === 1)
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

  async 'new filters end exactly the flows that they deny'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine, counters } = engineFixture(t, openEngine)
    const rule = await openUdpRule(engine, [target.port])
    const four = await openUdpCaller(t, rule.from, '127.0.0.1')
    const six = await openUdpCaller(t, rule.from, '::1')
    await four.exchange('hello')
    await six.exchange('hello')
    const deny = (cidr: string) => ({ allow: null, deny: [{ cidr }], refusal: 'source_denied' })

    engine.setFilters(rule.id, { ...noGuards, source: deny('::1'), target: [] })

    await until(() => portCounters(counters()).active === 1)
    t.equal(await four.exchange('still here'), 'still here')
    engine.setFilters(rule.id, { ...noGuards, source: null, target: [deny('127.0.0.1')] })
    await until(() => portCounters(counters()).active === 0)
    t.same(counters().rejected, { source_denied: 2 })
    engine.setFilters(rule.id, { ...noGuards, source: null, target: [] })
    t.equal(await six.exchange('again'), 'again')
  },

  async 'filters that change during a DNS lookup apply to the flow'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine, events, counters } = engineFixture(t, openEngine)
    const rule = await openUdpRule(engine, [{ host: 'late.test', port: target.port }])
    ;(await openUdpCaller(t, rule.from)).send('hello')
    await until(() => events.length > 0)

    engine.setFilters(rule.id, {
      ...noGuards,
      source: null,
      target: [{ allow: [], deny: [], refusal: 'denied_by_agent' }]
    })
    const [lookup] = events
    if (lookup?.kind === 'resolve') engine.resolved(lookup.token, { ok: true, addresses: ['127.0.0.1'] })

    await until(() => portCounters(counters()).active === 0)
    t.match(counters(), { rejected: { denied_by_agent: 1 }, ports: [{ datagramsIn: 0 }] })
  },

  async 'a datagram to a listener of the engine itself is not sent'(t, openEngine) {
    const { engine, counters } = engineFixture(t, openEngine, { bind: ['0.0.0.0', '::'] })
    for (const host of ['127.0.0.1', '0.0.0.0', '::1', '127.0.0.9']) {
      const port = await freePort()
      const rule = await openUdpRule(engine, [{ host, port }], { from: port, to: port })

      ;(await openUdpCaller(t, port)).send('hello')

      await until(() => counters().rejected.loop === 1)
      t.match(counters(), { ports: [{ active: 0, datagramsIn: 0 }] }, host)
      await engine.close(rule.id, 0)
      await until(() => engine.sample().rules.length === 0)
    }
  }
}
