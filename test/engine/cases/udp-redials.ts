// Flows without an answer of the target are dialed again.
import type { Test } from 'tap'
import type { Engine, EngineEvent, EngineRule, Resolved } from '../../../agent/engine/engine.ts'
import { freePort } from '../../support/ports.ts'
import { type EngineCase, engineFixture, portCounters, ruleTo, until } from '../engine-fixture.ts'
import { limited, meterCounters } from '../meter-fixture.ts'
import { proxyV2, readProxyV2 } from '../preambles.ts'
import { openUdpCaller, openUdpRule, openUdpTarget, type UdpCaller, type UdpTarget } from './udp-fixture.ts'

const unansweredMs = 1_000 // a busy machine must answer sooner
const openSilent = (t: Test, host?: string, port?: number): Promise<UdpTarget> =>
  openUdpTarget(t, () => null, { ...(host && { host }), ...(port && { port }) })

/** Sends a numbered datagram every 20 ms until the condition holds. Returns how many it sent. */
async function repeatUntil(t: Test, caller: UdpCaller, condition: () => boolean): Promise<number> {
  let sent = 0
  const ticks = setInterval(() => caller.send(`${++sent}`), 20)
  t.teardown(() => clearInterval(ticks))
  await until(condition)
  clearInterval(ticks)
  return sent
}

const redialsIn = (events: readonly EngineEvent[]) =>
  events.flatMap(event => (event.kind === 'flow-redialed' ? [`${event.from} to ${event.to}`] : []))
const sockets = (...targets: readonly UdpTarget[]): number[] =>
  targets.map(({ received }) => new Set(received.map(({ port }) => port)).size)
const rowsOf = (engine: Engine) =>
  engine.connections({
    ...{ ids: null, rules: null, sources: null, target: null },
    ...{ sort: 'age', after: null, limit: 10 }
  }).rows
const targetsAt = (port: number, ...hosts: readonly string[]) => hosts.map(host => ({ host, port }))

