// Operators list open connections and end them.
import { once } from 'node:events'
import type { Test } from 'tap'
import type { ConnectionQuery } from '../../../agent/engine/open-connection.ts'
import {
  type EngineCase,
  echo,
  engineFixture,
  openCaller,
  openTarget,
  ruleTo,
  until
} from '../engine-fixture.ts'
import { limited, rate, unlimited } from '../meter-fixture.ts'
import { openUdpCaller, openUdpRule, openUdpTarget } from './udp-fixture.ts'

const all: ConnectionQuery = {
  ids: null,
  rules: null,
  sources: null,
  target: null,
  sort: 'bytes',
  after: null,
  limit: 100
}

/** Opens callers of a rule; each sends one byte more than the previous one. */
async function openCallers(t: Test, openEngine: Parameters<EngineCase>[1], count: number) {
  const fixture = engineFixture(t, openEngine)
  const target = await openTarget(t, echo)
  const rule = await ruleTo([target])
  await fixture.engine.open(rule)
  const callers = []
  for (let bytes = 1; bytes <= count; bytes++) {
    const caller = await openCaller(t, rule.from)
    caller.on('error', () => {}) // reset
    caller.write('x'.repeat(bytes))
    await once(caller, 'data')
    callers.push(caller)
  }
  const { engine } = fixture
  const total = (count * (count + 1)) / 2
  await until(() => engine.connections(all).rows.reduce((sum, { bytesOut }) => sum + bytesOut, 0) === total)
  return { ...fixture, target, rule, callers }
}

