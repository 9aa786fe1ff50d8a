// A rule replaces another one: no caller is refused, and live connections continue.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Test } from 'tap'
import type { Engine } from '../../../agent/engine/engine.ts'
import { freePort } from '../../support/ports.ts'
import { clientHello } from '../client-hellos.ts'
import {
  collect,
  type EngineCase,
  echo,
  endOf,
  engineFixture,
  exchange,
  openCaller,
  openTarget,
  ruleTo,
  until
} from '../engine-fixture.ts'
import { limited } from '../meter-fixture.ts'

const greeter = (name: string) => (socket: Socket) => {
  socket.write(name)
  echo(socket)
}
const firstChunk = async (socket: Socket): Promise<string> => {
  const { promise, resolve } = Promise.withResolvers<string>()
  socket.once('data', chunk => {
    socket.pause()
    resolve(String(chunk))
  })
  return promise
}
const bytesOf = (engine: Engine): number =>
  engine
    .sample()
    .rules.reduce((sum, { ports }) => sum + ports.reduce((all, { bytesIn }) => all + bytesIn, 0), 0)

/** Opens a rule with two ports and the targets 'x' and 'y'. */
async function twoPorts(t: Test) {
  const port = await freePort(2)
  for (const [at, name] of ['x', 'y'].entries()) await openTarget(t, greeter(name), { port: port + at })
  const from = await freePort(2)
  return { from, targets: [port], both: await ruleTo([port], { from, to: from + 1 }) }
}

