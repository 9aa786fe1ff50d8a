// Diverts: other targets for the callers of some sources.
import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { Test } from 'tap'
import type { Divert } from '../../../agent/engine/divert.ts'
import type { Engine, EngineRule } from '../../../agent/engine/engine.ts'
import type { OpenConnection } from '../../../agent/engine/open-connection.ts'
import { freePort } from '../../support/ports.ts'
import { clientHello } from '../client-hellos.ts'
import {
  type EngineCase,
  endOf,
  engineFixture,
  openCaller,
  openTarget,
  portCounters,
  ruleTo,
  until
} from '../engine-fixture.ts'
import { limited, meterTotal, rate, unlimited } from '../meter-fixture.ts'
import { proxyV1 } from '../preambles.ts'
import { nextRecord } from './connection-records.ts'
import { proxyFirstRead } from './first-read.ts'

/** A target that greets with its name, then echoes. */
const openNamed = (t: Test, name: string): Promise<number> =>
  openTarget(t, socket => {
    socket.write(name)
    socket.pipe(socket)
  })

export const divertTo = (port: number, changes: Partial<Divert> = {}): Divert => ({
  name: 'tarpit',
  from: ['slow'],
  targets: [{ host: '127.0.0.1', port }],
  refusalBeyond: null,
  ...changes
})

/** Returns what the caller receives first, or how it ends. */
async function firstOf(caller: Socket): Promise<string> {
  if (caller.errored) return 'reset'
  const { promise, resolve } = Promise.withResolvers<string>()
  caller.once('data', chunk => resolve(String(chunk)))
  caller.once('close', () => resolve('reset'))
  return promise
}

export const rowsOf = (engine: Engine): readonly OpenConnection[] =>
  engine.connections({
    ids: null,
    rules: null,
    sources: null,
    target: null,
    sort: 'age',
    after: null,
    limit: 100
  }).rows

/** Opens a rule with an own target 'own' and a divert to 'tarpit' of the callers in the set 'slow'. */
async function openDiverting(
  t: Test,
  openEngine: Parameters<EngineCase>[1],
  { changes = {}, ...divert }: Partial<Divert> & { readonly changes?: Partial<EngineRule> } = {}
) {
  const fixture = engineFixture(t, openEngine)
  fixture.engine.setMeter(1, unlimited)
  const own = await openNamed(t, 'own')
  const tarpit = await openNamed(t, 'tarpit')
  const rule = await ruleTo([own], { diverts: [divertTo(tarpit, divert)], meters: [1], ...changes })
  await fixture.engine.open(rule)
  return { ...fixture, own, tarpit, rule }
}

const divertSlow = (engine: Engine): void =>
  engine.changeAddresses('slow', { add: ['127.0.0.1'], remove: [] })

/** How callers of a rule with these settings begin, and the bytes of it that the engine forwards. */
const paths: Readonly<Record<string, { rule: Partial<EngineRule>; head: string; hello: boolean }>> = {
  plain: { rule: {}, head: '', hello: false },
  'a preamble': { rule: { preamble: proxyV1 }, head: '', hello: false },
  'a balance': { rule: { balance: { by: 'round_robin', tiers: [0], weights: [1] } }, head: '', hello: false },
  'a proxy in front': {
    rule: { firstRead: proxyFirstRead },
    head: 'PROXY TCP4 192.0.2.7 198.51.100.1 4000 443\r\n',
    hello: false
  },
  'a TLS name': { rule: { name: 'one.test' }, head: '', hello: true },
  'a TLS name, a proxy in front and a preamble': {
    rule: { name: 'one.test', firstRead: proxyFirstRead, preamble: proxyV1 },
    head: 'PROXY TCP4 192.0.2.7 198.51.100.1 4000 443\r\n',
    hello: true
  }
}

