// First reads of flows: the first datagram has a header, later ones may have one.
import type { Test } from 'tap'
import type { EngineRule } from '../../../agent/engine/engine.ts'
import { freePort } from '../../support/ports.ts'
import {
  type EngineCase,
  type EngineFixture,
  engineFixture,
  type OpenEngine,
  portCounters,
  until
} from '../engine-fixture.ts'
import { proxyV1 } from '../preambles.ts'
import { binaryHeader, headerCases, ipv6, signature } from '../proxy-headers.ts'
import { proxyFirstRead } from './first-read.ts'
import { openUdpCaller, openUdpRule, openUdpTarget, type UdpTarget } from './udp-fixture.ts'

async function open(
  t: Test,
  openEngine: OpenEngine,
  changes: Partial<EngineRule> = {}
): Promise<EngineFixture & { rule: EngineRule; target: UdpTarget }> {
  const target = await openUdpTarget(t)
  const fixture = engineFixture(t, openEngine)
  const rule = await openUdpRule(fixture.engine, [target.port], { firstRead: proxyFirstRead, ...changes })
  return { ...fixture, rule, target }
}

const headers = Object.values(headerCases)
  .filter(({ bytes }) => bytes.indexOf(signature) === 0)
  .map(({ bytes, means, inDatagrams = means }) => ({ bytes, means: inDatagrams }))
const behind = (header: Buffer, text: string) => Buffer.concat([header, Buffer.from(text)])

export const udpFirstRead: Record<string, EngineCase> = {
  async 'the header of the first datagram of a flow is removed'(t, openEngine) {
    const { rule, target, counters } = await open(t, openEngine, { preamble: proxyV1 })
    for (const [host, header, line] of [
      ['127.0.0.1', binaryHeader({ kind: 0x12 }), 'PROXY TCP4 192.0.2.1 198.51.100.7 12345 443\r\n'],
      ['::1', binaryHeader({ kind: 0x22, block: ipv6 }), 'PROXY TCP6 2001:db8:: 2001:db8:1:: 12345 443\r\n']
    ] as const) {
      const caller = await openUdpCaller(t, rule.from, host)
      t.equal(await caller.exchange(behind(header, 'first')), `${line}first`)
      t.equal(await caller.exchange('second'), 'second')
      t.equal(await caller.exchange(behind(header, 'third')), 'third')
      caller.send(header)
      await until(() => target.received.at(-1)?.bytes.length === 0)
    }
    const sent = 2 * 'firstsecondthird'.length
    await until(() => portCounters(counters()).bytesIn === sent)
    t.match(portCounters(counters()), { datagramsIn: 8, active: 2 })
    t.match(counters(), { rejected: {} })
  },

  async 'each header of the table has the same result in the first datagram and in a later one'(
    t,
    openEngine
  ) {
    const { rule, target, counters } = await open(t, openEngine)
    const later = await openUdpCaller(t, rule.from)
    await later.exchange(behind(binaryHeader(), 'flow'))
    let refused = 0
    for (const { bytes, means } of headers) {
      const first = await openUdpCaller(t, rule.from)
      if (means === 'wrong') {
        refused += 2
        first.send(behind(bytes, 'text'))
        later.send(behind(bytes, 'text'))
        await until(() => counters().rejected['no_header'] === refused)
      } else {
        t.equal(await first.exchange(behind(bytes, 'text')), 'text')
        t.equal(await later.exchange(behind(bytes, 'text')), 'text')
      }
      first.close()
    }
    const right = headers.filter(({ means }) => means !== 'wrong').length
    t.equal(target.received.length, 1 + 2 * right)
  },

  async 'a flow is refused if its first header is missing, has version 1, or has an untrusted sender'(
    t,
    openEngine
  ) {
    const { rule, target, counters } = await open(t, openEngine, {
      firstRead: { ...proxyFirstRead, from: ['127.0.0.1'] }
    })
    const caller = await openUdpCaller(t, rule.from)
    const other = await openUdpCaller(t, rule.from, '::1')
    caller.send('no header')
    caller.send(headerCases['version 1, IPv4']?.bytes ?? '')
    other.send(behind(binaryHeader(), 'untrusted'))
    await until(() => counters().rejected['not_a_proxy'] === 1 && counters().rejected['no_header'] === 2)

    t.equal(await caller.exchange(behind(binaryHeader(), 'with one')), 'with one')
    const text = String(headerCases['version 1, IPv4']?.bytes)
    t.equal(await caller.exchange(text), text, 'in a running flow it is payload')
    t.equal(target.received.length, 2)
    t.match(counters(), { connectionsTotal: 1 })
  },

  async 'filters and records use the address of the first header of a flow'(t, openEngine) {
    const { engine, rule, events, counters } = await open(t, openEngine, {
      reportEnds: true,
      source: { allow: null, deny: [{ cidr: '2001:db8::/32' }], refusal: 'denied' }
    })
    const denied = await openUdpCaller(t, rule.from)
    denied.send(behind(binaryHeader({ kind: 0x22, block: ipv6 }), 'denied'))
    await until(() => counters().rejected['denied'] === 1)
    const caller = await openUdpCaller(t, rule.from)
    await caller.exchange(behind(binaryHeader(), 'one'))
    await caller.exchange(behind(binaryHeader({ kind: 0x22, block: ipv6 }), 'two'))

    await engine.close(rule.id, 0)

    const ended = () => events.flatMap(event => (event.kind === 'connections-ended' ? event.ended : []))
    await until(() => ended().length > 0)
    t.match(ended(), [
      { source: { address: '192.0.2.1', port: 12_345 }, listen: { port: rule.from }, bytesIn: 6 }
    ])
  },

  async 'each port of a range reads the headers of its flows'(t, openEngine) {
    const port = await freePort(2)
    const from = await freePort(2)
    const next = await openUdpTarget(t, bytes => `next ${bytes}`, { port: port + 1 })
    const { engine } = engineFixture(t, openEngine)
    const rule = await openUdpRule(engine, [port], { from, to: from + 1, firstRead: proxyFirstRead })
    const caller = await openUdpCaller(t, rule.to)
    t.equal(await caller.exchange(behind(binaryHeader(), 'one')), 'next one')
    t.equal(next.received.length, 1)
  }
}
