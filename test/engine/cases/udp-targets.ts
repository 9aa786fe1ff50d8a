// How a flow finds its target, and what happens when nobody is there.
import { freePort } from '../../support/ports.ts'
import { type Case, portCounters, rig, until } from '../rig.ts'
import { openUdpRule, openUdpTarget, talk } from './udp-kit.ts'

export const udpTargets: Record<string, Case> = {
  async 'a name that does not resolve costs the datagram; the rule goes on'(t, openEngine) {
    const { engine, events, counters } = rig(t, openEngine, {
      names: { 'gone.test': { ok: false, reason: 'nxdomain' } }
    })
    const rule = await openUdpRule(engine, [{ host: 'gone.test', port: 9 }])
    const caller = await talk(t, rule.from)

    caller.say('hello')
    await until(() => events.some(({ kind }) => kind === 'dns-failed'))
    await until(() => portCounters(counters()).active === 0)
    caller.say('hello again')
    await until(() => counters().dnsFailures === 2)

    t.match(
      events.find(({ kind }) => kind === 'dns-failed'),
      { ruleId: rule.id, host: 'gone.test', reason: 'nxdomain' }
    )
    t.match(counters(), {
      connectionsTotal: 2,
      ports: [{ datagramsIn: 0 }],
      targets: [{ connectionsTotal: 0 }]
    })
  },

  async 'a name that does not resolve leaves the flow to the next target'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine, counters } = rig(t, openEngine, {
      names: { 'gone.test': { ok: false, reason: 'timeout' } }
    })
    const rule = await openUdpRule(engine, [{ host: 'gone.test', port: 9 }, target.port])

    t.equal(await (await talk(t, rule.from)).ask('hello'), 'hello')

    t.match(counters(), {
      dnsFailures: 1,
      targetFailovers: 1,
      targets: [
        { connectionsTotal: 0, bytesIn: 0, consecutiveFailures: 1 },
        { connectionsTotal: 1, bytesIn: 5, health: 'healthy' }
      ]
    })
  },

  async 'the preferred family of a name is used, else the first of its answer'(t, openEngine) {
    const port = await freePort()
    await openUdpTarget(t, () => 'four', { host: '127.0.0.1', port })
    await openUdpTarget(t, () => 'six', { host: '::1', port })
    const names = { 'both.test': { ok: true, addresses: ['127.0.0.1', '::1'] } } as const
    const { engine } = rig(t, openEngine, { names })
    const first = await openUdpRule(engine, [{ host: 'both.test', port }])
    const preferring = await openUdpRule(engine, [{ host: 'both.test', port }], { preferIpv6: true })

    t.equal(await (await talk(t, first.from)).ask('who?'), 'four')
    t.equal(await (await talk(t, preferring.from)).ask('who?'), 'six')
  },

  async 'a flow whose target refuses is evicted, and the next datagram builds another'(t, openEngine) {
    const port = await freePort()
    const { engine, events, counters } = rig(t, openEngine)
    const rule = await openUdpRule(engine, [port])
    const caller = await talk(t, rule.from)
    const evictions = () => events.filter(({ kind }) => kind === 'flow-evicted')

    caller.say('is somebody there?')
    await until(() => evictions().length === 1)

    t.same(evictions(), [{ kind: 'flow-evicted', ruleId: rule.id, target: 0, errno: 'ECONNREFUSED' }])
    t.match(counters(), {
      connectionsTotal: 1,
      ports: [{ active: 0 }],
      targets: [{ consecutiveFailures: 1 }]
    })
    await openUdpTarget(t, undefined, { port })
    t.equal(await caller.ask('and now?'), 'and now?')
    t.match(counters(), {
      connectionsTotal: 2,
      targets: [{ consecutiveFailures: 0, health: 'healthy', connectionsTotal: 2 }]
    })
  },

  async 'a target that goes away while a flow lives is noticed, too'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine, events, counters } = rig(t, openEngine)
    const rule = await openUdpRule(engine, [target.port])
    const caller = await talk(t, rule.from)
    await caller.ask('hello')

    target.close()
    caller.say('still there?')

    await until(() => events.some(({ kind }) => kind === 'flow-evicted'))
    t.match(counters(), { ports: [{ active: 0 }], targets: [{ consecutiveFailures: 1, health: 'healthy' }] })
  },

  async 'of several addresses of a name one that refuses is not asked again at once'(t, openEngine) {
    const target = await openUdpTarget(t)
    const names = { 'two.test': { ok: true, addresses: ['::1', '127.0.0.1'] } } as const
    const { engine, events } = rig(t, openEngine, { names })
    const rule = await openUdpRule(engine, [{ host: 'two.test', port: target.port }])
    const caller = await talk(t, rule.from)

    caller.say('lost')
    await until(() => events.some(({ kind }) => kind === 'flow-evicted'))

    t.equal(await caller.ask('found'), 'found')
  },

  async 'after three refusals flows go to the next target, and stay there'(t, openEngine) {
    const port = await freePort()
    const second = await openUdpTarget(t, () => 'second')
    const { engine, events, counters } = rig(t, openEngine)
    const rule = await openUdpRule(engine, [port, second.port])
    const caller = await talk(t, rule.from)
    const evictions = () => events.filter(({ kind }) => kind === 'flow-evicted').length

    for (let i = 1; i <= 3; i++) {
      caller.say('hello')
      await until(() => evictions() === i)
    }
    t.equal(await caller.ask('hello'), 'second')

    t.match(
      events.find(({ kind }) => kind === 'target-health'),
      { ruleId: rule.id, target: 0, from: 'unknown', to: 'failed', reason: 'refused' }
    )
    await openUdpTarget(t, () => 'first', { port })
    t.equal(await caller.ask('hello again'), 'second', 'the flow stays where it is')
    t.equal(await (await talk(t, rule.from)).ask('hello'), 'second', 'the first is still held to be failed')
    t.match(counters(), { targets: [{ health: 'failed' }, { health: 'healthy', connectionsTotal: 2 }] })
  },

  async 'when all targets have failed, one that comes back is found behind one that stays away'(
    t,
    openEngine
  ) {
    const [first, second] = [await freePort(), await freePort()]
    const { engine, counters } = rig(t, openEngine)
    const rule = await openUdpRule(engine, [first, second])
    const caller = await talk(t, rule.from)
    const failures = () => counters().targets.reduce((sum, target) => sum + target.consecutiveFailures, 0)
    for (let i = 1; i <= 6; i++) {
      caller.say('is somebody there?')
      await until(() => failures() === i)
    }
    t.match(counters(), { targets: [{ health: 'failed' }, { health: 'failed' }] })

    await openUdpTarget(t, () => 'second', { port: second })
    caller.say('lost')
    await until(() => failures() === 7)

    t.equal(await caller.ask('found'), 'second')
  },

  async 'what a target says passes only from the address that was addressed'(t, openEngine) {
    const target = await openUdpTarget(t, () => null)
    const { engine } = rig(t, openEngine)
    const rule = await openUdpRule(engine, [target.port])
    const caller = await talk(t, rule.from)
    caller.say('hello')
    await until(() => target.heard.length === 1)
    const stranger = await talk(t, target.heard[0]?.port ?? 0)

    stranger.say('me, me')
    stranger.say('me again')
    const other = await talk(t, rule.from)
    other.say('round trip') // by now what the stranger said would have passed
    await until(() => target.heard.length === 2)

    t.same(caller.heard, [])
  }
}
