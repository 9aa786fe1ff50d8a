// A UDP rule replaces another one, and its flows continue.
import type { Test } from 'tap'
import { freePort } from '../../support/ports.ts'
import { type EngineCase, engineFixture, type OpenEngine, ruleTo, until } from '../engine-fixture.ts'
import { openUdpCaller, openUdpRule, openUdpTarget } from './udp-fixture.ts'

async function replacedWhileLive(t: Test, openEngine: OpenEngine) {
  const target = await openUdpTarget(t)
  const { engine, finalCounters } = engineFixture(t, openEngine)
  const first = await openUdpRule(engine, [target.port])
  const live = await openUdpCaller(t, first.from)
  await live.exchange('a')
  const next = await ruleTo([target.port], { protocol: 'udp', from: first.from })
  await engine.open(next, first.id)
  await engine.close(first.id, null)
  return { engine, finalCounters, first, next, live }
}

export const udpRuleReplacement: Record<string, EngineCase> = {
  async 'flows keep their target over many changes, and new ones go to the new target'(t, openEngine) {
    const old = await openUdpTarget(t, () => 'old')
    const next = await openUdpTarget(t, () => 'new')
    const { engine, finalCounters } = engineFixture(t, openEngine)
    const first = await openUdpRule(engine, [old.port], { flowCap: 3 })
    const live = await openUdpCaller(t, first.from)
    t.equal(await live.exchange('a'), 'old')

    let rule = first
    for (let change = 0; change < 5; change++) {
      const after = await ruleTo([next.port], {
        protocol: 'udp',
        from: first.from,
        idleMs: 60_000,
        flowCap: 3
      })
      await engine.open(after, rule.id)
      await engine.close(rule.id, null)
      rule = after
      t.equal(await live.exchange('b'), 'old')
    }

    const second = await openUdpCaller(t, first.from)
    t.equal(await second.exchange('c'), 'new')
    t.equal(await (await openUdpCaller(t, first.from)).exchange('d'), 'new')
    ;(await openUdpCaller(t, first.from)).send('one too many')
    await until(() => engine.sample().rules.some(({ flowsDroppedOverflow }) => flowsDroppedOverflow === 1))
    t.equal(engine.sample().rules.length, 2, 'intermediate rules have ended')
    engine.resetTargets(first.id, [0])
    t.match(await finalCounters(first.id), {
      connectionsTotal: 1,
      ports: [{ datagramsIn: 6, datagramsOut: 6 }]
    })
    t.equal(await live.exchange('e'), 'new', 'its next datagram begins a new flow')
  },

  async 'flows of reset ports leave the table at once; those of other ports continue'(t, openEngine) {
    const { engine, first, live } = await replacedWhileLive(t, openEngine)
    const { from } = first

    engine.reset(first.id, { from, to: from })
    t.equal(engine.sample().rules.find(({ ruleId }) => ruleId === first.id)?.ports[0]?.active, 1)
    engine.reset(first.id, null)

    await until(() => engine.sample().rules.every(({ ruleId }) => ruleId !== first.id))
    t.ok(await live.exchange('b'), 'its next datagram begins a new flow')
  },

  async 'flows end when the rule that took over their sockets closes'(t, openEngine) {
    const { engine, finalCounters, first, next } = await replacedWhileLive(t, openEngine)

    await engine.close(next.id, 60_000)

    await finalCounters(first.id)
    await finalCounters(next.id)
    t.same(engine.sample().rules, [])
  },

  async 'flows on handed-over sockets end after their drain, which a second close shortens'(t, openEngine) {
    const { engine, finalCounters, first, next } = await replacedWhileLive(t, openEngine)

    await engine.close(first.id, 60_000)
    await engine.close(first.id, 50)

    t.match(await finalCounters(first.id), { connectionsTotal: 1 })
    t.match(engine.sample().rules, [{ ruleId: next.id }])
  },

  async 'cutting a rule ends its flows on handed-over sockets'(t, openEngine) {
    const { engine, finalCounters, first, next, live } = await replacedWhileLive(t, openEngine)

    await engine.close(first.id, 0)

    await finalCounters(first.id)
    await live.exchange('b')
    t.match(engine.sample().rules, [{ ruleId: next.id, connectionsTotal: 1 }])
  },

  async 'a range that moves keeps the flows of common ports'(t, openEngine) {
    const first = await freePort(2)
    const from = await freePort(3)
    const target = await openUdpTarget(t, undefined, { port: first })
    await openUdpTarget(t, undefined, { port: first + 1 })
    const { engine } = engineFixture(t, openEngine)
    const ports = { protocol: 'udp', idleMs: 60_000 } as const
    const before = await ruleTo([target.port], { ...ports, from, to: from + 1 })
    await engine.open(before)
    const left = await openUdpCaller(t, from)
    const kept = await openUdpCaller(t, from + 1)
    await left.exchange('a')
    await kept.exchange('b')

    const after = await ruleTo([target.port], { ...ports, from: from + 1, to: from + 2 })
    await engine.open(after, before.id)
    t.equal(await left.exchange('c'), 'c')
    await engine.close(before.id, null)

    t.equal(await kept.exchange('d'), 'd')
    t.match(
      engine.sample().rules.map(({ ruleId, connectionsTotal }) => ({ ruleId, connectionsTotal })),
      [
        { ruleId: before.id, connectionsTotal: 2 },
        { ruleId: after.id, connectionsTotal: 0 }
      ]
    )
    kept.close()
  },

  async 'idle flows of a replaced rule end'(t, openEngine) {
    const target = await openUdpTarget(t)
    const { engine, finalCounters } = engineFixture(t, openEngine)
    const first = await openUdpRule(engine, [target.port], { idleMs: 100 })
    await (await openUdpCaller(t, first.from)).exchange('a')
    const next = await ruleTo([target.port], { protocol: 'udp', from: first.from })
    await engine.open(next, first.id)

    await engine.close(first.id, null)

    t.match(await finalCounters(first.id), { ports: [{ datagramsIn: 1, active: 0 }] })
  }
}
