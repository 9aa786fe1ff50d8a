// Targets of flows: DNS, unreachable targets, failover.
import { freePort } from '../../support/ports.ts'
import { type EngineCase, engineFixture, portCounters, until } from '../engine-fixture.ts'
import { limited, meterCounters, rate } from '../meter-fixture.ts'
import { openUdpCaller, openUdpRule, openUdpTarget } from './udp-fixture.ts'

export const udpTargets: Record<string, EngineCase> = {
  async 'a failed DNS lookup drops the datagram, and later ones pass'(t, openEngine) {
    const { engine, events, counters } = engineFixture(t, openEngine, {
      names: { 'gone.test': { ok: false, reason: 'nxdomain' } }
    })
    const rule = await openUdpRule(engine, [{ host: 'gone.test', port: 9 }])
    const caller = await openUdpCaller(t, rule.from)

    caller.send('hello')
    await until(() => events.some(({ kind }) => kind === 'dns-failed'))
    await until(() => portCounters(counters()).active === 0)
    caller.send('hello again')
    await until(() => counters().dnsFailures === 2)

    t.match(
      events.find(({ kind }) => kind === 'dns-failed'),
      { ruleId: rule.id, host: 'gone.test', reason: 'nxdomain' }
    )
    t.match(counters(), {
      connectionsTotal: 2,
      ports: [{ datagramsIn: 0 }],
      targets: [{ connectionsTotal: 0, lastFailure: 'dns_nxdomain', lastSource: 'traffic' }]
    })
  },

  async 'after a failed DNS lookup the flow goes to the next target'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine, counters } = engineFixture(t, openEngine, {
      names: { 'gone.test': { ok: false, reason: 'timeout' } }
    })
    const rule = await openUdpRule(engine, [{ host: 'gone.test', port: 9 }, target.port])

    t.equal(await (await openUdpCaller(t, rule.from)).exchange('hello'), 'hello')

    t.match(counters(), {
      dnsFailures: 1,
      targetFailovers: 1,
      targets: [
        { connectionsTotal: 0, bytesIn: 0, consecutiveFailures: 1 },
        { connectionsTotal: 1, bytesIn: 5, health: 'healthy' }
      ]
    })
  },

  async 'the preferred family is used; without a preference the first address of the DNS answer is used'(
    t,
    openEngine
  ) {
    const port = await freePort()
    await openUdpTarget(t, () => 'four', { host: '127.0.0.1', port })
    await openUdpTarget(t, () => 'six', { host: '::1', port })
    const names = { 'both.test': { ok: true, addresses: ['127.0.0.1', '::1'] } } as const
    const { engine } = engineFixture(t, openEngine, { names })
    const first = await openUdpRule(engine, [{ host: 'both.test', port }])
    const preferring = await openUdpRule(engine, [{ host: 'both.test', port }], { preferIpv6: true })

    t.equal(await (await openUdpCaller(t, first.from)).exchange('who?'), 'four')
    t.equal(await (await openUdpCaller(t, preferring.from)).exchange('who?'), 'six')
  },

  async 'a flow is evicted when its target refuses, and the next datagram starts a new one'(t, openEngine) {
    const port = await freePort()
    const { engine, events, counters } = engineFixture(t, openEngine)
    const rule = await openUdpRule(engine, [port])
    const caller = await openUdpCaller(t, rule.from)
    const evictions = () => events.filter(({ kind }) => kind === 'flow-evicted')

    caller.send('is somebody there?')
    await until(() => evictions().length === 1)

    t.same(evictions(), [{ kind: 'flow-evicted', ruleId: rule.id, target: 0, errno: 'ECONNREFUSED' }])
    t.match(counters(), {
      connectionsTotal: 1,
      ports: [{ active: 0, datagramsIn: 0, bytesIn: 0 }],
      targets: [{ consecutiveFailures: 1, bytesIn: 0 }]
    })
    await openUdpTarget(t, undefined, { port })
    t.equal(await caller.exchange('and now?'), 'and now?')
    t.match(counters(), {
      connectionsTotal: 2,
      targets: [{ consecutiveFailures: 0, health: 'healthy', connectionsTotal: 2 }]
    })
  },

  async 'a target that disappears during a flow evicts it'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine, events, counters } = engineFixture(t, openEngine)
    const rule = await openUdpRule(engine, [target.port])
    const caller = await openUdpCaller(t, rule.from)
    await caller.exchange('hello')

    target.close()
    caller.send('still there?')

    await until(() => events.some(({ kind }) => kind === 'flow-evicted'))
    t.match(counters(), {
      ports: [{ active: 0, datagramsIn: 1, bytesIn: 5 }],
      targets: [{ consecutiveFailures: 1, health: 'healthy', bytesIn: 5 }]
    })
  },

  async 'datagrams of a burst that the target refuses count nowhere: rule, target, meter, budget'(
    t,
    openEngine
  ) {
    const sink = await openUdpTarget(t, () => null)
    const { engine, events, finalCounters } = engineFixture(t, openEngine)
    engine.setMeter(1, limited({ bytesIn: rate(0.001, 1_000) }))
    engine.setBudget(1, { mark: 1_000, holdMs: 0 })
    const refusing = await openUdpRule(engine, [await freePort()], { meters: [1] })
    const working = await openUdpRule(engine, [sink.port], { meters: [1] })
    const caller = await openUdpCaller(t, refusing.from)

    for (let i = 0; i < 30; i++) caller.send(Buffer.alloc(100))
    await until(() => events.some(({ kind }) => kind === 'flow-evicted'))
    await engine.close(refusing.id, 0)
    t.match(await finalCounters(refusing.id), {
      ports: [{ datagramsIn: 0, bytesIn: 0 }],
      targets: [{ bytesIn: 0 }]
    })
    t.match(meterCounters(engine, 1), { bytesIn: 0, bytesOut: 0 })

    const other = await openUdpCaller(t, working.from)
    other.send(Buffer.alloc(1_000))
    await until(() => meterCounters(engine, 1).bytesIn === 1_000)
    await until(() => events.some(({ kind }) => kind === 'meter-empty'))
    t.equal(sink.received.length, 1, 'budget and rate were returned')
  },

  async 'a datagram without an answer counts as delivered after a moment'(t, openEngine) {
    const target = await openUdpTarget(t, () => null)
    const { engine, counters } = engineFixture(t, openEngine)
    const rule = await openUdpRule(engine, [target.port])
    const caller = await openUdpCaller(t, rule.from)

    caller.send('one')
    await until(() => portCounters(counters()).datagramsIn === 1)
    caller.send('two')
    await until(() => portCounters(counters()).datagramsIn === 2)

    t.match(counters(), { ports: [{ active: 1, bytesIn: 6 }], targets: [{ bytesIn: 6 }] })
  },

  async 'an address that just refused is tried after the other addresses of the name'(t, openEngine) {
    const target = await openUdpTarget(t)
    const names = { 'two.test': { ok: true, addresses: ['::1', '127.0.0.1'] } } as const
    const { engine, events } = engineFixture(t, openEngine, { names })
    const rule = await openUdpRule(engine, [{ host: 'two.test', port: target.port }])
    const caller = await openUdpCaller(t, rule.from)

    caller.send('lost')
    await until(() => events.some(({ kind }) => kind === 'flow-evicted'))

    t.equal(await caller.exchange('found'), 'found')
  },

  async 'after three refusals flows go to the next target'(t, openEngine) {
    const port = await freePort()
    const second = await openUdpTarget(t, () => 'second')
    const { engine, events, counters } = engineFixture(t, openEngine)
    const rule = await openUdpRule(engine, [port, second.port])
    const caller = await openUdpCaller(t, rule.from)
    const evictions = () => events.filter(({ kind }) => kind === 'flow-evicted').length

    for (let i = 1; i <= 3; i++) {
      caller.send('hello')
      await until(() => evictions() === i)
    }
    t.equal(await caller.exchange('hello'), 'second')

    t.match(
      events.find(({ kind }) => kind === 'target-health'),
      { ruleId: rule.id, target: 0, from: 'unknown', to: 'failed', reason: 'refused' }
    )
    await openUdpTarget(t, () => 'first', { port })
    t.equal(await caller.exchange('hello again'), 'second', 'the flow keeps its target')
    t.equal(
      await (await openUdpCaller(t, rule.from)).exchange('hello'),
      'second',
      'the first is still failed'
    )
    t.match(counters(), { targets: [{ health: 'failed' }, { health: 'healthy', connectionsTotal: 2 }] })
  },

  async 'when all targets have failed, a recovered one is found after a dead one'(t, openEngine) {
    const first = await freePort()
    const second = await freePort()
    const { engine, counters } = engineFixture(t, openEngine)
    const rule = await openUdpRule(engine, [first, second])
    const caller = await openUdpCaller(t, rule.from)
    const failures = () => counters().targets.reduce((sum, target) => sum + target.consecutiveFailures, 0)
    for (let i = 1; i <= 6; i++) {
      caller.send('is somebody there?')
      await until(() => failures() === i)
    }
    t.match(counters(), { targets: [{ health: 'failed' }, { health: 'failed' }] })

    await openUdpTarget(t, () => 'second', { port: second })
    caller.send('lost')
    await until(() => failures() === 7)

    t.equal(await caller.exchange('found'), 'second')
  },

  async 'replies pass only from the address that the flow sends to'(t, openEngine) {
    const target = await openUdpTarget(t, () => null)
    const { engine } = engineFixture(t, openEngine)
    const rule = await openUdpRule(engine, [target.port])
    const caller = await openUdpCaller(t, rule.from)
    caller.send('hello')
    await until(() => target.received.length === 1)
    const outsider = await openUdpCaller(t, target.received[0]?.port ?? 0)

    outsider.send('forged')
    outsider.send('forged again')
    const other = await openUdpCaller(t, rule.from)
    other.send('round trip') // a datagram from the wrong address would have passed by now
    await until(() => target.received.length === 2)

    t.same(caller.received, [])
  }
}
