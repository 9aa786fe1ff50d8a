// Datagrams find their flow, their target and their way back.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { networkInterfaces } from 'node:os'
import { freePort } from '../../kit/ports.ts'
import { answer, type Case, call, echo, openTarget, portCounters, rig, ruleTo, until } from '../rig.ts'
import { openUdpRule, openUdpTarget, talk } from './udp-kit.ts'

/** An address of this machine that is neither its loopback nor of one link only. */
const outerAddress = (family: 'IPv4' | 'IPv6'): string | undefined =>
  Object.values(networkInterfaces())
    .flatMap((all = []) => all)
    .find(own => own.family === family && !own.internal && !own.scopeid)?.address

export const udpFlows: Record<string, Case> = {
  async 'datagrams pass both ways whole, from none to 65,507 bytes'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine, final } = rig(t, openEngine)
    const rule = await openUdpRule(engine, [target.port])
    const caller = await talk(t, rule.from)
    const sizes = [0, 1, 1_200, 9_000, 65_507]

    for (const [i, size] of sizes.entries()) {
      await caller.ask(Buffer.alloc(size, i))
      t.equal(
        Buffer.compare(caller.heard[i] ?? Buffer.from('none'), Buffer.alloc(size, i)),
        0,
        `${size} bytes`
      )
    }

    const sum = sizes.reduce((a, b) => a + b)
    await engine.close(rule.id, 0)
    t.match(await final(rule.id), {
      ports: [{ bytesIn: sum, bytesOut: sum, datagramsIn: 5, datagramsOut: 5, active: 0 }],
      targets: [{ bytesIn: sum, bytesOut: sum, connectionsTotal: 1 }],
      connectionsTotal: 1,
      flowsDroppedOverflow: 0,
      rejected: {}
    })
  },

  async 'a burst keeps its order and its borders'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine } = rig(t, openEngine)
    const rule = await openUdpRule(engine, [target.port])
    const caller = await talk(t, rule.from)
    const burst = Array.from({ length: 200 }, (_, i) => Buffer.alloc(1 + ((i * 37) % 700), i))

    for (const bytes of burst) caller.say(bytes)
    await until(() => caller.heard.length === burst.length)

    t.ok(Buffer.concat(caller.heard).equals(Buffer.concat(burst)))
    t.same(
      caller.heard.map(({ length }) => length),
      burst.map(({ length }) => length)
    )
  },

  async 'each source is a flow, and the target knows them apart'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine, counters } = rig(t, openEngine)
    const rule = await openUdpRule(engine, [target.port])
    const one = await talk(t, rule.from)
    const two = await talk(t, rule.from)

    t.equal(await one.ask('one'), 'one')
    t.equal(await two.ask('two'), 'two')
    t.equal(await one.ask('one again'), 'one again')

    const [first, second, third] = target.heard.map(({ port }) => port)
    t.equal(third, first)
    t.not(second, first)
    t.match(counters(), { connectionsTotal: 2, ports: [{ active: 2 }] })
  },

  async 'both families are listened on, and an IPv6 target is reached'(t, openEngine) {
    const target = await openUdpTarget(t, undefined, { host: '::1' })
    const { engine } = rig(t, openEngine)
    const rule = await openUdpRule(engine, [{ host: '::1', port: target.port }])

    t.equal(await (await talk(t, rule.from, '127.0.0.1')).ask('four'), 'four')
    t.equal(await (await talk(t, rule.from, '::1')).ask('six'), 'six')
  },

  async 'a reply comes from the address that was addressed'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine, counters } = rig(t, openEngine, { bind: ['0.0.0.0', '::'] })
    const rule = await openUdpRule(engine, [target.port])
    const pairs = [
      ['127.0.0.1', outerAddress('IPv4')],
      ['::1', outerAddress('IPv6')]
    ] as const

    for (const [inner, outer] of pairs) {
      if (outer === undefined) continue
      // Left alone, the system would answer each of these from the caller's own address.
      t.equal(await (await talk(t, rule.from, inner, outer)).ask('in'), 'in', `${outer} to ${inner}`)
      t.equal(await (await talk(t, rule.from, outer, inner)).ask('out'), 'out', `${inner} to ${outer}`)
      t.equal(await (await talk(t, rule.from, outer, outer)).ask('own'), 'own', `${outer} to itself`)
    }
    t.equal(await (await talk(t, rule.from)).ask('loopback'), 'loopback')
    t.equal(counters().ports[0]?.active, counters().connectionsTotal)
  },

  async 'what comes before the target is known is kept, in its order'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine, events, counters } = rig(t, openEngine)
    const rule = await openUdpRule(engine, [{ host: 'late.test', port: target.port }])
    const caller = await talk(t, rule.from)

    for (const words of ['one', 'two', 'three']) caller.say(words)
    await until(() => events.length > 0)
    const [question] = events
    if (question?.kind === 'resolve') engine.resolved(question.token, { ok: true, addresses: ['127.0.0.1'] })
    await until(() => caller.heard.length === 3)

    t.match(question, { kind: 'resolve', ruleId: rule.id, host: 'late.test' })
    t.same(caller.heard.map(String), ['one', 'two', 'three'])
    t.equal(counters().connectionsTotal, 1)
  },

  async 'the largest datagram waits for its target, and of what follows only so much'(t, openEngine) {
    const target = await openUdpTarget(t, () => null)
    const { engine, events } = rig(t, openEngine)
    const rule = await openUdpRule(engine, [{ host: 'late.test', port: target.port }])
    const caller = await talk(t, rule.from)

    for (let i = 0; i < 20; i++) caller.say(Buffer.alloc(65_507, i))
    await until(() => events.length > 0)
    const other = await talk(t, rule.from)
    other.say('after them') // one listener, one order: when this has been taken in, they have
    await until(() => events.length > 1)
    for (const event of events)
      if (event.kind === 'resolve') engine.resolved(event.token, { ok: true, addresses: ['127.0.0.1'] })
    await until(() => target.heard.some(({ bytes }) => String(bytes) === 'after them'))

    const large = target.heard.filter(({ bytes }) => bytes.length === 65_507)
    t.equal(large[0]?.bytes[0], 0)
    t.ok(large.length < 5, `${large.length} of 20 were kept`)
  },

  async 'a flow that is silent for its idle time ends, and the next datagram begins another'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine, counters } = rig(t, openEngine)
    const rule = await openUdpRule(engine, [target.port], { idleMs: 200 })
    const silent = await talk(t, rule.from)
    const busy = await talk(t, rule.from)
    await silent.ask('hello')
    const [first] = target.heard

    const ticks = setInterval(() => busy.say('still here'), 20)
    t.teardown(() => clearInterval(ticks))
    await until(() => portCounters(counters()).active === 2)
    await until(() => portCounters(counters()).active === 1)
    await silent.ask('hello again')

    t.not(target.heard.findLast(({ bytes }) => String(bytes) === 'hello again')?.port, first?.port)
    t.equal(counters().connectionsTotal, 3)
    clearInterval(ticks)
    await until(() => portCounters(counters()).active === 0)
  },

  async 'what a target says keeps its flow alive'(t, openEngine) {
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
    const { engine, counters } = rig(t, openEngine)
    const rule = await openUdpRule(engine, [target.address().port], { idleMs: 150 })
    const caller = await talk(t, rule.from)

    caller.say('subscribe')
    await until(() => caller.heard.length > 25)

    t.match(counters(), { connectionsTotal: 1, ports: [{ active: 1, datagramsIn: 1 }] })
  },

  async 'a range opens all its UDP ports, each to its own target port'(t, openEngine) {
    const first = await freePort(3)
    const from = await freePort(3)
    for (const port of [first, first + 1, first + 2]) await openUdpTarget(t, () => String(port), { port })
    const { engine, counters } = rig(t, openEngine)
    await openUdpRule(engine, [first], { from, to: from + 2 })

    for (const offset of [0, 1, 2])
      t.equal(await (await talk(t, from + offset)).ask('who?'), String(first + offset))
    t.match(counters().ports, [
      { port: from, datagramsIn: 1 },
      { port: from + 1, datagramsIn: 1 },
      { port: from + 2, datagramsIn: 1, bytesOut: 5 }
    ])
  },

  async 'TCP and UDP share a port number, and a dial from one to the other is no loop'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine } = rig(t, openEngine)
    const tcp = await ruleTo([await openTarget(t, echo)])
    await engine.open(tcp)

    const udp = await openUdpRule(engine, [target.port], { from: tcp.from, to: tcp.from })

    t.equal(await answer(await call(t, tcp.from), 'stream'), 'stream')
    t.equal(await (await talk(t, udp.from)).ask('datagram'), 'datagram')
    const there = await freePort()
    await openUdpTarget(t, () => 'no loop', { port: there })
    await engine.open(await ruleTo([tcp.from], { from: there })) // TCP on the number that UDP is sent to
    const onward = await openUdpRule(engine, [there])
    t.equal(await (await talk(t, onward.from)).ask('?'), 'no loop')
  },

  async 'a UDP port that another process holds is in use, on either family, and then opens'(t, openEngine) {
    const bind = ['0.0.0.0', '::']
    const { engine } = rig(t, openEngine, { bind })
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

  async 'closing cuts flows whatever the drain, and the port can be opened again at once'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine, final } = rig(t, openEngine)
    const rule = await openUdpRule(engine, [target.port])
    const caller = await talk(t, rule.from)
    await caller.ask('before')

    await engine.close(rule.id, 60_000)

    t.match(await final(rule.id), { ports: [{ bytesIn: 6, bytesOut: 6, active: 0 }], connectionsTotal: 1 })
    const again = await openUdpRule(engine, [target.port], { from: rule.from })
    t.equal(await (await talk(t, again.from)).ask('after'), 'after')
  },

  async 'closing does not wait for a name'(t, openEngine) {
    const { engine, events, final } = rig(t, openEngine)
    const rule = await openUdpRule(engine, [{ host: 'never.test', port: 9 }])
    const caller = await talk(t, rule.from)
    caller.say('hello')
    await until(() => events.length > 0)

    await engine.close(rule.id, 0)

    t.match(await final(rule.id), { connectionsTotal: 1, ports: [{ active: 0, datagramsIn: 0 }] })
  },

  async 'flows that come and go leave nothing behind'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine, counters } = rig(t, openEngine)
    const rule = await openUdpRule(engine, [target.port], { idleMs: 1_000, flowCap: 65_535 })
    const before = process.getActiveResourcesInfo().length
    const rounds = 20
    const atOnce = 100

    for (let round = 0; round < rounds; round++) {
      const callers = await Promise.all(Array.from({ length: atOnce }, () => talk(t, rule.from)))
      await Promise.all(callers.map(caller => caller.ask('hello')))
      for (const caller of callers) caller.close()
    }
    await until(() => portCounters(counters()).active === 0)

    t.match(counters(), {
      ports: [{ datagramsIn: rounds * atOnce, datagramsOut: rounds * atOnce }],
      rejected: {}
    })
    const { connectionsTotal } = counters()
    t.ok(connectionsTotal > rounds * atOnce * 0.8, `${connectionsTotal} flows`) // a source port may come again
    await until(() => process.getActiveResourcesInfo().length <= before)
  }
}
