// Dials: addresses, failover, DNS, and callers that leave during a dial.
import { freePort } from '../../support/ports.ts'
import {
  collect,
  type EngineCase,
  echo,
  endOf,
  engineFixture,
  exchange,
  openCaller,
  openEchoRule,
  openTarget,
  openUnresponsiveTarget,
  portCounters,
  ruleTo,
  until
} from '../engine-fixture.ts'

export const dials: Record<string, EngineCase> = {
  async 'an engine listens on IPv4 and IPv6, and reaches an IPv6 target'(t, openEngine) {
    const port = await openTarget(t, echo, { host: '::1' })
    const { engine } = engineFixture(t, openEngine)
    const rule = await ruleTo([{ host: '::1', port }])
    await engine.open(rule)

    t.equal(await exchange(await openCaller(t, rule.from, '127.0.0.1'), 'four'), 'four')
    t.equal(await exchange(await openCaller(t, rule.from, '::1'), 'six'), 'six')
  },

  async 'a caller is reset when its target refuses'(t, openEngine) {
    const { engine, counters } = engineFixture(t, openEngine)
    const rule = await ruleTo([await freePort()])
    await engine.open(rule)

    const caller = await openCaller(t, rule.from)

    t.equal(await endOf(caller), 'reset')
    await until(() => portCounters(counters()).active === 0)
    t.match(counters(), {
      connectionsTotal: 1,
      targets: [{ connectionsTotal: 0 }],
      rejected: { no_target: 1 }
    })
  },

  async 'the next address is tried when the first refuses'(t, openEngine) {
    const port = await openTarget(t, echo)
    const names = { 'two.test': { ok: true, addresses: ['::1', '127.0.0.1'] } } as const
    const { engine, counters } = engineFixture(t, openEngine, { names })
    const rule = await ruleTo([{ host: 'two.test', port }])
    await engine.open(rule)

    t.equal(await exchange(await openCaller(t, rule.from), 'hello'), 'hello')
    t.equal(counters().targetFailovers, 0)
  },

  async 'an address that does not answer delays the connection by a quarter of a second'(t, openEngine) {
    const port = await openUnresponsiveTarget(t, '::1')
    await openTarget(t, echo, { port })
    const names = { 'two.test': { ok: true, addresses: ['::1', '127.0.0.1'] } } as const
    const { engine } = engineFixture(t, openEngine, { names })
    const rule = await ruleTo([{ host: 'two.test', port }])
    await engine.open(rule)

    const beganAt = performance.now()
    t.equal(await exchange(await openCaller(t, rule.from), 'hello'), 'hello')

    const tookMs = performance.now() - beganAt
    t.ok(tookMs > 200 && tookMs < 2_000, `${tookMs} ms`)
  },

  async 'after three seconds without an answer the next target is tried'(t, openEngine) {
    const silent = await openUnresponsiveTarget(t, '127.0.0.1')
    const { engine } = engineFixture(t, openEngine)
    const rule = await ruleTo([silent, await openTarget(t, echo)])
    await engine.open(rule)

    const beganAt = performance.now()
    t.equal(await exchange(await openCaller(t, rule.from), 'hello'), 'hello')

    const tookMs = performance.now() - beganAt
    t.ok(tookMs > 2_900 && tookMs < 5_000, `${tookMs} ms`)
  },

  async 'a caller that leaves during the dial ends the dial'(t, openEngine) {
    const silent = await openUnresponsiveTarget(t, '127.0.0.1')
    const { engine, counters } = engineFixture(t, openEngine)
    const rule = await ruleTo([silent])
    await engine.open(rule)
    const caller = await openCaller(t, rule.from)
    caller.write('hello?')
    await until(() => portCounters(counters()).active === 1)

    const beganAt = performance.now()
    caller.resetAndDestroy()

    await until(() => portCounters(counters()).active === 0)
    t.ok(performance.now() - beganAt < 1_000)
  },

  async 'the preferred family is tried first; without a preference the DNS order applies'(t, openEngine) {
    const four = await openTarget(t, socket => socket.end('four'))
    await openTarget(t, socket => socket.end('six'), { host: '::1', port: four })
    const names = { 'both.test': { ok: true, addresses: ['127.0.0.1', '::1'] } } as const
    const { engine } = engineFixture(t, openEngine, { names })
    const targets = [{ host: 'both.test', port: four }]
    const plain = await ruleTo(targets)
    const prefers = await ruleTo(targets, { preferIpv6: true })
    await engine.open(plain)
    await engine.open(prefers)

    t.equal(String(await collect(await openCaller(t, plain.from))), 'four')
    t.equal(String(await collect(await openCaller(t, prefers.from))), 'six')
  },

  async 'a later target takes over when the first cannot be reached'(t, openEngine) {
    const port = await openTarget(t, echo)
    const { engine, counters } = engineFixture(t, openEngine)
    const rule = await ruleTo([await freePort(), port])
    await engine.open(rule)

    t.equal(await exchange(await openCaller(t, rule.from), 'hello'), 'hello')

    t.match(counters(), {
      targetFailovers: 1,
      targets: [
        { connectionsTotal: 0, bytesIn: 0 },
        { connectionsTotal: 1, bytesIn: 5 }
      ]
    })
  },

  async 'a caller that leaves during the DNS lookup causes no dial'(t, openEngine) {
    let dials = 0
    const port = await openTarget(t, () => dials++)
    const { engine, events, counters } = engineFixture(t, openEngine)
    const rule = await ruleTo([{ host: 'late.test', port }])
    await engine.open(rule)
    const caller = await openCaller(t, rule.from)
    await until(() => events.length > 0)
    const [lookup] = events

    caller.resetAndDestroy()
    await until(() => portCounters(counters()).active === 0)
    if (lookup?.kind === 'resolve') engine.resolved(lookup.token, { ok: true, addresses: ['127.0.0.1'] })
    await exchange(await openCaller(t, (await openEchoRule(t, engine)).from), 'and then')

    t.equal(dials, 0)
  },

  async 'a caller that sends only FIN during the dial counts as gone'(t, openEngine) {
    const { engine, events, counters } = engineFixture(t, openEngine)
    const rule = await ruleTo([{ host: 'late.test', port: 9 }])
    await engine.open(rule)
    const caller = await openCaller(t, rule.from)
    await until(() => events.length > 0)

    caller.end()

    t.equal(await endOf(caller), 'reset')
    await until(() => portCounters(counters()).active === 0)
  },

  async 'an engine never dials its own listeners'(t, openEngine) {
    const { engine, counters } = engineFixture(t, openEngine, { bind: ['0.0.0.0', '::'] })
    const from = await freePort()
    const hosts = ['127.0.0.1', '127.1.2.3', '::1', '0.0.0.0', '::ffff:127.0.0.1', '::']
    await engine.open(
      await ruleTo(
        hosts.map(host => ({ host, port: from })),
        { from }
      )
    )

    t.equal(await endOf(await openCaller(t, from)), 'reset')

    t.match(counters(), { connectionsTotal: 1, rejected: { loop: 1 } })
  },

  async 'the same port on an address without a listener is not a loop'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine, { bind: ['::1'] })
    const port = await openTarget(t, echo)
    await engine.open(await ruleTo([port], { from: port }))

    t.equal(await exchange(await openCaller(t, port, '::1'), 'through'), 'through')
  },

  async 'a failed DNS lookup drops only that connection'(t, openEngine) {
    const port = await openTarget(t, echo)
    let answers = 0
    const { engine, events, counters } = engineFixture(t, openEngine, {
      names: {
        get 'flaky.test'() {
          return answers++ === 0
            ? ({ ok: false, reason: 'nxdomain' } as const)
            : ({ ok: true, addresses: ['127.0.0.1'] } as const)
        }
      }
    })
    const rule = await ruleTo([{ host: 'flaky.test', port }])
    await engine.open(rule)

    t.equal(await endOf(await openCaller(t, rule.from)), 'reset')
    t.equal(await exchange(await openCaller(t, rule.from), 'hello'), 'hello')

    t.match(counters(), { dnsFailures: 1, connectionsTotal: 2, rejected: { no_target: 1 } })
    const failures = events.filter(({ kind }) => kind === 'dns-failed')
    t.same(failures, [{ kind: 'dns-failed', ruleId: rule.id, host: 'flaky.test', reason: 'nxdomain' }])
  }
}