export const ruleReplacement: Record<string, EngineCase> = {
  async 'a replacement takes new callers; live connections keep their target and are counted'(t, openEngine) {
    const old = await openTarget(t, greeter('old'))
    const next = await openTarget(t, greeter('new'))
    const { engine, finalCounters } = engineFixture(t, openEngine)
    const before = await ruleTo([old])
    await engine.open(before)
    const live = await openCaller(t, before.from)
    t.equal(await firstChunk(live), 'old')

    const after = await ruleTo([next], { from: before.from })
    await engine.open(after, before.id)
    await engine.close(before.id, null)

    t.equal(await exchange(live, 'still'), 'still')
    t.equal(await firstChunk(await openCaller(t, before.from)), 'new')
    live.end()
    t.equal(await endOf(live), 'fin')
    t.match(await finalCounters(before.id), { connectionsTotal: 1, ports: [{ bytesIn: 5, bytesOut: 8 }] })
    t.match(engine.sample().rules, [{ ruleId: after.id, connectionsTotal: 1 }])
  },

  async 'many changes under heavy load refuse no caller and close no connection'(t, openEngine) {
    const one = await openTarget(t, echo)
    const two = await openTarget(t, echo)
    const { engine } = engineFixture(t, openEngine)
    let rule = await ruleTo([one])
    await engine.open(rule)
    const live = await Promise.all(Array.from({ length: 20 }, () => openCaller(t, rule.from)))
    let isChanging = true
    let served = 0
    const storm = async () => {
      while (isChanging) {
        const caller = connect({ port: rule.from, host: '127.0.0.1' })
        t.equal(await exchange(caller, 'hello'), 'hello')
        caller.destroy()
        served++
      }
    }
    const storms = [storm(), storm(), storm()]
    await until(() => served > 3)

    for (let change = 0; change < 50; change++) {
      const next = await ruleTo([change % 2 ? one : two], { from: rule.from })
      await engine.open(next, rule.id)
      await engine.close(rule.id, null)
      rule = next
      const target = served
      await until(() => served > target)
    }
    isChanging = false
    await Promise.all(storms)

    for (const caller of live) t.equal(await exchange(caller, 'alive'), 'alive')
    await until(() => engine.sample().rules.length === 2)
    t.equal(bytesOf(engine) > 0, true)
  },

  async 'a range that grows and moves keeps the common ports open'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const target = await freePort(4)
    const from = await freePort(4)
    const ports = (offset: number) => ({ host: '127.0.0.1', port: target + offset })
    for (const offset of [0, 1, 2, 3]) await openTarget(t, echo, { port: target + offset })
    const before = await ruleTo([ports(0)], { from, to: from + 1 })
    await engine.open(before)
    const live = await openCaller(t, from + 1)
    t.equal(await exchange(live, 'a'), 'a')

    const grown = await ruleTo([ports(0)], { from, to: from + 2 })
    await engine.open(grown, before.id)
    t.equal(
      await exchange(await openCaller(t, from + 2), 'b'),
      'b',
      'the new port listens before the old rule closes'
    )
    await engine.close(before.id, null)
    const moved = await ruleTo([ports(1)], { from: from + 1, to: from + 3 })
    await engine.open(moved, grown.id)
    t.equal(await exchange(await openCaller(t, from), 'c'), 'c', 'the old port listens until its rule closes')
    await engine.close(grown.id, null)

    await t.rejects(openCaller(t, from), { code: 'ECONNREFUSED' })
    for (const port of [from + 1, from + 2, from + 3])
      t.equal(await exchange(await openCaller(t, port), 'd'), 'd')
    t.equal(await exchange(live, 'e'), 'e')
  },

  async 'a replacement that cannot bind leaves the open rule as it was'(t, openEngine) {
    const taken = await openTarget(t, echo)
    const { engine } = engineFixture(t, openEngine)
    const rule = await ruleTo([await openTarget(t, echo)])
    await engine.open(rule)

    await t.rejects(engine.open(await ruleTo([taken], { from: taken, to: taken }), rule.id), {
      code: 'EADDRINUSE'
    })
    const other = await ruleTo([taken])
    await engine.open(other)
    await t.rejects(engine.open(await ruleTo([taken], { from: other.from }), rule.id), { code: 'EADDRINUSE' })

    t.equal(await exchange(await openCaller(t, rule.from), 'as before'), 'as before')
    await engine.close(rule.id, 0)
    await t.rejects(openCaller(t, rule.from), { code: 'ECONNREFUSED' })
  },

  async 'a rule changes its target and its TLS name while others share the port'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const targets = await Promise.all(['a', 'b', 'fallback'].map(name => openTarget(t, greeter(name))))
    const [a = 0, b = 0, last = 0] = targets
    const rule = await ruleTo([a], { name: 'a.test' })
    await engine.open(rule)
    await engine.open(await ruleTo([last], { from: rule.from, fallback: true }))
    const answerTo = async (servername: string) => {
      const caller = await openCaller(t, rule.from)
      caller.write(await clientHello({ servername }))
      return (await firstChunk(caller)).slice(0, 8)
    }
    t.match(await answerTo('a.test'), /^a/)

    const retargeted = await ruleTo([b], { from: rule.from, name: 'a.test' })
    await engine.open(retargeted, rule.id)
    await engine.close(rule.id, null)
    t.match(await answerTo('a.test'), /^b/)
    const renamed = await ruleTo([b], { from: rule.from, name: 'b.test' })
    await engine.open(renamed, retargeted.id)
    await engine.close(retargeted.id, null)

    t.match(await answerTo('b.test'), /^b/)
    t.match(await answerTo('a.test'), /^fallback/)
  },

  async 'a plain port becomes a port with TLS names, and plain again'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const target = await openTarget(t, greeter('x'))
    const alone = await ruleTo([target])
    await engine.open(alone)
    const named = await ruleTo([target], { from: alone.from, name: 'a.test' })
    await engine.open(named, alone.id)
    await engine.close(alone.id, null)
    const missed = await openCaller(t, alone.from)
    missed.write(await clientHello({ servername: 'other.test' }))
    t.equal(await endOf(missed), 'reset')

    const again = await ruleTo([target], { from: alone.from })
    await engine.open(again, named.id)
    await engine.close(named.id, null)

    t.equal(await firstChunk(await openCaller(t, alone.from)), 'x')
  },

  async 'connections to reset targets end; the others continue'(t, openEngine) {
    const gone = await openTarget(t, greeter('gone'))
    const kept = await openTarget(t, greeter('kept'))
    const { engine } = engineFixture(t, openEngine)
    const both = { by: 'round_robin', tiers: [0, 0], weights: [1, 1] } as const
    const rule = await ruleTo([gone, kept], { balance: both })
    await engine.open(rule)
    const callers = new Map<string, Socket>()
    while (callers.size < 2) {
      const caller = await openCaller(t, rule.from) // each thread in turn
      callers.set(await firstChunk(caller), caller)
    }

    engine.resetTargets(rule.id, [0])
    engine.resetTargets(rule.id, [7])
    engine.resetTargets(999_999, [0])

    for (const [name, caller] of callers)
      if (name === 'gone') t.equal(await endOf(caller), 'reset')
      else t.equal(await exchange(caller, 'on'), 'on')
  },

  async 'connections of reset ports end; those of remaining ports continue'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const { from, both, targets } = await twoPorts(t)
    await engine.open(both)
    const kept = await openCaller(t, from)
    const gone = await openCaller(t, from + 1)
    t.same([await firstChunk(kept), await firstChunk(gone)], ['x', 'y'])
    const one = await ruleTo(targets, { from })
    await engine.open(one, both.id)
    await engine.close(both.id, null)

    engine.reset(both.id, { from, to: from })
    engine.reset(999_999, null)

    t.equal(await endOf(gone), 'reset')
    t.equal(await exchange(kept, 'on'), 'on')
    engine.reset(both.id, null)
    t.equal(await endOf(kept), 'reset')
  },

  async 'callers in the accept queue of a closing port are served'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const rule = await ruleTo([await openTarget(t, greeter('x'))])
    await engine.open(rule)
    const callers = Array.from({ length: 20 }, () => connect(rule.from, '127.0.0.1'))
    t.teardown(() => callers.forEach(caller => void caller.destroy()))
    const answers = callers.map(caller => once(caller, 'data').then(String, error => error.code))
    for (let turn = 0; turn < 2; turn++) await new Promise(resolve => process.nextTick(resolve)) // they connect

    await engine.close(rule.id, 60_000)

    t.same([...new Set(await Promise.all(answers))], ['x'])
  },

  async 'a partly taken over range is not shared by a third rule'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const { from, both, targets } = await twoPorts(t)
    await engine.open(both)
    const one = await ruleTo(targets, { from })
    await engine.open(one, both.id)

    const again = await ruleTo(targets, { from, to: from + 1 })
    await t.rejects(engine.open(again, both.id), { code: 'EADDRINUSE' })

    t.equal(await firstChunk(await openCaller(t, from)), 'x')
    t.equal(await firstChunk(await openCaller(t, from + 1)), 'y')
  },

  async 'a failed target of both rules stays failed'(t, openEngine) {
    const dead = await freePort()
    const alive = await openTarget(t, echo)
    const { engine, counters } = engineFixture(t, openEngine)
    const rule = await ruleTo([dead, alive])
    await engine.open(rule)
    for (let call = 0; call < 3; call++) await exchange(await openCaller(t, rule.from), 'x')
    await until(() => counters().targets[0]?.health === 'failed')

    const next = await ruleTo([alive, dead], { from: rule.from })
    await engine.open(next, rule.id)

    const health = engine.sample().rules.find(({ ruleId }) => ruleId === next.id)?.targets
    t.match(health, [{ health: 'healthy' }, { health: 'failed', consecutiveFailures: 3 }])
  },

  async 'meters keep their counts over a change'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    engine.setMeter(1, limited({ connections: 2 }))
    const target = await openTarget(t, greeter('in'))
    const rule = await ruleTo([target], { meters: [1] })
    await engine.open(rule)
    const first = await openCaller(t, rule.from)
    await firstChunk(first)

    const next = await ruleTo([target], { from: rule.from, meters: [1] })
    await engine.open(next, rule.id)
    await engine.close(rule.id, null)

    await firstChunk(await openCaller(t, rule.from))
    t.equal(await endOf(await openCaller(t, rule.from)), 'reset', 'the earlier connection counts')
    first.end()
    await collect(first)
    await until(() => engine.sample().rules.length === 1)
    t.equal(await firstChunk(await openCaller(t, rule.from)), 'in')
  }
}