export const udpRedials: Record<string, EngineCase> = {
  async 'a flow whose target is silent goes to the next target, also while the caller repeats'(
    t,
    openEngine
  ) {
    const silent = await openSilent(t)
    const second = await openUdpTarget(t)
    const { engine, events, finalCounters } = engineFixture(t, openEngine)
    engine.setMeter(1, limited({ connections: 1 }))
    const rule = await openUdpRule(engine, [silent.port, second.port], {
      ...{ unansweredMs, reportEnds: true, flowCap: 1, meters: [1] }
    })
    const caller = await openUdpCaller(t, rule.from)

    const sent = await repeatUntil(t, caller, () => caller.received.length >= 3)
    await until(() => silent.received.length + second.received.length === sent)
    await until(() => caller.received.length === second.received.length)

    t.same(sockets(silent, second), [1, 1])
    t.same(redialsIn(events), ['0 to 1'])
    const [row] = rowsOf(engine)
    t.match(row, { target: { index: 1, port: second.port } }, 'the list shows the new target')
    await engine.close(rule.id, 0)
    const bytes = (at: UdpTarget) => at.received.reduce((sum, one) => sum + one.bytes.length, 0)
    t.match(await finalCounters(rule.id), {
      ...{ connectionsTotal: 1, targetFailovers: 1, flowsDroppedOverflow: 0, rejected: {} },
      ports: [{ active: 0, datagramsIn: sent, datagramsOut: caller.received.length }],
      targets: [
        { active: 0, connectionsTotal: 1, bytesIn: bytes(silent), bytesOut: 0, consecutiveFailures: 1 },
        { active: 0, connectionsTotal: 1, bytesIn: bytes(second), bytesOut: bytes(second), health: 'healthy' }
      ]
    })
    t.match(meterCounters(engine, 1), { active: 0, bytesIn: bytes(silent) + bytes(second) })
  },

  async 'the datagram of a caller that asks again after a long time goes to the next target'(t, openEngine) {
    const silent = await openSilent(t)
    const second = await openUdpTarget(t)
    const { engine } = engineFixture(t, openEngine)
    const rule = await openUdpRule(engine, [silent.port, second.port], { unansweredMs: 50 })
    const caller = await openUdpCaller(t, rule.from)
    caller.send('first')
    await until(() => silent.received.length === 1)

    await until(() => rowsOf(engine).some(({ idleMs }) => idleMs > 60))
    t.equal(await caller.exchange('again'), 'again')
  },

  async 'a flow whose name moves leaves the silent address, without the end of the flow'(t, openEngine) {
    const port = await freePort()
    const before = await openSilent(t, '127.0.0.1', port)
    const after = await openUdpTarget(t, undefined, { host: '127.0.0.2', port })
    const names: Record<string, Resolved> = { 'moving.test': { ok: true, addresses: ['127.0.0.1'] } }
    const { engine, events, counters } = engineFixture(t, openEngine, { names })
    const rule = await openUdpRule(engine, targetsAt(port, 'moving.test'), { unansweredMs })
    const caller = await openUdpCaller(t, rule.from)
    await repeatUntil(t, caller, () => before.received.length > 0)

    names['moving.test'] = { ok: true, addresses: ['127.0.0.2'] }
    await repeatUntil(t, caller, () => caller.received.length > 0)

    t.same(sockets(before, after), [1, 1])
    t.same(redialsIn(events), ['0 to 0'])
    t.match(
      events.find(({ kind }) => kind === 'flow-redialed'),
      { addresses: ['127.0.0.1', '127.0.0.2'] }
    )
    t.match(counters(), { connectionsTotal: 1, targetFailovers: 1, targets: [{ active: 1, failures: 0 }] })
  },

  async 'a flow leaves a silent address for another address of the same name'(t, openEngine) {
    const port = await freePort()
    const silent = await openSilent(t, '127.0.0.1', port)
    await openUdpTarget(t, undefined, { host: '127.0.0.2', port })
    const names = { 'two.test': { ok: true, addresses: ['127.0.0.1', '127.0.0.2'] } } as const
    const { engine } = engineFixture(t, openEngine, { names })
    const rule = await openUdpRule(engine, targetsAt(port, 'two.test'), { unansweredMs })
    const caller = await openUdpCaller(t, rule.from)

    await repeatUntil(t, caller, () => caller.received.length > 0)

    t.same(sockets(silent), [1])
    t.equal(
      await (await openUdpCaller(t, rule.from)).exchange('new'),
      'new',
      'new flows avoid the silent address'
    )
  },

  async 'a one-way flow with one target and an unmoved address keeps its socket'(t, openEngine) {
    for (const host of ['127.0.0.1', 'log.test']) {
      const target = await openSilent(t)
      const names = { 'log.test': { ok: true, addresses: ['127.0.0.1'] } } as const
      const { engine, counters, events } = engineFixture(t, openEngine, { names })
      const rule = await openUdpRule(engine, targetsAt(target.port, host), { unansweredMs: 100 })
      const caller = await openUdpCaller(t, rule.from)
      const begunAt = performance.now()

      const sent = await repeatUntil(t, caller, () => performance.now() - begunAt > 600)

      await until(() => target.received.length === sent)
      t.same(
        target.received.map(({ bytes }) => Number(String(bytes))),
        Array.from({ length: sent }, (_, at) => at + 1),
        `all datagrams arrive in order at ${host}`
      )
      t.same(sockets(target), [1])
      t.same(redialsIn(events), [])
      t.match(counters(), { targetFailovers: 0, rejected: {}, targets: [{ failures: 0 }] })
    }
  },

  async 'a flow rotates through silent targets, and waits the whole time at each'(t, openEngine) {
    const targets = [await openSilent(t), await openSilent(t), await openSilent(t)]
    const { engine, events, counters } = engineFixture(t, openEngine)
    const rule = await openUdpRule(
      engine,
      targets.map(({ port }) => port),
      { unansweredMs: 100 }
    )
    const caller = await openUdpCaller(t, rule.from)
    const begunAt = performance.now()

    const sent = await repeatUntil(t, caller, () => redialsIn(events).length >= 4)

    const most = (performance.now() - begunAt) / 100
    const redials = redialsIn(events)
    t.same(redials.slice(0, 4), ['0 to 1', '1 to 2', '2 to 0', '0 to 1'])
    t.ok(redials.length <= most, `${redials.length} redials, ${most} allowed`)
    await until(() => counters().targetFailovers >= redials.length) // counted after the event
    await until(() => targets.reduce((sum, { received }) => sum + received.length, 0) === sent)
    t.match(counters(), { connectionsTotal: 1, ports: [{ active: 1 }], rejected: {} })
  },

  async 'a flow of a rule with a balance tries each target before it returns to one'(t, openEngine) {
    const silent = [await openSilent(t), await openSilent(t)]
    const last = await openUdpTarget(t)
    const { engine, events } = engineFixture(t, openEngine)
    const rule = await openUdpRule(
      engine,
      [...silent, last].map(({ port }) => port),
      {
        unansweredMs,
        balance: { by: 'source_hash', tiers: [0, 0, 1], weights: [1, 1, 1] }
      }
    )
    const caller = await openUdpCaller(t, rule.from)

    await repeatUntil(t, caller, () => caller.received.length > 0)

    t.same(sockets(...silent), [1, 1])
    t.equal(redialsIn(events).length, 2)
  },

  async 'a flow with answers keeps its target, also when the last datagram before a pause has none'(
    t,
    openEngine
  ) {
    const first = await openUdpTarget(t, bytes => (String(bytes) === 'bye' ? null : bytes))
    const second = await openUdpTarget(t, () => 'second')
    const { engine, events } = engineFixture(t, openEngine)
    const rule = await openUdpRule(engine, [first.port, second.port], { unansweredMs: 300 })
    const caller = await openUdpCaller(t, rule.from)
    for (let round = 0; round < 3; round++) {
      await caller.exchange('hello')
      const before = first.received.length
      caller.send('bye')
      await until(() => first.received.length > before)
      await until(() => rowsOf(engine).some(({ idleMs }) => idleMs > 350))
    }

    t.equal(await caller.exchange('hello again'), 'hello again')
    t.same(redialsIn(events), [])
    t.same(sockets(first, second), [1, 0])
  },

  async 'a flow whose target falls silent goes to the next one'(t, openEngine) {
    const first = await openUdpTarget(t, bytes => (String(bytes) === 'hello' ? 'first' : null))
    const second = await openUdpTarget(t, () => 'second')
    const { engine, counters } = engineFixture(t, openEngine)
    const rule = await openUdpRule(engine, [first.port, second.port], { unansweredMs })
    const caller = await openUdpCaller(t, rule.from)
    t.equal(await caller.exchange('hello'), 'first')

    await repeatUntil(t, caller, () => caller.received.map(String).includes('second'))

    t.match(counters(), { targetFailovers: 1, connectionsTotal: 1 })
  },

  async 'the preamble precedes the first datagram to each target'(t, openEngine) {
    const targets = [await openSilent(t), await openUdpTarget(t, () => 'answer')]
    const { engine } = engineFixture(t, openEngine)
    const rule = await openUdpRule(
      engine,
      targets.map(({ port }) => port),
      { unansweredMs: 300, preamble: proxyV2('udp') }
    )
    const caller = await openUdpCaller(t, rule.from)

    await repeatUntil(t, caller, () => caller.received.length > 1)

    for (const { received } of targets) {
      const [first = Buffer.alloc(0), second] = received.map(({ bytes }) => bytes)
      t.match(readProxyV2(first), { isIntact: true, ports: [caller.port, rule.from] })
      t.match(String(second), /^\d+$/)
    }
  },

  async 'new flows go to the next target when three flows had no answer from the first one'(t, openEngine) {
    const silent = await openSilent(t)
    const second = await openUdpTarget(t)
    const { engine, events } = engineFixture(t, openEngine)
    const rule = await openUdpRule(engine, [silent.port, second.port], { unansweredMs: 100, idleMs: 2_000 })
    for (let flow = 0; flow < 3; flow++) (await openUdpCaller(t, rule.from)).send('one datagram')

    await until(() => events.some(({ kind }) => kind === 'target-health'))

    t.match(
      events.find(({ kind }) => kind === 'target-health'),
      { target: 0, to: 'failed', reason: 'no_answer' }
    )
    t.equal(await (await openUdpCaller(t, rule.from)).exchange('hello'), 'hello')
    t.equal(silent.received.length, 3)
  },

  async 'callers that a target ignores do not make it fail while it answers others'(t, openEngine) {
    const picky = await openUdpTarget(t, bytes => (String(bytes) === 'hello' ? bytes : null))
    const second = await openUdpTarget(t, () => 'second')
    const { engine, events, counters } = engineFixture(t, openEngine)
    const rule = await openUdpRule(engine, [picky.port, second.port], { unansweredMs: 1_000, idleMs: 2_000 })
    const friend = await openUdpCaller(t, rule.from)
    await friend.exchange('hello')
    for (let flow = 0; flow < 4; flow++) (await openUdpCaller(t, rule.from)).send('a scan')
    await until(() => picky.received.length === 5)

    await friend.exchange('hello')
    await until(() => portCounters(counters()).active <= 1) // the others have ended

    t.same(
      events.filter(event => event.kind === 'target-health' && event.to === 'failed'),
      []
    )
    t.equal(await (await openUdpCaller(t, rule.from)).exchange('hello'), 'hello')
  },

  async 'a flow of a replaced rule leaves a silent target for the new one'(t, openEngine) {
    const old = await openSilent(t)
    const next = await openUdpTarget(t)
    const { engine, finalCounters } = engineFixture(t, openEngine)
    const first = await openUdpRule(engine, [old.port], { unansweredMs })
    const caller = await openUdpCaller(t, first.from)
    await repeatUntil(t, caller, () => old.received.length > 0)

    const after = await ruleTo([next.port], { ...udp, from: first.from })
    await engine.open(after, first.id)
    await engine.close(first.id, null)
    await repeatUntil(t, caller, () => caller.received.length > 0)

    t.match(await finalCounters(first.id), { connectionsTotal: 1, targetFailovers: 0 })
  },

  async 'a one-way flow of a replaced rule keeps its socket if the new rule has the same target'(
    t,
    openEngine
  ) {
    const target = await openSilent(t)
    const { engine } = engineFixture(t, openEngine)
    const first = await openUdpRule(engine, [target.port], { unansweredMs: 100 })
    const caller = await openUdpCaller(t, first.from)
    caller.send('hello')
    await until(() => target.received.length === 1)
    const after = await ruleTo([target.port], { ...udp, unansweredMs: 100, from: first.from })
    await engine.open(after, first.id)
    await engine.close(first.id, null)
    const begunAt = performance.now()

    const sent = await repeatUntil(t, caller, () => performance.now() - begunAt > 500)

    await until(() => target.received.length === sent + 1)
    t.same(sockets(target), [1])
  },

  async 'a flow that is dialed again stays within the descriptors of its owner, and leaks none'(
    t,
    openEngine
  ) {
    const targets = [await openSilent(t), await openSilent(t)]
    const { engine, events, finalCounters } = engineFixture(t, openEngine)
    const rule = await openUdpRule(
      engine,
      targets.map(({ port }) => port),
      { unansweredMs: 50, idleMs: 300 }
    )
    const caller = await openUdpCaller(t, rule.from)
    const before = await openDescriptors()
    await repeatUntil(t, caller, () => redialsIn(events).length >= 5)
    t.ok((await openDescriptors()) <= before + 4, 'one socket, and one that closes')

    await engine.close(rule.id, 0)
    t.match(await finalCounters(rule.id), { targets: [{ active: 0 }, { active: 0 }], ports: [{ active: 0 }] })
  }
}

const udp: Partial<EngineRule> = { protocol: 'udp', idleMs: 60_000 }

/** Returns how many descriptors the process has, or 0 where the system does not tell. */
async function openDescriptors(): Promise<number> {
  const { readdir } = await import('node:fs/promises')
  return readdir('/proc/self/fd').then(
    ({ length }) => length,
    () => 0
  )
}
