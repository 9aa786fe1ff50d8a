// Records of ended connections, for rules with reportEnds.
import { connect, type Socket } from 'node:net'
import type { Test } from 'tap'
import type { EndedConnection } from '../../../agent/engine/ended-connection.ts'
import type { EngineRule } from '../../../agent/engine/engine.ts'
import { freePort } from '../../support/ports.ts'
import { clientHello } from '../client-hellos.ts'
import {
  collect,
  type EngineCase,
  type EngineFixture,
  echo,
  endOf,
  engineFixture,
  exchange,
  noGuards,
  type OpenEngine,
  openCaller,
  openTarget,
  ruleTo,
  until
} from '../engine-fixture.ts'
import { limited, unlimited } from '../meter-fixture.ts'

export const recordsIn = ({ events }: Pick<EngineFixture, 'events'>): readonly EndedConnection[] =>
  events.flatMap(event => (event.kind === 'connections-ended' ? event.ended : []))

export async function nextRecord(fixture: EngineFixture, before: number): Promise<EndedConnection> {
  await until(() => recordsIn(fixture).length > before)
  const ended = recordsIn(fixture)[before]
  if (!ended) throw new TypeError('no connection has ended')
  return ended
}

async function open(
  t: Test,
  openEngine: OpenEngine,
  serve: (socket: Socket) => void = echo,
  changes: Partial<EngineRule> = {}
) {
  const fixture = engineFixture(t, openEngine)
  fixture.engine.setMeter(1, unlimited)
  const target = await openTarget(t, serve)
  const rule = await ruleTo([target], { meters: [1], reportEnds: true, ...changes })
  await fixture.engine.open(rule)
  return { ...fixture, target, rule }
}

