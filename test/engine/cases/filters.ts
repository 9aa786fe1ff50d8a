// Filters: which callers are accepted, and which targets may be dialed.
import { once } from 'node:events'
import {
  type EngineCase,
  echo,
  endOf,
  engineFixture,
  exchange,
  noGuards,
  openCaller,
  openEchoRule,
  openTarget,
  portCounters,
  ruleTo,
  until
} from '../engine-fixture.ts'

export const filters: Record<string, EngineCase> = {
  async 'the source filter checks the address of a caller'(t, openEngine) {
    const port = await openTarget(t, echo)
    const { engine, counters } = engineFixture(t, openEngine)
    const source = { allow: [{ cidr: '127.0.0.0/8' }], deny: [], refusal: 'source_denied' }
    const rule = await ruleTo([port], { source })
    await engine.open(rule)

    t.equal(await exchange(await openCaller(t, rule.from, '127.0.0.1'), 'in'), 'in')
    t.equal(await endOf(await openCaller(t, rule.from, '::1')), 'reset')

    t.match(counters(), { connectionsTotal: 1, rejected: { source_denied: 1 } })
  },

  async 'the target filter checks address, port and name of a dial'(t, openEngine) {
    const port = await openTarget(t, echo)
    const names = { 'good.test': { ok: true, addresses: ['::ffff:127.0.0.1'] } } as const
    const { engine, counters } = engineFixture(t, openEngine, { names })
    const target = { host: 'good.test', port }
    const outcome = async (deny: object[], allow: object[] | null = null) => {
      const rule = await ruleTo([target], { target: [{ allow, deny, refusal: 'denied_by_agent' }] })
      await engine.open(rule)
      const caller = await openCaller(t, rule.from)
      caller.write('hello')
      const end = await Promise.race([endOf(caller), once(caller, 'data').then(() => 'served')])
      await until(() => end === 'served' || portCounters(counters()).active === 0)
      const { rejected } = counters()
      await engine.close(rule.id, 0)
      await until(() => engine.sample().rules.length === 0)
      return end === 'served' ? end : rejected
    }
    const denied = { denied_by_agent: 1 }

    t.same(await outcome([{ cidr: '127.0.0.0/8' }]), denied)
    t.same(await outcome([{ cidr: '127.0.0.1', ports: [port, port] }]), denied)
    t.same(await outcome([{ cidr: '::ffff:127.0.0.0/104' }]), denied)
    t.same(await outcome([{ host: 'good.test' }]), denied)
    t.same(await outcome([], []), denied)
    t.same(await outcome([], [{ host: 'other.test' }]), denied)
    t.same(await outcome([], [{ host: 'good.test' }]), 'served')
    t.same(await outcome([{ cidr: '127.0.0.1', ports: [1, 9] }, { cidr: 'fd00::/8' }]), 'served')
  },

  async 'when one address of a target is denied, another one is dialed'(t, openEngine) {
    const port = await openTarget(t, echo)
    const names = { 'two.test': { ok: true, addresses: ['::1', '127.0.0.1'] } } as const
    const { engine, counters } = engineFixture(t, openEngine, { names })
    const filter = { allow: null, deny: [{ cidr: '::1' }], refusal: 'denied_by_agent' }
    const rule = await ruleTo([{ host: 'two.test', port }], { target: [filter] })
    await engine.open(rule)

    t.equal(await exchange(await openCaller(t, rule.from), 'hello'), 'hello')
    t.same(counters().rejected, {})
  },

  async 'new filters reset exactly the connections that they deny'(t, openEngine) {
    const { engine, counters } = engineFixture(t, openEngine)
    const rule = await openEchoRule(t, engine)
    const four = await openCaller(t, rule.from, '127.0.0.1')
    const six = await openCaller(t, rule.from, '::1')
    await exchange(four, 'hello')
    await exchange(six, 'hello')
    const deny = (cidr: string) => ({ allow: null, deny: [{ cidr }], refusal: 'source_denied' })

    engine.setFilters(rule.id, { ...noGuards, source: deny('::1'), target: [] })

    t.equal(await endOf(six), 'reset')
    t.equal(await exchange(four, 'still here'), 'still here')
    engine.setFilters(rule.id, { ...noGuards, source: null, target: [deny('127.0.0.1')] })
    t.equal(await endOf(four), 'reset')
    engine.setFilters(rule.id, { ...noGuards, source: null, target: [] })
    t.equal(await exchange(await openCaller(t, rule.from), 'again'), 'again')
    t.match(counters().rejected, { source_denied: 2 })
  },

  async 'a rule with an invalid filter is refused, and no port opens'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    for (const cidr of [
      '10.0.0.0/33',
      '::/129',
      'example.org',
      '10.0.0.0/',
      '10.0.0.0/8/8',
      '::ffff:10.0.0.0/8'
    ]) {
      const source = { allow: null, deny: [{ cidr }], refusal: 'source_denied' }
      await t.rejects(engine.open(await ruleTo([9], { source })), { code: 'EINVAL' }, cidr)
    }
    t.same(engine.sample().rules, [])
  }
}
