// Losses are counted by reason.
import { freePort } from '../../support/ports.ts'
import { type EngineCase, endOf, engineFixture, openCaller, ruleTo, until } from '../engine-fixture.ts'
import { openUdpCaller, openUdpRule, openUdpTarget } from './udp-fixture.ts'

export const losses: Record<string, EngineCase> = {
  async 'callers are counted when all targets are down'(t, openEngine) {
    const { engine, counters } = engineFixture(t, openEngine)
    const rule = await ruleTo([await freePort(), await freePort()])
    await engine.open(rule)

    for (let caller = 0; caller < 5; caller++) t.equal(await endOf(await openCaller(t, rule.from)), 'reset')

    await until(() => counters().rejected.no_target === 5)
    t.same(counters().rejected, { no_target: 5 })
  }
}

export const udpLosses: Record<string, EngineCase> = {
  async 'datagrams to a target without an address are counted'(t, openEngine) {
    const { engine, events, counters } = engineFixture(t, openEngine)
    const rule = await openUdpRule(engine, [{ host: 'gone.test', port: 9 }])
    const caller = await openUdpCaller(t, rule.from)
    for (let i = 0; i < 3; i++) caller.send('hello')
    await until(() => events.length > 0)
    const other = await openUdpCaller(t, rule.from)
    other.send('after them') // once this arrives, all earlier ones have arrived
    await until(() => events.length > 1)

    for (const event of events)
      if (event.kind === 'resolve') engine.resolved(event.token, { ok: false, reason: 'nxdomain' })

    await until(() => counters().dnsFailures === 2)
    t.same(counters().rejected, { no_target: 4 })
  },

  async 'a datagram too large for the other side is counted as such, not as delivered, in each direction'(
    t,
    openEngine
  ) {
    const large = Buffer.alloc(65_520) // over the IPv4 maximum
    const ipv4 = await openUdpTarget(t)
    const ipv6 = await openUdpTarget(t, bytes => (String(bytes) === 'more' ? large : bytes), { host: '::1' })
    const { engine, finalCounters } = engineFixture(t, openEngine)
    const toIpv4 = await openUdpRule(engine, [ipv4.port])
    const toIpv6 = await openUdpRule(engine, [{ host: '::1', port: ipv6.port }])

    const sender = await openUdpCaller(t, toIpv4.from, '::1')
    sender.send(large)
    t.equal(await sender.exchange('after it'), 'after it')
    const asker = await openUdpCaller(t, toIpv6.from)
    asker.send('more')
    t.equal(await asker.exchange('after it'), 'after it')

    const rejected = { datagram_too_large: 1 }
    for (const rule of [toIpv4, toIpv6]) await engine.close(rule.id, 0)
    t.match(await finalCounters(toIpv4.id), {
      ports: [{ datagramsIn: 1, bytesIn: 8, datagramsOut: 1 }],
      rejected
    })
    t.match(await finalCounters(toIpv6.id), {
      ports: [{ datagramsIn: 2, datagramsOut: 1, bytesOut: 8 }],
      rejected
    })
  },

  async 'excess datagrams during a DNS lookup are counted'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine, events, counters } = engineFixture(t, openEngine)
    const rule = await openUdpRule(engine, [{ host: 'late.test', port: target.port }])
    const caller = await openUdpCaller(t, rule.from)
    for (let i = 0; i < 70; i++) caller.send('hello')

    await until(() => events.length > 0 && counters().rejected.pending_overflow === 6)
    for (const event of events)
      if (event.kind === 'resolve') engine.resolved(event.token, { ok: true, addresses: ['127.0.0.1'] })
    await until(() => target.received.length === 64)
    t.same(counters().rejected, { pending_overflow: 6 })
  }
}