/** The same story on a path: diverted, refused beyond the maximum, kept over changes, drained, counted to the byte. */
const onPath =
  ({ rule: changes, head, hello }: (typeof paths)[string]): EngineCase =>
  async (t, openEngine) => {
    const fixture = await openDiverting(t, openEngine, {
      refusalBeyond: { max: 1, reason: 'tarpit_full' },
      changes: { ...changes, reportEnds: true }
    })
    const { engine, rule, tarpit, counters } = fixture
    const source = head === '' ? '127.0.0.1' : '192.0.2.7'
    const body = hello ? await clientHello({ servername: 'one.test' }) : Buffer.from('hello')
    const call = async () => {
      const caller = await openCaller(t, rule.from)
      caller.write(head)
      caller.write(body)
      return caller
    }
    engine.changeAddresses('slow', { add: [source], remove: [] })
    const live = await call()
    t.equal((await firstOf(live)).slice(0, 6), 'tarpit')
    t.equal(await firstOf(await call()), 'reset')
    t.match(counters().rejected, { tarpit_full: 1 })

    engine.changeAddresses('slow', { add: [], remove: [source] })
    const own = await call()
    t.equal((await firstOf(own)).slice(0, 3), 'own')
    t.same(new Set(rowsOf(engine).map(({ divert }) => divert)), new Set([null, 'tarpit']))
    own.destroy()
    await until(() => portCounters(counters()).active === 1)
    const ownBytes = counters().targets[0]

    engine.changeAddresses('slow', { add: [source], remove: [] })
    const after = await ruleTo([fixture.own], { ...rule, id: rule.id + 10_000 })
    await engine.open({ ...after, targets: rule.targets }, rule.id)
    await engine.close(rule.id, null)
    t.equal(await firstOf(await call()), 'reset', 'the new rule continues the count')
    live.write('more')
    await until(() => rowsOf(engine).some(({ bytesIn }) => bytesIn === body.length + 4))
    live.end()
    live.resume()
    await once(live, 'end')

    const final = await fixture.finalCounters(rule.id)
    const { bytesIn = 0, bytesOut = 0 } = final.diverts[0] ?? {}
    t.match(final.diverts, [{ name: 'tarpit', bytesIn: body.length + 4, connectionsTotal: 1, active: 0 }])
    t.same(final.targets, [ownBytes], 'the rule’s own target has no byte of it')
    t.equal(portCounters(final).bytesIn, bytesIn + (ownBytes?.bytesIn ?? 0))
    t.equal(portCounters(final).bytesOut, bytesOut + (ownBytes?.bytesOut ?? 0))
    t.equal(meterTotal(engine, 1), portCounters(final).bytesIn + portCounters(final).bytesOut)
    t.equal((await firstOf(await call())).slice(0, 6), 'tarpit', 'the place is free again')
    t.equal(rowsOf(engine)[0]?.target?.port, tarpit)
  }

