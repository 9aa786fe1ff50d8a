// Records of ended flows, for rules with reportEnds.
import { freePort } from '../../support/ports.ts'
import { type EngineCase, engineFixture, noGuards, ruleTo, until } from '../engine-fixture.ts'
import { nextRecord, recordsIn } from './connection-records.ts'
import { openUdpCaller, openUdpRule, openUdpTarget } from './udp-fixture.ts'

export const flowRecords: Record<string, EngineCase> = {
  async 'a rule with reportEnds gets a record of each ended flow'(t, openEngine) {
    const target = await openUdpTarget(t, () => 'ok')
    const fixture = engineFixture(t, openEngine)
    const rule = await openUdpRule(fixture.engine, [target.port], { idleMs: 100, reportEnds: true })
    for (const [index, host] of ['127.0.0.1', '::1'].entries()) {
      const before = Date.now()
      const caller = await openUdpCaller(t, rule.from, host)
      await caller.exchange('hello')

      const record = await nextRecord(fixture, index)
      t.same(record, {
        ruleId: rule.id,
        source: { address: host, port: caller.port },
        listen: { address: host, port: rule.from },
        divert: null,
        target: { index: 0, address: '127.0.0.1', port: target.port },
        serverName: null,
        openedAt: record.openedAt,
        durationMs: record.durationMs,
        bytesIn: 5,
        bytesOut: 2,
        end: 'idle',
        refusal: null
      })
      t.ok(record.openedAt >= before - 10 && record.openedAt + record.durationMs <= Date.now(), 'its times')
    }
  },

  async 'the record of a flow has the local address that its caller sent to'(t, openEngine) {
    const target = await openUdpTarget(t)
    const fixture = engineFixture(t, openEngine, { bind: ['0.0.0.0'] })
    const rule = await openUdpRule(fixture.engine, [target.port], { idleMs: 100, reportEnds: true })

    await (await openUdpCaller(t, rule.from)).exchange('hello')

    t.match(await nextRecord(fixture, 0), { listen: { address: '127.0.0.1', port: rule.from } })
  },

  async 'the record of a flow has the reason of its end'(t, openEngine) {
    const target = await openUdpTarget(t)
    const fixture = engineFixture(t, openEngine)
    const { engine } = fixture
    const rule = await openUdpRule(engine, [target.port], { reportEnds: true })
    const deny = { allow: null, deny: [{ cidr: '127.0.0.1' }], refusal: 'source_denied' }

    await (await openUdpCaller(t, rule.from)).exchange('hello')
    engine.setFilters(rule.id, { ...noGuards, source: deny, target: [] })
    t.match(await nextRecord(fixture, 0), { end: 'refused', refusal: 'source_denied', bytesIn: 5 })
    engine.setFilters(rule.id, { ...noGuards, source: null, target: [] })

    await (await openUdpCaller(t, rule.from)).exchange('hello')
    await engine.close(rule.id, 60_000)
    t.match(await nextRecord(fixture, 1), { end: 'rule_closed', bytesIn: 5, bytesOut: 5 })

    const refusing = await ruleTo([await freePort()], { protocol: 'udp', reportEnds: true })
    await engine.open(refusing)
    const caller = await openUdpCaller(t, refusing.from)
    caller.send('hello')
    t.match(await nextRecord(fixture, 2), { end: 'target_unreachable', bytesIn: 0, target: { index: 0 } })
  },

  async 'a datagram that begins no flow has no record'(t, openEngine) {
    const target = await openUdpTarget(t)
    const fixture = engineFixture(t, openEngine)
    const source = { allow: null, deny: [{ cidr: '127.0.0.1' }], refusal: 'source_denied' }
    const rule = await openUdpRule(fixture.engine, [target.port], { source, reportEnds: true })

    const caller = await openUdpCaller(t, rule.from)
    caller.send('hello')
    await until(() => fixture.counters().rejected['source_denied'] === 1)
    await fixture.engine.close(rule.id, 0)
    await fixture.finalCounters(rule.id)

    t.same(recordsIn(fixture), [])
  }
}
