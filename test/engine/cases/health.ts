// Target health: failed targets are skipped and come back.
import type { Test } from 'tap'
import type { EngineEvent } from '../../../agent/engine/engine.ts'
import { freePort } from '../../support/ports.ts'
import { clientHello } from '../client-hellos.ts'
import {
  type EngineCase,
  endOf,
  engineFixture,
  openCaller,
  openEchoRule,
  openTarget,
  portCounters,
  ruleTo,
  until
} from '../engine-fixture.ts'
import { limited, rate } from '../meter-fixture.ts'

/** A target that sends its label and closes. */
const openLabelled = (t: Test, label: string, port = 0) =>
  openTarget(t, socket => socket.end(label), { port })

/** Returns the label of the target that answered, or how the connection ended. */
async function whoAnswers(t: Test, port: number, request: string | Buffer = ''): Promise<string> {
  const caller = await openCaller(t, port)
  caller.write(request)
  let received = ''
  caller.on('data', chunk => {
    received += chunk
  })
  const end = await endOf(caller)
  caller.end()
  return received || end
}

const healthChanges = (events: readonly EngineEvent[]) =>
  events.flatMap(event =>
    event.kind === 'target-health' ? [`${event.target} ${event.from} ${event.to} ${event.reason}`] : []
  )

export const health: Record<string, EngineCase> = {
  async 'three consecutive failures fail a target, one attempt follows after ten seconds, two successes heal it'(
    t,
    openEngine
  ) {
    const { engine, events, counters } = engineFixture(t, openEngine)
    const first = await freePort()
    const rule = await ruleTo([first, await openLabelled(t, 'second')])
    await engine.open(rule)
    const beganAt = Date.now()

    for (let i = 0; i < 3; i++) t.equal(await whoAnswers(t, rule.from), 'second')
    t.match(counters(), {
      targetFailovers: 3,
      targets: [
        {
          health: 'failed',
          consecutiveFailures: 3,
          connectionsTotal: 0,
          lastSuccessAt: null,
          lastFailure: 'refused'
        },
        { health: 'healthy', consecutiveFailures: 0, connectionsTotal: 3, lastFailureAt: null }
      ]
    })
    const failedAt = counters().targets[0]?.lastFailureAt ?? 0
    t.ok(failedAt >= beganAt && failedAt <= Date.now())

    await openLabelled(t, 'first', first)
    t.equal(await whoAnswers(t, rule.from), 'second', 'too early for an attempt')
    t.equal(counters().targetFailovers, 3)
    while ((await whoAnswers(t, rule.from)) === 'second')
      await new Promise(resolve => setTimeout(resolve, 200))
    t.ok(Date.now() - failedAt < 12_000, 'the attempt is not late')
    t.ok(Date.now() - failedAt > 9_500, 'the attempt is not early')
    t.match(counters().targets, [{ health: 'failed', consecutiveFailures: 0, connectionsTotal: 1 }])
    t.equal(await whoAnswers(t, rule.from), 'first')
    t.match(counters().targets, [{ health: 'healthy', connectionsTotal: 2 }])
    t.same(healthChanges(events), [
      '1 unknown healthy connected',
      '0 unknown failed refused',
      '0 failed healthy connected'
    ])
  },

  async 'when all targets have failed, they are tried in order'(t, openEngine) {
    const { engine, events, counters } = engineFixture(t, openEngine)
    const ports = [await freePort(), await freePort()]
    const rule = await ruleTo(ports)
    await engine.open(rule)
    for (let i = 0; i < 3; i++) t.equal(await whoAnswers(t, rule.from), 'reset')
    await until(() => healthChanges(events).length === 2)
    t.match(counters().targets, [{ health: 'failed' }, { health: 'failed' }])

    await openLabelled(t, 'second', ports[1])
    t.equal(await whoAnswers(t, rule.from), 'second')
    await openLabelled(t, 'first', ports[0])

    t.equal(await whoAnswers(t, rule.from), 'first')
  },

  async 'probes detect failure and recovery, and do not count as connections'(t, openEngine) {
    const { engine, events, counters } = engineFixture(t, openEngine)
    const port = await freePort()
    const rule = await ruleTo([port, await openLabelled(t, 'second')], { probeMs: 50 })
    await engine.open(rule)

    await until(() => healthChanges(events).length === 2)
    t.equal(await whoAnswers(t, rule.from), 'second')
    t.equal(counters().targetFailovers, 0)
    await openLabelled(t, 'first', port)
    await until(() => healthChanges(events).length === 3)

    t.same(healthChanges(events).toSorted(), [
      '0 failed healthy connected',
      '0 unknown failed refused',
      '1 unknown healthy connected'
    ])
    t.equal(await whoAnswers(t, rule.from), 'first')
    t.match(counters(), { connectionsTotal: 2, targets: [{ connectionsTotal: 1 }, { connectionsTotal: 1 }] })
  },

  async 'counters name the source of the last attempt, and the reason of the last failure'(t, openEngine) {
    const { engine, counters } = engineFixture(t, openEngine)
    const port = await freePort()
    const probed = await ruleTo([port], { probeMs: 60_000 })
    await engine.open(probed)
    await until(() => counters().targets[0]?.consecutiveFailures === 1)
    t.match(counters().targets, [{ lastFailure: 'refused', lastSource: 'probe' }])

    await openLabelled(t, 'up', port)
    t.equal(await whoAnswers(t, probed.from), 'up')

    t.match(counters().targets, [{ health: 'healthy', lastFailure: 'refused', lastSource: 'traffic' }])
  },

  async 'a rule that replaces another one keeps the reason of the last failure'(t, openEngine) {
    const { engine, counters } = engineFixture(t, openEngine)
    const rule = await ruleTo([await freePort()], { probeMs: 60_000 })
    await engine.open(rule)
    await until(() => counters().targets[0]?.consecutiveFailures === 1)

    await engine.open({ ...rule, id: rule.id + 1, probeMs: 0 }, rule.id)
    await engine.close(rule.id, 0)
    await until(() => engine.sample().rules.length === 1)

    t.match(counters().targets, [{ consecutiveFailures: 1, lastFailure: 'refused', lastSource: 'probe' }])
  },

  async 'a probe without a result in five seconds has failed'(t, openEngine) {
    const { engine, events, counters } = engineFixture(t, openEngine)
    await engine.open(await ruleTo([{ host: 'late.test', port: 9 }], { probeMs: 60_000 }))
    const beganAt = performance.now()

    await until(() => counters().targets[0]?.consecutiveFailures === 1)

    const tookMs = performance.now() - beganAt
    t.ok(tookMs > 4_900 && tookMs < 8_000, `${tookMs} ms`)
    t.same(
      events.map(({ kind }) => kind),
      ['resolve']
    )
  },

  async 'closing a rule ends its probes'(t, openEngine) {
    let probes = 0
    const port = await openTarget(t, socket => {
      probes++
      socket.destroy()
    })
    const { engine, finalCounters } = engineFixture(t, openEngine)
    const rule = await ruleTo([port], { probeMs: 20 })
    await engine.open(rule)
    await until(() => probes > 3)

    await engine.close(rule.id, 60_000)
    await finalCounters(rule.id)

    const after = probes
    await new Promise(resolve => setTimeout(resolve, 200))
    t.ok(probes <= after + 1)
  },

  async 'failed DNS lookups fail their target'(t, openEngine) {
    const names = { 'gone.test': { ok: false, reason: 'nxdomain' } } as const
    const { engine, events, counters } = engineFixture(t, openEngine, { names })
    const rule = await ruleTo([{ host: 'gone.test', port: 9 }, await openLabelled(t, 'second')])
    await engine.open(rule)

    for (let i = 0; i < 4; i++) t.equal(await whoAnswers(t, rule.from), 'second')

    t.ok(healthChanges(events).includes('0 unknown failed nxdomain'))
    t.match(counters(), {
      dnsFailures: 3,
      targetFailovers: 3,
      targets: [{ lastFailure: 'dns_nxdomain' }, {}]
    })
  },

  async 'a filter refusal and a caller that leaves do not change the health of a target'(t, openEngine) {
    const { engine, events, counters } = engineFixture(t, openEngine)
    const deny = { allow: [], deny: [], refusal: 'denied_by_agent' }
    const rule = await ruleTo([9], { target: [deny] })
    await engine.open(rule)
    for (let i = 0; i < 4; i++) t.equal(await endOf(await openCaller(t, rule.from)), 'reset')
    t.match(counters().targets, [{ health: 'unknown', consecutiveFailures: 0, lastFailureAt: null }])
    await engine.close(rule.id, 0)
    await until(() => engine.sample().rules.length === 0)

    const waiting = await ruleTo([{ host: 'late.test', port: 9 }])
    await engine.open(waiting)
    for (let i = 0; i < 4; i++) {
      const caller = await openCaller(t, waiting.from)
      await until(() => portCounters(counters()).active === 1)
      caller.resetAndDestroy()
      await until(() => portCounters(counters()).active === 0)
    }
    t.match(counters().targets, [{ health: 'unknown', consecutiveFailures: 0, lastFailureAt: null }])
    t.same(healthChanges(events), [])
  },

  async 'a healthy target is reported once'(t, openEngine) {
    const { engine, events, counters } = engineFixture(t, openEngine)
    const rule = await openEchoRule(t, engine)
    const beganAt = Date.now()

    for (let i = 0; i < 3; i++) (await openCaller(t, rule.from)).end()
    await until(() => counters().connectionsTotal === 3 && portCounters(counters()).active === 0)

    t.same(healthChanges(events), ['0 unknown healthy connected'])
    const { lastSuccessAt = null } = counters().targets[0] ?? {}
    t.ok(lastSuccessAt !== null && lastSuccessAt >= beganAt && lastSuccessAt <= Date.now())
  },

  async 'rules with names, meters or port ranges also fail over'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const dead = await freePort(2)
    const alive = await freePort(2)
    for (const port of [alive, alive + 1]) await openLabelled(t, `at ${port}`, port)
    engine.setMeter(1, limited({ bytesOut: rate(1_000_000, 1_000_000), connections: 5 }))
    const range = await freePort(2)
    await engine.open(await ruleTo([dead, alive], { from: range, to: range + 1, meters: [1] }))
    const named = await ruleTo([dead, alive], { name: 'one.test', meters: [1] })
    await engine.open(named)

    t.equal(await whoAnswers(t, range + 1), `at ${alive + 1}`)
    t.equal(await whoAnswers(t, named.from, await clientHello({ servername: 'one.test' })), `at ${alive}`)

    t.same(
      engine.sample().rules.map(({ targetFailovers }) => targetFailovers),
      [1, 1]
    )
    t.match(engine.sample().meters, [{ bytesOut: `at ${alive}`.length * 2 }])
  }
}
