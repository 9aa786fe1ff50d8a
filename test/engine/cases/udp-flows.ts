// Datagrams find their flow, their target and their way back.
import { networkInterfaces } from 'node:os'
import { type Case, rig, until } from '../rig.ts'
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

  async 'long runs of one size, which may leave in one call, arrive one by one'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine, counters } = rig(t, openEngine)
    const rule = await openUdpRule(engine, [target.port])
    const caller = await talk(t, rule.from)
    const sizes = [...Array(150).fill(1_200), 300, ...Array(100).fill(64), 0, 9_000, 9_000, 9_000]

    for (const [i, size] of sizes.entries()) caller.say(Buffer.alloc(size, i))
    await until(() => caller.heard.length === sizes.length)

    t.same(
      caller.heard.map(({ length }) => length),
      sizes
    )
    t.ok(caller.heard.every((bytes, i) => bytes.equals(Buffer.alloc(sizes[i] ?? 0, i))))
    t.match(counters(), { ports: [{ datagramsIn: sizes.length, datagramsOut: sizes.length }] })
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
  }
}
