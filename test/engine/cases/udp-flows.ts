// Flows: datagrams reach the target, and replies return from the right address.
import { createSocket, type RemoteInfo } from 'node:dgram'
import { once } from 'node:events'
import { networkInterfaces } from 'node:os'
import { type EngineCase, engineFixture, until } from '../engine-fixture.ts'
import { openUdpCaller, openUdpRule, openUdpTarget } from './udp-fixture.ts'

/** An address of this machine that is neither loopback nor link-local. */
const externalAddress = (family: 'IPv4' | 'IPv6'): string | undefined =>
  Object.values(networkInterfaces())
    .flatMap((all = []) => all)
    .find(found => found.family === family && !found.internal && !found.scopeid)?.address

export const udpFlows: Record<string, EngineCase> = {
  async 'datagrams of 0 to 65,507 bytes pass unchanged in both directions'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine, finalCounters } = engineFixture(t, openEngine)
    const rule = await openUdpRule(engine, [target.port])
    const caller = await openUdpCaller(t, rule.from)
    const sizes = [0, 1, 1_200, 9_000, 65_507]

    for (const [i, size] of sizes.entries()) {
      await caller.exchange(Buffer.alloc(size, i))
      t.equal(
        Buffer.compare(caller.received[i] ?? Buffer.from('none'), Buffer.alloc(size, i)),
        0,
        `${size} bytes`
      )
    }

    const sum = sizes.reduce((a, b) => a + b)
    await engine.close(rule.id, 0)
    t.match(await finalCounters(rule.id), {
      ports: [{ bytesIn: sum, bytesOut: sum, datagramsIn: 5, datagramsOut: 5, active: 0 }],
      targets: [{ bytesIn: sum, bytesOut: sum, connectionsTotal: 1 }],
      connectionsTotal: 1,
      flowsDroppedOverflow: 0,
      rejected: {}
    })
  },

  async 'a burst keeps the order and the sizes of its datagrams'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine } = engineFixture(t, openEngine)
    const rule = await openUdpRule(engine, [target.port])
    const caller = await openUdpCaller(t, rule.from)
    const burst = Array.from({ length: 200 }, (_, i) => Buffer.alloc(1 + ((i * 37) % 700), i))

    for (const bytes of burst) caller.send(bytes)
    await until(() => caller.received.length === burst.length)

    t.ok(Buffer.concat(caller.received).equals(Buffer.concat(burst)))
    t.same(
      caller.received.map(({ length }) => length),
      burst.map(({ length }) => length)
    )
  },

  async 'runs of one size, which an engine may send in one call, arrive as separate datagrams'(
    t,
    openEngine
  ) {
    const target = await openUdpTarget(t)
    const { engine, counters } = engineFixture(t, openEngine)
    const rule = await openUdpRule(engine, [target.port])
    const caller = await openUdpCaller(t, rule.from)
    const sizes = [...Array(150).fill(1_200), 300, ...Array(100).fill(64), 0, 9_000, 9_000, 9_000]

    for (const [i, size] of sizes.entries()) caller.send(Buffer.alloc(size, i))
    await until(() => caller.received.length === sizes.length)

    t.same(
      caller.received.map(({ length }) => length),
      sizes
    )
    t.ok(caller.received.every((bytes, i) => bytes.equals(Buffer.alloc(sizes[i] ?? 0, i))))
    t.match(counters(), { ports: [{ datagramsIn: sizes.length, datagramsOut: sizes.length }] })
  },

  async 'each source has its own flow, with its own port to the target'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine, counters } = engineFixture(t, openEngine)
    const rule = await openUdpRule(engine, [target.port])
    const one = await openUdpCaller(t, rule.from)
    const two = await openUdpCaller(t, rule.from)

    t.equal(await one.exchange('one'), 'one')
    t.equal(await two.exchange('two'), 'two')
    t.equal(await one.exchange('one again'), 'one again')

    const [first, second, third] = target.received.map(({ port }) => port)
    t.equal(third, first)
    t.not(second, first)
    t.match(counters(), { connectionsTotal: 2, ports: [{ active: 2 }] })
  },

  async 'UDP: an engine listens on IPv4 and IPv6, and reaches an IPv6 target'(t, openEngine) {
    const target = await openUdpTarget(t, undefined, { host: '::1' })
    const { engine } = engineFixture(t, openEngine)
    const rule = await openUdpRule(engine, [{ host: '::1', port: target.port }])

    t.equal(await (await openUdpCaller(t, rule.from, '127.0.0.1')).exchange('four'), 'four')
    t.equal(await (await openUdpCaller(t, rule.from, '::1')).exchange('six'), 'six')
  },

  async 'a reply comes from the address that the caller sent to'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine, counters } = engineFixture(t, openEngine, { bind: ['0.0.0.0', '::'] })
    const rule = await openUdpRule(engine, [target.port])
    const pairs = [
      ['127.0.0.1', externalAddress('IPv4')],
      ['::1', externalAddress('IPv6')]
    ] as const

    for (const [inner, outer] of pairs) {
      if (outer === undefined) continue
      // By default the system would reply to each of these from the caller's own address.
      t.equal(
        await (await openUdpCaller(t, rule.from, inner, outer)).exchange('in'),
        'in',
        `${outer} to ${inner}`
      )
      t.equal(
        await (await openUdpCaller(t, rule.from, outer, inner)).exchange('out'),
        'out',
        `${inner} to ${outer}`
      )
      t.equal(
        await (await openUdpCaller(t, rule.from, outer, outer)).exchange('own'),
        'own',
        `${outer} to itself`
      )
    }
    t.equal(await (await openUdpCaller(t, rule.from)).exchange('loopback'), 'loopback')
    t.equal(counters().ports[0]?.active, counters().connectionsTotal)
  },

  async 'one source port to two addresses of the host makes two flows, each answered from its own address'(
    t,
    openEngine
  ) {
    const outer = externalAddress('IPv4')
    const wildcard = { bind: ['0.0.0.0', '::'], addresses: ['127.0.0.1', outer ?? '127.0.0.1'] }
    const listed = { bind: ['127.0.0.1', '127.0.0.2', '127.0.0.3'], addresses: ['127.0.0.2', '127.0.0.3'] }
    for (const { bind, addresses } of [listed, wildcard])
      await t.test(bind.join(' '), async t => {
        const target = createSocket('udp4').bind(0, '127.0.0.1')
        t.teardown(() => target.close())
        const waiting: RemoteInfo[] = []
        target.on('message', (_, from) => {
          waiting.push(from)
          // Both datagrams are there before the first answer.
          if (waiting.length === 2)
            for (const { port, address } of waiting.splice(0)) target.send('hi', port, address)
        })
        await once(target, 'listening')
        const { engine, counters } = engineFixture(t, openEngine, { bind })
        const rule = await openUdpRule(engine, [target.address().port], { reportEnds: true })
        const caller = createSocket('udp4').bind(0)
        t.teardown(() => caller.close())
        const answers: string[] = []
        caller.on('message', (_, { address }) => answers.push(address))

        for (let round = 1; round <= 2; round++) {
          for (const address of addresses) caller.send('hello', rule.from, address)
          await until(() => answers.length === 2 * round)
          t.same(answers.slice(-2).toSorted(), addresses.toSorted())
        }

        const flows = new Set(addresses).size
        t.match(counters(), { connectionsTotal: flows, ports: [{ active: flows, datagramsOut: 4 }] })
        const { rows } = engine.connections({
          ids: null,
          rules: null,
          sources: null,
          target: null,
          sort: 'age',
          after: null,
          limit: 9
        })
        t.same(
          rows.map(({ listen }) => listen.address).toSorted(),
          addresses.toSorted(),
          'the list of flows has their addresses'
        )
      })
  },

  async 'datagrams that arrive before the target is resolved are delivered in order'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine, events, counters } = engineFixture(t, openEngine)
    const rule = await openUdpRule(engine, [{ host: 'late.test', port: target.port }])
    const caller = await openUdpCaller(t, rule.from)

    for (const text of ['one', 'two', 'three']) caller.send(text)
    await until(() => events.length > 0)
    const [lookup] = events
    if (lookup?.kind === 'resolve') engine.resolved(lookup.token, { ok: true, addresses: ['127.0.0.1'] })
    await until(() => caller.received.length === 3)

    t.match(lookup, { kind: 'resolve', ruleId: rule.id, host: 'late.test' })
    t.same(caller.received.map(String), ['one', 'two', 'three'])
    t.equal(counters().connectionsTotal, 1)
  },

  async 'before the target is resolved, the first datagram is buffered, and later ones up to a limit'(
    t,
    openEngine
  ) {
    const target = await openUdpTarget(t, () => null)
    const { engine, events } = engineFixture(t, openEngine)
    const rule = await openUdpRule(engine, [{ host: 'late.test', port: target.port }])
    const caller = await openUdpCaller(t, rule.from)

    for (let i = 0; i < 20; i++) caller.send(Buffer.alloc(65_507, i))
    await until(() => events.length > 0)
    const other = await openUdpCaller(t, rule.from)
    other.send('after them') // the listener keeps the order: once this arrives, all earlier ones have arrived
    await until(() => events.length > 1)
    for (const event of events)
      if (event.kind === 'resolve') engine.resolved(event.token, { ok: true, addresses: ['127.0.0.1'] })
    await until(() => target.received.some(({ bytes }) => String(bytes) === 'after them'))

    const large = target.received.filter(({ bytes }) => bytes.length === 65_507)
    t.equal(large[0]?.bytes[0], 0)
    t.ok(large.length < 5, `${large.length} of 20 were kept`)
  }
}
