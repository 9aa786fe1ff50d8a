// Preambles of flows: in front of the first datagram, or of each.
import type { Preamble } from '../../../agent/engine/preamble.ts'
import { type EngineCase, engineFixture, portCounters, until } from '../engine-fixture.ts'
import { proxyV2, readProxyV2 } from '../preambles.ts'
import { openUdpCaller, openUdpRule, openUdpTarget } from './udp-fixture.ts'

export const udpPreamble: Record<string, EngineCase> = {
  async 'the preamble precedes only the first datagram of a flow'(t, openEngine) {
    const target = await openUdpTarget(t, bytes => String(bytes.length))
    const { engine, counters } = engineFixture(t, openEngine)
    const rule = await openUdpRule(engine, [target.port], { preamble: proxyV2('udp') })
    for (const [host, kind] of [
      ['127.0.0.1', 0x12],
      ['::1', 0x22]
    ] as const) {
      const caller = await openUdpCaller(t, rule.from, host)
      const before = target.received.length
      await caller.exchange('first')
      t.equal(await caller.exchange('second'), '6')

      const header = readProxyV2(target.received[before]?.bytes ?? Buffer.alloc(0))
      t.match(header, { kind, ports: [caller.port, rule.from], isIntact: true })
      t.equal(String(header.rest), 'first')
      t.equal(String(target.received[before + 1]?.bytes), 'second')
    }
    await until(() => portCounters(counters()).bytesIn === 22)
  },

  async 'the preamble precedes each datagram if the rule asks for it, in order'(t, openEngine) {
    const target = await openUdpTarget(t, () => null)
    const { engine, counters } = engineFixture(t, openEngine)
    const rule = await openUdpRule(engine, [target.port], { preamble: proxyV2('udp', 'each') })
    const caller = await openUdpCaller(t, rule.from)
    const sent = Array.from({ length: 20 }, (_, at) => `datagram ${at}`)
    for (const text of sent) caller.send(text)

    await until(() => target.received.length === sent.length)
    const headers = target.received.map(({ bytes }) => readProxyV2(bytes))
    t.ok(headers.every(({ isIntact, ports: [port] }) => isIntact && port === caller.port))
    t.same(
      headers.map(({ rest }) => String(rest)),
      sent
    )
    const bytes = sent.join('').length
    await until(() => portCounters(counters()).bytesIn === bytes)
  },

  async 'a datagram that is too long with its preamble is dropped and counted'(t, openEngine) {
    const target = await openUdpTarget(t, () => null)
    const { engine, counters } = engineFixture(t, openEngine)
    const bytes = Buffer.alloc(1_000, '-')
    const preamble: Preamble = { ipv4: [{ bytes }], ipv6: [], datagrams: 'first' }
    const rule = await openUdpRule(engine, [target.port], { preamble })
    const caller = await openUdpCaller(t, rule.from)

    caller.send(Buffer.alloc(64_508))
    await until(() => counters().rejected['datagram_too_large'] === 1)
    caller.send(Buffer.alloc(64_507, '+'))
    await until(() => target.received.length === 1)

    t.ok(target.received[0]?.bytes.equals(Buffer.concat([bytes, Buffer.alloc(64_507, '+')])))
    await until(() => portCounters(counters()).bytesIn === 64_507)
  }
}
