// A closed meter closes a rule without releasing its port.
import { once } from 'node:events'
import type { Test } from 'tap'
import { Meters } from '../../../agent/rules/meters.ts'
import {
  type EngineCase,
  echo,
  endOf,
  engineFixture,
  exchange,
  type OpenEngine,
  openCaller,
  openTarget,
  ruleTo,
  until
} from '../engine-fixture.ts'
import { openUdpCaller, openUdpRule, openUdpTarget } from './udp-fixture.ts'

const own = {
  key: 'own',
  refusals: { connections: 'too_many', newConnections: 'too_fast', bytes: 'too_much', budget: 'used_up' }
}

async function open(t: Test, openEngine: OpenEngine) {
  const fixture = engineFixture(t, openEngine)
  const meters = new Meters(fixture.engine)
  const rule = await ruleTo([await openTarget(t, echo)], { meters: meters.join([own]) })
  await fixture.engine.open(rule)
  const rejected = (reason: string) => fixture.counters().rejected[reason] ?? 0
  return { ...fixture, meters, rule, rejected }
}

export const closedMeters: Record<string, EngineCase> = {
  async 'a closed meter refuses new connections with its reason; live ones continue'(t, openEngine) {
    const { meters, rule, rejected } = await open(t, openEngine)
    const live = await openCaller(t, rule.from)
    t.equal(await exchange(live, 'one'), 'one')

    meters.setClosed(own.key, { reason: 'later', live: 'continue' })
    t.equal(await endOf(await openCaller(t, rule.from)), 'reset')
    await until(() => rejected('later') === 1)
    t.equal(await exchange(live, 'two'), 'two')
    meters.setClosed(own.key, null)

    t.equal(await exchange(await openCaller(t, rule.from), 'three'), 'three')
  },

  async 'a closed meter pauses live connections until it opens, or resets them in mode cut'(t, openEngine) {
    const { meters, rule, rejected } = await open(t, openEngine)
    const live = await openCaller(t, rule.from)
    t.equal(await exchange(live, 'one'), 'one')

    meters.setClosed(own.key, { reason: 'paused', live: 'pause' })
    live.resume().write('two')
    t.equal(await endOf(await openCaller(t, rule.from)), 'reset')
    await until(() => rejected('paused') === 1)
    t.equal(live.bytesRead, 3, 'no answer has arrived')
    const echoed = once(live, 'data')
    meters.setClosed(own.key, null)
    t.equal(String(await echoed), 'two')

    meters.setClosed(own.key, { reason: 'paused', live: 'pause' })
    meters.setClosed(own.key, { reason: 'expired', live: 'reset' })
    t.equal(await endOf(live), 'reset')
    t.equal(await endOf(await openCaller(t, rule.from)), 'reset')
    await until(() => rejected('expired') === 1)
  },

  async 'a reopened meter has the limits and the budget that were set while it was closed'(t, openEngine) {
    const { meters, rule, rejected } = await open(t, openEngine)
    const one = { bytesIn: null, bytesOut: null, connections: 1, newConnections: null }

    meters.setClosed(own.key, { reason: 'later', live: 'pause' })
    meters.setLimits(own.key, one)
    meters.setBudget(own.key, { mark: 8, holdMs: 300_000 })
    t.equal(await endOf(await openCaller(t, rule.from)), 'reset')
    await until(() => rejected('later') === 1)
    meters.setClosed(own.key, null)

    const live = await openCaller(t, rule.from)
    t.equal(await exchange(live, 'four'), 'four')
    t.equal(await endOf(await openCaller(t, rule.from)), 'reset')
    await until(() => rejected('used_up') === 1)
  }
}

export const udpClosedMeters: Record<string, EngineCase> = {
  async 'a closed meter refuses new flows; live ones continue, or are dropped with its reason'(
    t,
    openEngine
  ) {
    const { engine, counters } = engineFixture(t, openEngine)
    const meters = new Meters(engine)
    const { port } = await openUdpTarget(t)
    const rule = await openUdpRule(engine, [port], { meters: meters.join([own]) })
    const live = await openUdpCaller(t, rule.from)
    t.equal(await live.exchange('one'), 'one')

    meters.setClosed(own.key, { reason: 'later', live: 'continue' })
    ;(await openUdpCaller(t, rule.from)).send('refused')
    await until(() => counters().rejected['later'] === 1)
    t.equal(await live.exchange('two'), 'two')
    meters.setClosed(own.key, { reason: 'paused', live: 'pause' })
    live.send('dropped')
    await until(() => counters().rejected['paused'] === 1)
    meters.setClosed(own.key, null)

    t.equal(await live.exchange('three'), 'three')
  }
}
