// UDP rules open and close; flows begin and end.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { freePort } from '../../support/ports.ts'
import {
  type EngineCase,
  echo,
  engineFixture,
  exchange,
  openCaller,
  openTarget,
  portCounters,
  ruleTo,
  until
} from '../engine-fixture.ts'
import { openUdpCaller, openUdpRule, openUdpTarget } from './udp-fixture.ts'

export const udpLifecycle: Record<string, EngineCase> = {
  async 'an idle flow ends, and the next datagram begins a new one'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine, counters } = engineFixture(t, openEngine)
    const rule = await openUdpRule(engine, [target.port], { idleMs: 200 })
    const silent = await openUdpCaller(t, rule.from)
    const busy = await openUdpCaller(t, rule.from)
    await silent.exchange('hello')
    const [first] = target.received

    const ticks = setInterval(() => busy.send('still here'), 20)
    t.teardown(() => clearInterval(ticks))
    await until(() => portCounters(counters()).active === 2)
    await until(() => portCounters(counters()).active === 1)
    await silent.exchange('hello again')

    t.not(target.received.findLast(({ bytes }) => String(bytes) === 'hello again')?.port, first?.port)
    t.equal(counters().connectionsTotal, 3)
    clearInterval(ticks)
    await until(() => portCounters(counters()).active === 0)
  },

  async 'datagrams of the target keep a flow alive'(t, openEngine) {
    const target = createSocket('udp4').bind(0, '127.0.0.1')
    await once(target, 'listening')
    let ticks: NodeJS.Timeout | undefined
    target.once('message', (_, { port, address }) => {
      ticks = setInterval(() => target.send('tick', port, address), 20)
    })
    t.teardown(() => {
      clearInterval(ticks)
      target.close()
    })
    const { engine, counters } = engineFixture(t, openEngine)
    const rule = await openUdpRule(engine, [target.address().port], { idleMs: 600 })
    const caller = await openUdpCaller(t, rule.from)

    caller.send('subscribe')
    await until(() => caller.received.length > 100) // three idle times

    t.match(counters(), { connectionsTotal: 1, ports: [{ active: 1, datagramsIn: 1 }] })
  },

  async 'each UDP port of a range forwards to the matching target port'(t, openEngine) {
    const first = await freePort(3)
    const from = await freePort(3)
    for (const port of [first, first + 1, first + 2]) await openUdpTarget(t, () => String(port), { port })
    const { engine, counters } = engineFixture(t, openEngine)
    await openUdpRule(engine, [first], { from, to: from + 2 })

    for (const offset of [0, 1, 2])
      t.equal(await (await openUdpCaller(t, from + offset)).exchange('who?'), String(first + offset))
    t.match(counters().ports, [
      { port: from, datagramsIn: 1 },
      { port: from + 1, datagramsIn: 1 },
      { port: from + 2, datagramsIn: 1, bytesOut: 5 }
    ])
  },

  async 'TCP and UDP can have the same port number, and forwarding from one to the other is not a loop'(
    t,
    openEngine
  ) {
    const target = await openUdpTarget(t)
    const { engine } = engineFixture(t, openEngine)
    const tcp = await ruleTo([await openTarget(t, echo)])
    await engine.open(tcp)

    const udp = await openUdpRule(engine, [target.port], { from: tcp.from, to: tcp.from })

    t.equal(await exchange(await openCaller(t, tcp.from), 'stream'), 'stream')
    t.equal(await (await openUdpCaller(t, udp.from)).exchange('datagram'), 'datagram')
    const port = await freePort()
    await openUdpTarget(t, () => 'no loop', { port })
    await engine.open(await ruleTo([tcp.from], { from: port })) // a TCP listener with the port number of the UDP target
    const onward = await openUdpRule(engine, [port])
    t.equal(await (await openUdpCaller(t, onward.from)).exchange('?'), 'no loop')
  },

  async 'a UDP port is in use while another socket has it on IPv4 or IPv6'(t, openEngine) {
    const bind = ['0.0.0.0', '::']
    const { engine } = engineFixture(t, openEngine, { bind })
    for (const host of ['127.0.0.1', '::1', '0.0.0.0']) {
      const from = await freePort()
      const other = createSocket({ type: host === '::1' ? 'udp6' : 'udp4', reusePort: true }).bind(from, host)
      await once(other, 'listening')

      await t.rejects(openUdpRule(engine, [9], { from }), { code: 'EADDRINUSE' }, host)
      await t.rejects(openUdpRule(engine, [9], { from: from - 1, to: from }), { code: 'EADDRINUSE' }, host)

      other.close()
      await openUdpRule(engine, [9], { from })
      await t.rejects(openUdpRule(engine, [9], { from }), { code: 'EADDRINUSE' }, 'our own')
    }
  },

  async 'closing ends flows at once despite a drain, and the port can be opened again'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine, finalCounters } = engineFixture(t, openEngine)
    const rule = await openUdpRule(engine, [target.port])
    const caller = await openUdpCaller(t, rule.from)
    await caller.exchange('before')

    await engine.close(rule.id, 60_000)

    t.match(await finalCounters(rule.id), {
      ports: [{ bytesIn: 6, bytesOut: 6, active: 0 }],
      connectionsTotal: 1
    })
    const again = await openUdpRule(engine, [target.port], { from: rule.from })
    t.equal(await (await openUdpCaller(t, again.from)).exchange('after'), 'after')
  },

  async 'closing does not wait for a DNS lookup'(t, openEngine) {
    const { engine, events, finalCounters } = engineFixture(t, openEngine)
    const rule = await openUdpRule(engine, [{ host: 'never.test', port: 9 }])
    const caller = await openUdpCaller(t, rule.from)
    caller.send('hello')
    await until(() => events.length > 0)

    await engine.close(rule.id, 0)

    t.match(await finalCounters(rule.id), { connectionsTotal: 1, ports: [{ active: 0, datagramsIn: 0 }] })
  },

  async 'flows that have ended leak no handles'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine, counters } = engineFixture(t, openEngine)
    const rule = await openUdpRule(engine, [target.port], { idleMs: 1_000, flowCap: 65_535 })
    const before = process.getActiveResourcesInfo().length
    const rounds = 20
    const atOnce = 100

    for (let round = 0; round < rounds; round++) {
      const callers = await Promise.all(Array.from({ length: atOnce }, () => openUdpCaller(t, rule.from)))
      await Promise.all(callers.map(caller => caller.exchange('hello')))
      for (const caller of callers) caller.close()
    }
    await until(() => portCounters(counters()).active === 0)

    t.match(counters(), {
      ports: [{ datagramsIn: rounds * atOnce, datagramsOut: rounds * atOnce }],
      rejected: {}
    })
    const { connectionsTotal } = counters()
    t.ok(connectionsTotal > rounds * atOnce * 0.8, `${connectionsTotal} flows`) // the system may reuse a source port
    await until(() => process.getActiveResourcesInfo().length <= before)
  }
}