export const diverts: Record<string, EngineCase> = {
  ...Object.fromEntries(Object.entries(paths).map(([name, path]) => [`a divert with ${name}`, onPath(path)])),

  async 'callers in a set are diverted, listed and counted as such; others are not'(t, openEngine) {
    const fixture = await openDiverting(t, openEngine, { changes: { reportEnds: true } })
    const { engine, rule, tarpit, counters } = fixture
    t.equal(engine.divertOf(rule.id, '127.0.0.1'), null)
    divertSlow(engine)
    t.equal(engine.divertOf(rule.id, '127.0.0.1'), 'tarpit')
    t.equal(engine.divertOf(rule.id, '::1'), null)
    t.equal(engine.divertOf(rule.id + 1, '127.0.0.1'), null)

    const slow = await openCaller(t, rule.from)
    t.equal(await firstOf(slow), 'tarpit')
    const other = await openCaller(t, rule.from, '::1')
    t.equal(await firstOf(other), 'own')
    const rows = Map.groupBy(rowsOf(engine), ({ divert }) => divert)
    t.match(rows.get('tarpit'), [{ target: { address: '127.0.0.1', port: tarpit, index: 0 } }])
    t.match(rows.get(null), [{ target: { port: fixture.own, index: 0 } }])
    t.match(counters(), {
      connectionsTotal: 2,
      ports: [{ active: 2, bytesOut: 9 }],
      targets: [{ active: 1, bytesOut: 3, connectionsTotal: 1, connects: 1 }],
      diverts: [{ name: 'tarpit', active: 1, bytesIn: 0, bytesOut: 6, connectionsTotal: 1 }]
    })
    slow.destroy()
    t.match(await nextRecord(fixture, 0), { divert: 'tarpit', target: { port: tarpit, index: 0 } })
    other.destroy()
    t.match(await nextRecord(fixture, 1), { divert: null })
    t.match(counters().diverts, [{ active: 0 }])
  },

  async 'the first divert with the address takes the caller'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const ports = [await openNamed(t, 'a'), await openNamed(t, 'b'), await openNamed(t, 'own')] as const
    const rule = await ruleTo([ports[2]], {
      diverts: [
        divertTo(ports[0], { name: 'a', from: ['unknown', 'first'] }),
        divertTo(ports[1], { name: 'b', from: ['second'] })
      ]
    })
    await engine.open(rule)
    engine.changeAddresses('second', { add: ['127.0.0.0/8', '::1'], remove: [] })
    engine.changeAddresses('first', { add: ['127.0.0.1'], remove: [] })
    t.equal(await firstOf(await openCaller(t, rule.from)), 'a')
    t.equal(await firstOf(await openCaller(t, rule.from, '::1')), 'b')
    engine.changeAddresses('second', { add: [], remove: ['::1'] })
    t.equal(await firstOf(await openCaller(t, rule.from, '::1')), 'own')
  },

  async 'an IPv6 address that leads to an IPv4 address of a set is diverted'(t, openEngine) {
    const { engine, rule } = await openDiverting(t, openEngine, { changes: { firstRead: proxyFirstRead } })
    engine.changeAddresses('slow', { add: ['192.0.2.7'], remove: [] })
    const from = async (address: string) => {
      const caller = await openCaller(t, rule.from)
      caller.write(`PROXY TCP6 ${address} 2001:db8::1 4000 443\r\n`)
      return firstOf(caller)
    }
    t.equal(await from('64:ff9b::192.0.2.7'), 'tarpit')
    t.equal(await from('64:ff9b::192.0.2.8'), 'own')
    t.equal(engine.divertOf(rule.id, '64:ff9b::c000:207'), 'tarpit')
  },

  async 'a caller of a range gets the same port of the divert'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const ports = await freePort(2)
    for (const at of [0, 1])
      await openTarget(t, socket => void socket.write(`tarpit ${at}`), { port: ports + at })
    const from = await freePort(2)
    const rule = await ruleTo([1], { from, to: from + 1, diverts: [divertTo(ports)] })
    await engine.open(rule)
    divertSlow(engine)
    for (const at of [1, 0]) t.equal(await firstOf(await openCaller(t, from + at)), `tarpit ${at}`)
  },

  async 'guards and source limits refuse before a divert, meters after it'(t, openEngine) {
    const limit = { name: 'a', of: 'open', max: 1, perMs: 1, refusal: 'source_limit' } as const
    const { engine, rule, counters } = await openDiverting(t, openEngine, {
      refusalBeyond: { max: 1, reason: 'tarpit_full' },
      changes: { addressGuards: [{ allow: null, deny: ['bans'], live: 'keep', refusal: 'source_banned' }] }
    })
    divertSlow(engine)
    const first = await openCaller(t, rule.from)
    t.equal(await firstOf(first), 'tarpit')
    engine.setMeter(1, limited({ newConnections: rate(0, 1) }))
    t.equal(await firstOf(await openCaller(t, rule.from)), 'reset')
    t.same(counters().rejected, { tarpit_full: 1 }, 'the refused caller takes no token of the meter')
    engine.setFilters(rule.id, { ...rule, sourceLimits: [limit] })
    const second = await openCaller(t, rule.from)
    t.equal(await firstOf(second), 'reset')
    t.same(counters().rejected, { tarpit_full: 2 }, 'a limit counts callers from its beginning')
    engine.changeAddresses('bans', { add: ['127.0.0.1'], remove: [] })
    t.equal(await firstOf(await openCaller(t, rule.from)), 'reset')
    t.match(counters().rejected, { source_banned: 1, tarpit_full: 2 })
    engine.changeAddresses('bans', { add: [], remove: ['127.0.0.1'] })
    first.destroy()
    await until(() => portCounters(counters()).active === 0)
    const third = await openCaller(t, rule.from)
    t.equal(await firstOf(third), 'tarpit')
    t.equal(await firstOf(await openCaller(t, rule.from)), 'reset')
    t.match(counters().rejected, { source_limit: 1 })
    third.destroy()
    await until(() => portCounters(counters()).active === 0)
    t.equal(await firstOf(await openCaller(t, rule.from)), 'reset')
    t.match(counters().rejected, { too_fast: 1 })
    t.match(counters().diverts, [{ active: 0 }], 'a caller that a meter refuses leaves its place')
  },

  async 'targets of a divert that fail change nothing of the rule’s own targets'(t, openEngine) {
    const down = await freePort()
    const fixture = engineFixture(t, openEngine)
    const { engine, events, counters } = fixture
    const own = await openNamed(t, 'own')
    const tarpit = await openNamed(t, 'tarpit')
    const targets = [down, tarpit].map(port => ({ host: '127.0.0.1', port }))
    const rule = await ruleTo([own], { diverts: [divertTo(tarpit, { targets })] })
    await engine.open(rule)
    divertSlow(engine)
    for (let call = 0; call < 4; call++)
      t.equal(await firstOf(await openCaller(t, rule.from)), 'tarpit', 'the next target takes the caller')
    t.equal(rowsOf(engine)[0]?.target?.index, 1)

    const alone = await ruleTo([own], { diverts: [divertTo(down)] })
    await engine.open(alone)
    for (let call = 0; call < 4; call++) t.equal(await firstOf(await openCaller(t, alone.from)), 'reset')
    const unused = { health: 'unknown', failures: 0, connects: 0, connectionsTotal: 0, lastFailure: null }
    for (const { targets, targetFailovers } of engine.sample().rules)
      t.match({ targets, targetFailovers }, { targets: [unused], targetFailovers: 0 })
    t.match(engine.sample().rules[1]?.rejected, { no_target: 4 })
    t.same(
      events.filter(({ kind }) => kind === 'target-health'),
      []
    )
    t.equal(counters().targets.length, 1)
  },

  async 'probes, weights, shares and resets of targets concern the rule’s own'(t, openEngine) {
    const probed: string[] = []
    const server = (name: string) =>
      openTarget(t, socket => {
        probed.push(name)
        socket.write(name)
        socket.pipe(socket)
      })
    const { engine, counters } = engineFixture(t, openEngine)
    const own = await server('own')
    const tarpit = await server('tarpit')
    const balance = { by: 'round_robin', tiers: [0], weights: [1] } as const
    const rule = await ruleTo([own], { probeMs: 20, balance, diverts: [divertTo(tarpit)] })
    await engine.open(rule)
    await until(() => (counters().targets[0]?.connects ?? 0) > 3)
    t.notOk(probed.includes('tarpit'))
    divertSlow(engine)
    const slow = await openCaller(t, rule.from)
    t.equal(await firstOf(slow), 'tarpit')
    const other = await openCaller(t, rule.from, '::1')
    t.equal(await firstOf(other), 'own')

    engine.setWeights(rule.id, [0])
    engine.setShares(rule.id, [1])
    t.throws(() => engine.setWeights(rule.id, [1, 1]), { code: 'EINVAL' })
    engine.resetTargets(rule.id, [0])
    t.equal(await endOf(other), 'reset')
    slow.write('still')
    t.equal(await firstOf(slow), 'still')
    t.equal(
      await firstOf(await openCaller(t, rule.from)),
      'tarpit',
      'a weight of 0 is that of the own target'
    )
  },

  async 'the filters of the rule apply to the targets of a divert'(t, openEngine) {
    const { engine, rule, tarpit, counters } = await openDiverting(t, openEngine)
    divertSlow(engine)
    const live = await openCaller(t, rule.from)
    t.equal(await firstOf(live), 'tarpit')
    const deny = [{ cidr: '127.0.0.1', ports: [tarpit, tarpit] as const }]
    const end = endOf(live)
    engine.setFilters(rule.id, { ...rule, target: [{ allow: null, deny, refusal: 'denied_by_agent' }] })
    t.equal(await end, 'reset')
    t.equal(await firstOf(await openCaller(t, rule.from)), 'reset')
    t.match(counters().rejected, { denied_by_agent: 2 })
    t.equal(await firstOf(await openCaller(t, rule.from, '::1')), 'own')

    const loop = await ruleTo([1], { diverts: [divertTo(rule.from)] })
    await engine.open(loop)
    t.equal(await firstOf(await openCaller(t, loop.from)), 'reset')
    t.match(engine.sample().rules[1]?.rejected, { loop: 1 })
  },

  async 'a cut, or the end of the drain, resets diverted connections'(t, openEngine) {
    const { engine, rule, finalCounters } = await openDiverting(t, openEngine, {
      refusalBeyond: { max: 1, reason: 'tarpit_full' }
    })
    divertSlow(engine)
    const slow = await openCaller(t, rule.from)
    t.equal(await firstOf(slow), 'tarpit')
    const end = endOf(slow)
    await engine.close(rule.id, 50)
    t.equal(await end, 'reset')
    t.match((await finalCounters(rule.id)).diverts, [{ active: 0, connectionsTotal: 1 }])
  },

  async 'an invalid divert is refused with its field'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const good = divertTo(1)
    const beyond = (max: number, reason = 'full') => [{ ...good, refusalBeyond: { max, reason } }]
    const bad: readonly (readonly [RegExp, readonly Divert[]])[] = [
      [/^diverts must have 0 to 8 entries, got 9$/, Array.from({ length: 9 }, () => good)],
      [/^diverts\[0\]\.name must be kebab-case with at most 64 /, [{ ...good, name: 'Tarpit' }]],
      [/^diverts\[1\]\.name must be unique in the rule, got tarpit twice$/, [good, good]],
      [/^diverts\[0\]\.from must have 1 to 8 entries, got 0$/, [{ ...good, from: [] }]],
      [/^diverts\[0\]\.from must name sets with 1 to 128 characters$/, [{ ...good, from: [''] }]],
      [/^diverts\[0\]\.targets must have 1 to 8 entries, got 0$/, [{ ...good, targets: [] }]],
      [
        /^diverts\[0\]\.targets must have addresses or lower-case DNS names as hosts, got A b$/,
        [{ ...good, targets: [{ host: 'A b', port: 1 }] }]
      ],
      [/^diverts\[0\]\.targets must have ports 1 to 65534, got 65535$/, [divertTo(65_535)]],
      [/^diverts\[0\]\.refusalBeyond\.max must be an integer of at least 1, got 0$/, beyond(0)],
      [/^diverts\[0\]\.refusalBeyond\.max must be an integer of at least 1, got 1\.5$/, beyond(1.5)],
      [/^diverts\[0\]\.refusalBeyond\.reason must have 1 to 32 characters .* got Full!$/, beyond(1, 'Full!')]
    ]
    const from = await freePort(2)
    for (const [message, diverts] of bad) {
      const rule = await ruleTo([1], { from, to: from + 1, diverts })
      await t.rejects(engine.open(rule), { code: 'EINVAL', message })
    }
  }
}