export const connectionLists: Record<string, EngineCase> = {
  async 'connections are selected by the planned target of their rule'(t, openEngine) {
    const { engine, rule, callers } = await openCallers(t, openEngine, 2)
    const other = await ruleTo([await openTarget(t, echo)])
    await engine.open(other)
    const third = await openCaller(t, other.from)
    third.on('error', () => {}) // reset
    third.write('x')
    await once(third, 'data')
    const matched = (ruleTargets: ConnectionQuery['ruleTargets'] & object): number =>
      engine.connections({ ...all, ruleTargets }).matched

    t.equal(matched([{ rule: rule.id, target: 0 }]), 2)
    t.equal(matched([{ rule: other.id, target: 0 }]), 1)
    t.equal(
      matched([
        { rule: other.id, target: 0 },
        { rule: rule.id, target: 0 }
      ]),
      3
    )
    t.equal(matched([{ rule: rule.id, target: 1 }]), 0)
    t.equal(matched([]), 0)

    const { sort: _, after: __, limit: ___, ...selection } = all
    const ended = new Promise(resolve => third.once('close', resolve))
    t.equal(engine.endConnections({ ...selection, ruleTargets: [{ rule: other.id, target: 0 }] }), 1)
    await ended
    t.notOk(callers.some(({ destroyed }) => destroyed))
  },
  async 'a row has the caller, the target and the delivered bytes'(t, openEngine) {
    const { engine, rule, target, callers } = await openCallers(t, openEngine, 1)

    const { rows, ...sums } = engine.connections(all)

    t.same(sums, { matched: 1, bytesIn: 1, bytesOut: 1 })
    const [row] = rows
    t.match(row, {
      ruleId: rule.id,
      source: { address: '127.0.0.1', port: callers[0]?.localPort },
      listen: { address: '127.0.0.1', port: rule.from },
      target: { address: '127.0.0.1', port: target, index: 0 },
      bytesIn: 1,
      bytesOut: 1,
      key: 2,
      heldBy: null
    })
    t.ok(row && row.ageMs >= 0 && row.idleMs >= 0 && row.idleMs <= row.ageMs)
    for (const leg of [row?.caller, row?.targetLeg])
      t.ok(leg === null || (leg && leg.rttMs >= 0 && leg.retransmits === 0), 'statistics of the leg')
  },

  async 'pages are sorted, continue after their last row, and skip none'(t, openEngine) {
    const { engine, rule } = await openCallers(t, openEngine, 5)

    const first = engine.connections({ ...all, limit: 2 })
    const last = first.rows.at(-1)
    const second = engine.connections({ ...all, after: last ?? null })

    t.equal(first.matched, 5)
    t.strictSame(
      [...first.rows, ...second.rows].map(({ bytesIn }) => bytesIn),
      [5, 4, 3, 2, 1]
    )
    t.equal(new Set([...first.rows, ...second.rows].map(({ id }) => id)).size, 5)
    const oldest = engine.connections({ ...all, sort: 'age', limit: 2 })
    await until(() => (engine.connections(all).rows[0]?.ageMs ?? 0) > (oldest.rows[0]?.ageMs ?? 0) + 50)
    const others = engine.connections({ ...all, sort: 'age', after: oldest.rows.at(-1) ?? null })
    t.strictSame(
      [...oldest.rows, ...others.rows].map(({ bytesIn }) => bytesIn).sort(),
      [1, 2, 3, 4, 5],
      'also if time passes between pages'
    )
    const ages = engine.connections({ ...all, sort: 'age' }).rows.map(({ key }) => key)
    t.strictSame(
      ages,
      ages.toSorted((a, b) => b - a)
    )
    t.equal(engine.connections({ ...all, rules: [rule.id] }).matched, 5)
    t.equal(engine.connections({ ...all, rules: [] }).matched, 0)
  },

  async 'connections can be selected by source and target'(t, openEngine) {
    const { engine, rule, target } = await openCallers(t, openEngine, 2)
    const six = await openCaller(t, rule.from, '::1')
    six.write('x')
    await once(six, 'data')
    const count = (selection: Partial<ConnectionQuery>) =>
      engine.connections({ ...all, ...selection }).matched

    t.equal(count({ sources: ['127.0.0.0/8'] }), 2)
    t.equal(count({ sources: ['::1'] }), 1)
    t.equal(count({ sources: ['10.0.0.0/8'] }), 0)
    t.equal(count({ sources: ['10.0.0.0/8', '::1'] }), 1)
    t.equal(count({ sources: [] }), 0)
    t.equal(count({ target: { address: '127.0.0.1', port: null } }), 3)
    t.equal(count({ target: { address: '127.0.0.1', port: target } }), 3)
    t.equal(count({ target: { address: '127.0.0.1', port: 1 } }), 0)
    t.throws(() => count({ sources: ['everywhere'] }), { code: 'EINVAL' })
  },

  async 'exactly the selected connections are reset'(t, openEngine) {
    const { engine, callers } = await openCallers(t, openEngine, 3)
    const [largest] = engine.connections(all).rows

    const closed = new Promise(resolve => callers[2]?.once('close', resolve))
    t.equal(engine.endConnections({ ...all, ids: [largest?.id ?? 0] }), 1)
    await closed

    t.strictSame(
      engine.connections(all).rows.map(({ bytesIn }) => bytesIn),
      [2, 1]
    )
    t.equal(engine.endConnections({ ...all, ids: [largest?.id ?? 0] }), 0)
    t.equal(engine.endConnections({ ...all, sources: ['127.0.0.1'] }), 2)
    await until(() => engine.connections(all).matched === 0)
  },

  async 'the row of a connection that waits for a meter names the meter'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const target = await openTarget(t, echo)
    engine.setMeter(1, unlimited)
    engine.setMeter(2, limited({ bytesIn: rate(1, 1) }))
    const rule = await ruleTo([target], { meters: [1, 2] })
    await engine.open(rule)
    const caller = await openCaller(t, rule.from)
    caller.write('x'.repeat(100_000))

    await until(() => engine.connections(all).rows[0]?.heldBy === 2)
  }
}

export const udpConnectionLists: Record<string, EngineCase> = {
  async 'flows are listed and ended like connections'(t, openEngine) {
    const target = await openUdpTarget(t, () => 'ok')
    const { engine } = engineFixture(t, openEngine)
    const rule = await openUdpRule(engine, [target.port])
    const caller = await openUdpCaller(t, rule.from)
    await caller.exchange('hello')
    await until(() => engine.connections(all).rows[0]?.bytesIn === 5)

    t.match(engine.connections(all), {
      matched: 1,
      rows: [
        {
          ruleId: rule.id,
          source: { address: '127.0.0.1', port: caller.port },
          listen: { address: '127.0.0.1', port: rule.from },
          target: { address: '127.0.0.1', port: target.port, index: 0 },
          bytesIn: 5,
          bytesOut: 2,
          heldBy: null,
          caller: null,
          targetLeg: null
        }
      ]
    })
    t.equal(engine.endConnections({ ...all, sources: ['127.0.0.1'] }), 1)
    t.equal(engine.connections(all).matched, 0)
  }
}
