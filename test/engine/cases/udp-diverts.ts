// UDP: other targets for the callers of some sources.
import { freePort } from '../../support/ports.ts'
import { type EngineCase, engineFixture, portCounters, ruleTo, until } from '../engine-fixture.ts'
import { limited, meterTotal, unlimited } from '../meter-fixture.ts'
import { proxyV2, readProxyV2 } from '../preambles.ts'
import { binaryHeader } from '../proxy-headers.ts'
import { nextRecord } from './connection-records.ts'
import { divertTo, rowsOf } from './diverts.ts'
import { proxyFirstRead } from './first-read.ts'
import { openUdpCaller, openUdpRule, openUdpTarget } from './udp-fixture.ts'

const named = (name: string) => (bytes: Buffer) => `${name} ${bytes}`

export const udpDiverts: Record<string, EngineCase> = {
  async 'flows of callers in a set go to the divert, and keep it when the set changes'(t, openEngine) {
    const own = await openUdpTarget(t, named('own'))
    const tarpit = await openUdpTarget(t, named('tarpit'))
    const fixture = engineFixture(t, openEngine)
    const { engine, counters } = fixture
    engine.setMeter(1, unlimited)
    engine.changeAddresses('slow', { add: ['127.0.0.1'], remove: [] })
    const rule = await openUdpRule(engine, [own.port], {
      diverts: [divertTo(tarpit.port, { refusalBeyond: { max: 1, reason: 'tarpit_full' } })],
      meters: [1],
      reportEnds: true
    })
    const slow = await openUdpCaller(t, rule.from)
    t.equal(await slow.exchange('a'), 'tarpit a')
    const beyond = await openUdpCaller(t, rule.from)
    beyond.send('x')
    await until(() => counters().rejected.tarpit_full === 1)
    t.equal(await (await openUdpCaller(t, rule.from, '::1')).exchange('b'), 'own b')

    engine.changeAddresses('slow', { add: [], remove: ['127.0.0.1'] })
    t.equal(await slow.exchange('c'), 'tarpit c')
    t.equal(await beyond.exchange('d'), 'own d')
    await until(() => portCounters(counters()).bytesIn === 4)
    t.match(counters(), {
      connectionsTotal: 3,
      targets: [{ active: 2, connectionsTotal: 2, bytesIn: 2, bytesOut: 10 }],
      diverts: [{ name: 'tarpit', active: 1, connectionsTotal: 1, bytesIn: 2, bytesOut: 16 }]
    })
    t.equal(meterTotal(engine, 1), 4 + 26)
    const row = rowsOf(engine).find(({ divert }) => divert === 'tarpit')
    t.match(row, { target: { port: tarpit.port, index: 0 }, bytesIn: 2 })

    engine.endConnections({ ids: [row?.id ?? 0], rules: null, sources: null, target: null })
    t.match(await nextRecord(fixture, 0), { divert: 'tarpit', target: { port: tarpit.port } })
    t.match(counters().diverts, [{ active: 0 }])
    engine.changeAddresses('slow', { add: ['127.0.0.1'], remove: [] })
    t.equal(await slow.exchange('e'), 'tarpit e', 'the place is free again')
  },

  async 'the address in the header of a proxy decides, and the preamble names it to the divert'(
    t,
    openEngine
  ) {
    const own = await openUdpTarget(t, named('own'))
    const tarpit = await openUdpTarget(t, bytes => `tarpit ${readProxyV2(bytes).rest}`)
    const { engine } = engineFixture(t, openEngine)
    engine.changeAddresses('slow', { add: ['192.0.2.1'], remove: [] }) // of the header
    const rule = await openUdpRule(engine, [own.port], {
      firstRead: proxyFirstRead,
      preamble: proxyV2('udp'),
      diverts: [divertTo(tarpit.port)]
    })
    const caller = await openUdpCaller(t, rule.from)
    const header = binaryHeader({ kind: 0x12 })
    t.equal(await caller.exchange(Buffer.concat([header, Buffer.from('a')])), 'tarpit a')
    t.equal(engine.divertOf(rule.id, '127.0.0.1'), null, 'the proxy itself is not diverted')
  },

  async 'a rule that replaces another continues the count of a divert'(t, openEngine) {
    const own = await openUdpTarget(t, named('own'))
    const tarpit = await openUdpTarget(t, named('tarpit'))
    const { engine } = engineFixture(t, openEngine)
    engine.changeAddresses('slow', { add: ['127.0.0.1'], remove: [] })
    const diverts = [divertTo(tarpit.port, { refusalBeyond: { max: 1, reason: 'tarpit_full' } })]
    const before = await openUdpRule(engine, [own.port], { diverts })
    const first = await openUdpCaller(t, before.from)
    t.equal(await first.exchange('a'), 'tarpit a')
    const after = await ruleTo([own.port], { ...before, id: before.id + 10_000, idleMs: 50_000 })
    await engine.open({ ...after, targets: before.targets }, before.id)
    await engine.close(before.id, null)

    t.equal(await first.exchange('b'), 'tarpit b')
    const second = await openUdpCaller(t, before.from)
    second.send('x')
    await until(() => engine.sample().rules.some(({ rejected }) => rejected.tarpit_full === 1))
    engine.endConnections({ ids: null, rules: null, sources: null, target: null })
    t.equal(await second.exchange('c'), 'tarpit c')
  },

  async 'a divert that is silent or refuses tells nothing about the rule’s own targets'(t, openEngine) {
    const own = await openUdpTarget(t, named('own'))
    const silent = await openUdpTarget(t, () => null)
    const answering = await openUdpTarget(t, named('tarpit'))
    const { engine, events, counters } = engineFixture(t, openEngine)
    engine.setMeter(1, limited({}))
    engine.changeAddresses('slow', { add: ['127.0.0.1'], remove: [] })
    engine.changeAddresses('down', { add: ['::1'], remove: [] })
    const targets = [silent.port, answering.port].map(port => ({ host: '127.0.0.1', port }))
    const rule = await openUdpRule(engine, [own.port], {
      unansweredMs: 500,
      diverts: [
        divertTo(silent.port, { targets }),
        divertTo(await freePort(), { name: 'down', from: ['down'] })
      ]
    })
    const refused = await openUdpCaller(t, rule.from, '::1')
    for (let flows = 1; flows <= 3; flows++) {
      refused.send('x')
      await until(() => counters().connectionsTotal >= flows && portCounters(counters()).active === 0)
    }
    const caller = await openUdpCaller(t, rule.from)
    const ticks = setInterval(() => caller.send('y'), 20)
    t.teardown(() => clearInterval(ticks))
    await until(() => caller.received.length > 0)
    clearInterval(ticks)
    t.equal(String(caller.received[0]), 'tarpit y', 'it goes to the next target of the divert')
    t.match(counters(), {
      targetFailovers: 0,
      targets: [{ health: 'unknown', failures: 0, connectionsTotal: 0, bytesIn: 0, bytesOut: 0 }]
    })
    t.equal(own.received.length, 0)
    const kinds = new Set(events.map(({ kind }) => kind))
    for (const kind of ['target-health', 'flow-redialed', 'flow-evicted'] as const)
      t.notOk(kinds.has(kind), `no ${kind}`)
  }
}
