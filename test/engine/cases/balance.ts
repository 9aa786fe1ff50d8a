// Balance: how connections spread over targets.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'
import type { Balance } from '../../../agent/engine/balance.ts'
import type { EngineRule } from '../../../agent/engine/engine.ts'
import { zeroCounters } from '../../../agent/portable-engine/live-counters.ts'
import { TargetChooser } from '../../../agent/portable-engine/target-chooser.ts'
import { freePort } from '../../support/ports.ts'
import {
  type EngineCase,
  type EngineFixture,
  engineFixture,
  type OpenEngine,
  openTarget,
  ruleTo,
  until
} from '../engine-fixture.ts'

export const balanced = (
  by: Balance['by'],
  weights: readonly number[],
  tiers?: readonly number[]
): Balance => ({
  by,
  weights,
  tiers: tiers ?? weights.map(() => 0)
})

/** Each target greets with its name: 'a', 'b', ... */
const greet = (t: Test, count: number): Promise<number[]> =>
  Promise.all(
    Array.from({ length: count }, (_, at) => openTarget(t, socket => socket.write('abcdef'.charAt(at))))
  )

interface Call {
  readonly target: string
  readonly socket: Socket
}

/** Returns the target that has greeted. The connection stays open. */
async function call(t: Test, { from }: EngineRule, localAddress = '127.0.0.1'): Promise<Call> {
  const socket = connect({ port: from, host: '127.0.0.1', localAddress })
  socket.on('error', () => {})
  t.teardown(() => socket.destroy())
  const [greeting] = await once(socket, 'data')
  return { target: String(greeting), socket }
}

async function open(
  t: Test,
  openEngine: OpenEngine,
  balance: Balance,
  ports?: readonly number[]
): Promise<EngineFixture & { rule: EngineRule; call: (count: number) => Promise<string> }> {
  const fixture = engineFixture(t, openEngine)
  const rule = await ruleTo(ports ?? (await greet(t, balance.weights.length)), { balance })
  await fixture.engine.open(rule)
  return {
    ...fixture,
    rule,
    /** Opens connections one after the other and keeps them open. Returns the names of their targets. */
    async call(count) {
      let targets = ''
      for (let made = 0; made < count; made++) targets += (await call(t, rule)).target
      return targets
    }
  }
}

const count = (all: string, name: string): number => all.split(name).length - 1
const activeOf = ({ counters }: EngineFixture): number[] => counters().targets.map(({ active }) => active)

const refusals = { header: 'proxy_header', untrusted: 'proxy_untrusted' }

/** Allows each thread of an engine to be off by one for each target. */
const isAbout = (value: number, expected: number): boolean => Math.abs(value - expected) <= 4