export const connectionRecords: Record<string, EngineCase> = {
  async 'a rule with reportEnds gets a record of each ended connection'(t, openEngine) {
    const fixture = await open(t, openEngine, socket => {
      void collect(socket).then(() => socket.end('you are welcome'))
    })
    const { rule, target } = fixture
    for (const [index, host] of ['127.0.0.1', '::1'].entries()) {
      const before = Date.now()
      const caller = await openCaller(t, rule.from, host)
      const port = caller.localPort // undefined after the end
      caller.end('thank you')
      await collect(caller)

      const record = await nextRecord(fixture, index)
      t.same(record, {
        ruleId: rule.id,
        source: { address: host, port },
        listen: { address: host, port: rule.from },
        divert: null,
        target: { index: 0, address: '127.0.0.1', port: target },
        serverName: null,
        openedAt: record.openedAt,
        durationMs: record.durationMs,
        bytesIn: 9,
        bytesOut: 15,
        end: 'caller_closed',
        refusal: null
      })
      t.ok(record.openedAt >= before - 10 && record.openedAt + record.durationMs <= Date.now(), 'its times')
    }
  },

  async 'a record says who ended the connection, and how'(t, openEngine) {
    const fixture = await open(t, openEngine, socket => {
      socket.on('data', chunk => {
        if (String(chunk) === 'close') socket.end()
        else if (String(chunk) === 'reset') socket.resetAndDestroy()
        else socket.write(chunk)
      })
    })
    const { rule } = fixture
    const call = async () => {
      const caller = await openCaller(t, rule.from)
      await exchange(caller, 'hello')
      return caller
    }
    const closed = await call()
    closed.write('close')
    await collect(closed)
    closed.end()
    t.match(await nextRecord(fixture, 0), { end: 'target_closed', bytesIn: 10, bytesOut: 5 })

    const reset = await call()
    reset.write('reset')
    t.equal(await endOf(reset), 'reset')
    t.match(await nextRecord(fixture, 1), { end: 'target_reset', bytesIn: 10, bytesOut: 5 })

    const resetting = await call()
    resetting.resetAndDestroy()
    t.match(await nextRecord(fixture, 2), { end: 'caller_reset', bytesIn: 5, bytesOut: 5 })
  },

  async 'a record distinguishes an idle connection from an exhausted budget'(t, openEngine) {
    const fixture = await open(t, openEngine, echo, { idleMs: 100 })
    const { engine, rule } = fixture
    await exchange(await openCaller(t, rule.from), 'hello')
    t.match(await nextRecord(fixture, 0), { end: 'idle', bytesIn: 5, bytesOut: 5, refusal: null })

    engine.setBudget(1, { mark: 13, holdMs: 0 })
    const caller = await openCaller(t, rule.from)
    caller.write('hello')
    t.equal(await endOf(caller), 'reset')
    t.match(await nextRecord(fixture, 1), { end: 'budget_spent' })
  },

  async 'refused callers have records with the counted reason'(t, openEngine) {
    const deny = { allow: null, deny: [{ cidr: '::1' }], refusal: 'source_denied' }
    const fixture = await open(t, openEngine, echo, { source: deny })
    const { engine, rule } = fixture
    const refused = { end: 'refused', bytesIn: 0, bytesOut: 0 }

    await openCaller(t, rule.from, '::1')
    t.match(await nextRecord(fixture, 0), {
      ...refused,
      source: { address: '::1', port: Number },
      listen: { address: '::1', port: rule.from },
      target: null,
      refusal: 'source_denied'
    })

    engine.setMeter(1, limited({ connections: 0 }))
    await openCaller(t, rule.from)
    t.match(await nextRecord(fixture, 1), { ...refused, target: null, refusal: 'too_many' })

    engine.setMeter(1, unlimited)
    await exchange(await openCaller(t, rule.from), 'hello')
    engine.setFilters(rule.id, {
      ...noGuards,
      source: { ...deny, deny: [{ cidr: '127.0.0.1' }] },
      target: []
    })
    t.match(await nextRecord(fixture, 2), { end: 'refused', bytesIn: 5, refusal: 'source_denied' })
    t.match(fixture.counters().rejected, { source_denied: 2, too_many: 1 })
  },

  async 'on a port with TLS names, records have the requested name, even without a matching rule'(
    t,
    openEngine
  ) {
    const fixture = await open(t, openEngine, echo, { name: 'one.test' })
    const { rule } = fixture
    const call = async (servername: string) => {
      const caller = await openCaller(t, rule.from)
      caller.end(await clientHello({ servername }))
      await endOf(caller)
    }

    await call('one.test')
    t.match(await nextRecord(fixture, 0), { serverName: 'one.test', end: 'caller_closed', refusal: null })
    await call('other.test')
    const refused = { ruleId: rule.id, end: 'refused', target: null, bytesIn: 0 }
    const listen = { address: '127.0.0.1', port: rule.from }
    t.match(await nextRecord(fixture, 1), {
      ...refused,
      listen,
      serverName: 'other.test',
      refusal: 'sni_miss'
    })
    const silent = await openCaller(t, rule.from)
    silent.end()
    await endOf(silent)
    t.match(await nextRecord(fixture, 2), { ...refused, listen, serverName: null, refusal: 'sni_miss' })
    const resetting = await openCaller(t, rule.from)
    resetting.write('\x16')
    resetting.resetAndDestroy()
    t.match(await nextRecord(fixture, 3), { ...refused, listen, end: 'caller_reset', refusal: null })
    t.match(fixture.counters().rejected, { sni_miss: 2 })
  },

  async 'senders of invalid or untrusted headers have records'(t, openEngine) {
    const firstRead = (cidr: string) =>
      ({
        form: 'proxy_protocol',
        from: [cidr],
        refusals: { header: 'no_header', untrusted: 'stranger' }
      }) as const
    const fixture = await open(t, openEngine, echo, { firstRead: firstRead('127.0.0.1') })
    const refused = { end: 'refused', target: null, serverName: null }

    const caller = await openCaller(t, fixture.rule.from)
    caller.write('GET / HTTP/1.1\r\n\r\n')
    t.match(await nextRecord(fixture, 0), {
      ...refused,
      refusal: 'no_header',
      source: { address: '127.0.0.1' }
    })
    await openCaller(t, fixture.rule.from, '::1')
    t.match(await nextRecord(fixture, 1), { ...refused, refusal: 'stranger', source: { address: '::1' } })
  },

  async 'the record of a connection without a target has no target'(t, openEngine) {
    const fixture = engineFixture(t, openEngine)
    const rule = await ruleTo([await freePort()], { reportEnds: true })
    await fixture.engine.open(rule)

    await openCaller(t, rule.from)

    t.match(await nextRecord(fixture, 0), { end: 'dial_failed', target: null, refusal: null })
  },

  async 'a caller that leaves while its target is dialed has a record'(t, openEngine) {
    const fixture = engineFixture(t, openEngine)
    const rule = await ruleTo([{ host: 'never.test', port: 9 }], { reportEnds: true })
    await fixture.engine.open(rule)
    const asked = () => fixture.events.filter(({ kind }) => kind === 'resolve').length

    const resetting = await openCaller(t, rule.from)
    await until(() => asked() === 1)
    resetting.resetAndDestroy()
    t.match(await nextRecord(fixture, 0), { end: 'caller_reset', target: null })

    const closing = await openCaller(t, rule.from)
    await until(() => asked() === 2)
    closing.end()
    t.match(await nextRecord(fixture, 1), { end: 'caller_closed', target: null })
  },

  async 'the records of a rule precede its closed event'(t, openEngine) {
    const fixture = await open(t, openEngine)
    const { engine, rule, events } = fixture
    await exchange(await openCaller(t, rule.from), 'hello')

    await engine.close(rule.id, 0)
    await fixture.finalCounters(rule.id)

    t.match(await nextRecord(fixture, 0), { end: 'rule_closed', bytesIn: 5, bytesOut: 5 })
    const kinds = events.map(({ kind }) => kind)
    t.ok(kinds.indexOf('connections-ended') < kinds.indexOf('closed'))
  },

  async 'records arrive in batches, and none is lost'(t, openEngine) {
    const fixture = await open(t, openEngine, socket => void socket.end())
    const { rule, events } = fixture
    const count = 600
    for (let begun = 0; begun < count; begun += 50)
      await Promise.all(
        Array.from({ length: 50 }, async () => {
          const socket = connect({ port: rule.from, host: '127.0.0.1' })
          await collect(socket)
        })
      )

    await until(() => recordsIn(fixture).length === count)
    const batches = events.filter(({ kind }) => kind === 'connections-ended')
    t.ok(batches.length < count / 2, `${batches.length} batches`)
    t.ok(batches.every(event => event.kind === 'connections-ended' && event.lost === 0))
    t.equal(fixture.counters().connectionsTotal, count)
  },

  async 'a rule without reportEnds has no records'(t, openEngine) {
    const silent = await open(t, openEngine, echo, { reportEnds: false })
    const { engine, target } = silent
    const asking = await ruleTo([target], { reportEnds: true })
    await engine.open(asking)
    for (const { from } of [silent.rule, asking]) {
      const caller = await openCaller(t, from)
      await exchange(caller, 'hello')
      caller.end()
      await collect(caller)
    }

    await nextRecord(silent, 0)
    await engine.close(silent.rule.id, 0)
    await silent.finalCounters(silent.rule.id)
    t.match(recordsIn(silent), [{ ruleId: asking.id }])
    t.equal(recordsIn(silent).length, 1)
  }
}
