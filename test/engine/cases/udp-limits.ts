// What keeps datagrams and flows out: the cap, filters, own listeners.
import { freePort } from '../../support/ports.ts'
import { type Case, portCounters, rig, until } from '../rig.ts'
import { openUdpRule, openUdpTarget, talk } from './udp-kit.ts'

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

    engine.setFilters(rule.id, { source: deny('::1'), target: [] })

    await until(() => portCounters(counters()).active === 1)
    t.equal(await four.ask('still here'), 'still here')
    engine.setFilters(rule.id, { source: null, target: [deny('127.0.0.1')] })
    await until(() => portCounters(counters()).active === 0)
    t.same(counters().rejected, { source_denied: 2 })
    engine.setFilters(rule.id, { source: null, target: [] })
    t.equal(await six.ask('again'), 'again')
  },

  async 'filters that change while a name is asked for are the ones that judge'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine, events, counters } = rig(t, openEngine)
    const rule = await openUdpRule(engine, [{ host: 'late.test', port: target.port }])
    ;(await talk(t, rule.from)).say('hello')
    await until(() => events.length > 0)

    engine.setFilters(rule.id, {
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
  }
}