export const balance: Record<string, EngineCase> = {
  async 'round robin gives each target its share by weight'(t, openEngine) {
    const { call } = await open(t, openEngine, balanced('round_robin', [3, 1, 0]))

    const targets = await call(40)

    t.ok(isAbout(count(targets, 'a'), 30), targets)
    t.equal(count(targets, 'c'), 0)
  },

  async 'new weights apply only to new connections'(t, openEngine) {
    const { engine, rule, call, ...fixture } = await open(t, openEngine, balanced('round_robin', [1, 0]))
    t.equal(await call(3), 'aaa')

    engine.setWeights(rule.id, [0, 5])

    t.equal(await call(3), 'bbb')
    t.same(activeOf({ ...fixture, engine }), [3, 3], 'live ones stay')
    for (const weights of [[1], [1, -1], [1, Number.NaN], [1, 1_000_001]])
      t.throws(() => engine.setWeights(rule.id, weights), { code: 'EINVAL' }, String(weights))
    engine.setWeights(12_345, [1])
    t.equal(await call(1), 'b')
  },

  async 'least connections chooses the target with the fewest connections per weight'(t, openEngine) {
    const { engine, rule, call, ...fixture } = await open(
      t,
      openEngine,
      balanced('least_connections', [1, 0])
    )
    await call(6)
    engine.setWeights(rule.id, [1, 1])

    t.equal(await call(6), 'bbbbbb')
    t.same(activeOf({ ...fixture, engine }), [6, 6])
    engine.setWeights(rule.id, [3, 1])
    t.equal(await call(8), 'aaaaaaaa')
  },

  async 'a connection that has ended or failed to connect is not active'(t, openEngine) {
    const fixture = await open(t, openEngine, balanced('least_connections', [1, 1]), [
      await freePort(),
      (await greet(t, 1))[0] ?? 0
    ])
    const { socket, target } = await call(t, fixture.rule)
    t.equal(target, 'a')
    t.same(activeOf(fixture), [0, 1])
    socket.resetAndDestroy()
    await until(() => activeOf(fixture)[1] === 0)
  },

  async 'random-two chooses the less busy of two random targets'(t, openEngine) {
    const { engine, rule, call } = await open(t, openEngine, balanced('random_two', [1, 0, 0]))
    await call(20)
    engine.setWeights(rule.id, [1, 1, 1])

    const targets = await call(20)

    t.equal(count(targets, 'a'), 0)
    t.ok(count(targets, 'b') > 0 && count(targets, 'c') > 0, targets)
  },

  async 'a source keeps its target in any order of targets, in both engines'(t, openEngine) {
    const ports = await greet(t, 3)
    const balance = balanced('source_hash', [1, 1, 2])
    const { engine, rule } = await open(t, openEngine, balance, ports)
    const swapped = await ruleTo(ports.toReversed(), { balance: balanced('source_hash', [2, 1, 1]) })
    await engine.open(swapped)
    const chooser = new TargetChooser(balance, rule, zeroCounters(rule).targets)

    for (let host = 1; host <= 24; host++) {
      const source = `127.0.1.${host}`
      const { target } = await call(t, rule, source)
      t.equal((await call(t, rule, source)).target, target)
      t.equal((await call(t, swapped, source)).target, target)
      t.equal('abc'.charAt(chooser.choose([0, 1, 2], source) ?? 3), target)
    }
    const sources = Array.from({ length: 250 }, (_, host) => `127.0.1.${host + 1}`)
    t.equal(new Set(sources.map(source => chooser.choose([0, 1, 2], source))).size, 3)

    const before = chooser.choose([0, 1, 2], '127.0.1.1')
    engine.setWeights(
      rule.id,
      [0, 1, 2].map(target => (target === before ? 0 : 1))
    )
    t.not((await call(t, rule, '127.0.1.1')).target, 'abc'.charAt(before ?? 3))
  },

  async 'after a refusal, other targets of the same tier are tried before the next tier'(t, openEngine) {
    const [a = 0, b = 0] = await greet(t, 2)
    const closed = await freePort()
    const tiers = [0, 0, 1]
    const { call, counters } = await open(t, openEngine, balanced('round_robin', [1, 1, 1], tiers), [
      closed,
      a,
      b
    ])
    t.equal(await call(8), 'aaaaaaaa')
    t.ok(counters().targetFailovers > 0)

    const all = await open(t, openEngine, balanced('source_hash', [1, 1, 1], tiers), [closed, closed, b])
    t.equal(await all.call(8), 'bbbbbbbb')
  },

  async 'when all targets have failed, they are still tried'(t, openEngine) {
    const port = await freePort()
    const fixture = await open(t, openEngine, balanced('round_robin', [1, 0]), [port, await freePort()])
    for (let failures = 1; failures <= 3; failures++) {
      connect(fixture.rule.from, '127.0.0.1').on('error', () => {})
      await until(() => fixture.counters().targets[0]?.consecutiveFailures === failures)
    }
    t.equal(fixture.counters().targets[0]?.health, 'failed')

    await openTarget(t, socket => socket.write('a'), { port })
    t.equal(await fixture.call(1), 'a')
  },

  async 'a share scales the weight of a target, and can change while the rule runs'(t, openEngine) {
    const { engine, rule, call } = await open(t, openEngine, balanced('round_robin', [1, 1]))
    engine.setShares(rule.id, [0.25, 1])

    const targets = await call(40)

    t.ok(isAbout(count(targets, 'a'), 8), targets)
    engine.setWeights(rule.id, [4, 1])
    const equal = await call(40)
    t.ok(isAbout(count(equal, 'a'), 20), equal)
    for (const shares of [[1], [1, -1], [1, Number.NaN], [1, 1.5]])
      t.throws(() => engine.setShares(rule.id, shares), { code: 'EINVAL' }, String(shares))
    engine.setShares(12_345, [1])
  },

  async 'an ejected target is used only after all tiers'(t, openEngine) {
    const [a = 0, b = 0, c = 0] = await greet(t, 3)
    const tiers = [0, 0, 1]
    const { engine, rule, call } = await open(t, openEngine, balanced('round_robin', [1, 1, 1], tiers), [
      a,
      b,
      c
    ])
    engine.setShares(rule.id, [0, 1, 1])
    t.equal(await call(4), 'bbbb')
    engine.setShares(rule.id, [0, 0, 1])
    t.equal(await call(4), 'cccc')
    engine.setShares(rule.id, [0, 0, 0])
    t.match(await call(4), /^[ab]+$/)

    const closed = [await freePort(), await freePort()]
    const broken = await open(t, openEngine, balanced('round_robin', [1, 1, 1], tiers), [a, ...closed])
    broken.engine.setShares(broken.rule.id, [0, 1, 1])
    t.equal(await broken.call(8), 'aaaaaaaa', 'when no other target connects')
  },

  async 'a rule opens with given shares'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const rule = await ruleTo(await greet(t, 2), { balance: balanced('round_robin', [1, 1]), shares: [0, 1] })
    await engine.open(rule)

    t.equal((await call(t, rule)).target, 'b')
  },

  async 'a failed target is dialed when no other connects'(t, openEngine) {
    const port = await freePort()
    const dying = createServer(socket => socket.end('y'))
    await once(dying.listen(0, '127.0.0.1'), 'listening')
    const ports = [port, (dying.address() as AddressInfo).port]
    const fixture = await open(t, openEngine, balanced('round_robin', [1, 1]), ports)
    while (fixture.counters().targets[0]?.health !== 'failed') t.equal(await fixture.call(1), 'y')
    t.equal(fixture.counters().targets[0]?.failures, 3)

    await openTarget(t, socket => socket.write('z'), { port })
    dying.close()
    await once(dying, 'close')

    t.equal(await fixture.call(1), 'z')
  },

  async 'connect attempts are counted with their total duration, and failures by number'(t, openEngine) {
    const [a = 0] = await greet(t, 1)
    const fixture = await open(t, openEngine, balanced('round_robin', [1, 1]), [a, await freePort()])
    await fixture.call(4)

    const [first, second] = fixture.counters().targets
    t.equal(first?.connects, 4)
    t.ok((first?.connectMs ?? -1) >= 0)
    t.match(second, { connects: 0, connectMs: 0 })
    t.ok((second?.failures ?? 0) > 0)
  },

  async 'with an IPv6 prefix in the balance, callers of one network keep one target'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const firstRead = { form: 'proxy_protocol', from: ['127.0.0.0/8'], refusals } as const
    const balance = { ...balanced('source_hash', [1, 1, 1]), ipv6Prefix: 64 }
    const rule = await ruleTo(await greet(t, 3), { balance, firstRead })
    await engine.open(rule)
    const chooser = new TargetChooser(balance, rule, zeroCounters(rule).targets)
    const homes = new Set<string>()
    for (let at = 1; at <= 24; at++) {
      const family = at % 8 === 0 ? 'TCP4' : 'TCP6'
      const own = family === 'TCP4' ? `10.0.0.${at}` : `2001:db8:0:${at % 8}:${at}::${at}`
      const socket = connect({ port: rule.from, host: '127.0.0.1' })
      t.teardown(() => socket.destroy())
      socket.write(`PROXY ${family} ${own} ${family === 'TCP4' ? '10.9.9.9' : '::9'} 1 2\r\n`)
      const [greeting] = await once(socket, 'data')
      const network = family === 'TCP4' ? own : `2001:db8:0:${at % 8}::1`
      t.equal('abc'.charAt(chooser.choose([0, 1, 2], network) ?? 3), String(greeting), own)
      homes.add(String(greeting))
    }
    t.ok(homes.size > 1)
  },

  async 'a rule with an invalid balance is refused'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    for (const balance of [
      balanced('round_robin', [1, 1]),
      balanced('round_robin', [-1]),
      balanced('round_robin', [1], [0.5]),
      balanced('magic' as never, [1]),
      { ...balanced('source_hash', [1]), ipv6Prefix: 129 }
    ])
      await t.rejects(engine.open(await ruleTo([9], { balance })), { code: 'EINVAL' })
    t.same(engine.sample().rules, [])
  }
}
