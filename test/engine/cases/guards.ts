// Checks of a caller's address: address sets, and limits per source.
import type { SourceLimit } from '../../../agent/engine/source-guard.ts'
import {
  type EngineCase,
  type EngineFixture,
  echo,
  endOf,
  engineFixture,
  exchange,
  openCaller,
  openEchoRule,
  openTarget,
  ruleTo,
  until
} from '../engine-fixture.ts'

const denying = (set: string, live: 'reset' | 'keep') =>
  ({ allow: null, deny: [set], live, refusal: 'source_banned' }) as const

const limit = (changes: Partial<SourceLimit>): SourceLimit => ({
  name: 'a',
  of: 'open',
  max: 1,
  perMs: 60_000,
  refusal: 'source_limit',
  ...changes
})

const overOf = ({ events }: EngineFixture) => events.filter(({ kind }) => kind === 'source-over')

export const guards: Record<string, EngineCase> = {
  async 'rules share a set of addresses, which can change while they are open'(t, openEngine) {
    const { engine, counters } = engineFixture(t, openEngine)
    const guarded = { addressGuards: [denying('bans', 'reset')] }
    const one = await openEchoRule(t, engine, guarded)
    const other = await openEchoRule(t, engine, guarded)

    engine.changeAddresses('bans', { add: ['127.0.0.1', '10.0.0.0/8', '2001:db8::/32'], remove: [] })
    t.equal(await endOf(await openCaller(t, one.from)), 'reset')
    t.equal(await endOf(await openCaller(t, other.from)), 'reset')
    t.match(counters().rejected, { source_banned: 1 })
    t.equal(engine.guardRefusal(one.id, '127.0.0.1'), 'source_banned')
    t.equal(engine.guardRefusal(one.id, '64:ff9b::10.1.2.3'), 'source_banned')
    t.equal(await exchange(await openCaller(t, one.from, '::1'), 'six'), 'six')
    t.equal(engine.guardRefusal(one.id, '::1'), null)
    t.equal(engine.guardRefusal(one.id + 1000, '127.0.0.1'), null, 'there is no such rule')

    engine.changeAddresses('bans', { add: ['::1'], remove: ['127.0.0.1'] })
    t.equal(await exchange(await openCaller(t, one.from), 'again'), 'again')
    t.equal(await endOf(await openCaller(t, one.from, '::1')), 'reset')
    engine.changeAddresses('bans', { add: ['::/0'], remove: ['::1'] })
    t.equal(await endOf(await openCaller(t, one.from, '::1')), 'reset')
    engine.changeAddresses('bans', { add: ['127.0.0.0/9'], remove: ['::/0'] })
    t.equal(
      await endOf(await openCaller(t, one.from)),
      'reset',
      'a prefix length that is not a multiple of 8'
    )
  },

  async 'an allow set accepts only its addresses; an unknown set is empty'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const guard = { allow: ['home'], deny: ['bans'], live: 'reset', refusal: 'source_denied' } as const
    const rule = await openEchoRule(t, engine, { addressGuards: [guard] })

    t.equal(await endOf(await openCaller(t, rule.from)), 'reset')
    engine.changeAddresses('home', { add: ['127.0.0.0/8'], remove: [] })
    t.equal(await exchange(await openCaller(t, rule.from), 'in'), 'in')
    engine.changeAddresses('bans', { add: ['127.0.0.1'], remove: [] })
    t.equal(await endOf(await openCaller(t, rule.from)), 'reset')
  },

  async 'an invalid prefix changes nothing'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const rule = await openEchoRule(t, engine, { addressGuards: [denying('bans', 'reset')] })
    for (const bad of ['example.org', '10.0.0.0/33', '::/129', ''])
      t.throws(() => engine.changeAddresses('bans', { add: ['127.0.0.1', bad], remove: [] }), {
        code: 'EINVAL'
      })
    t.equal(await exchange(await openCaller(t, rule.from), 'in'), 'in')
  },

  async 'a change of a set ends open connections if the guard has live: reset'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const resetting = await openEchoRule(t, engine, { addressGuards: [denying('bans', 'reset')] })
    const keeping = await openEchoRule(t, engine, { addressGuards: [denying('bans', 'keep')] })
    const cut = await openCaller(t, resetting.from)
    const kept = await openCaller(t, keeping.from)
    await exchange(cut, 'hello')
    await exchange(kept, 'hello')

    const end = endOf(cut)
    engine.changeAddresses('bans', { add: ['127.0.0.0/8'], remove: [] })
    t.equal(await end, 'reset')
    engine.setFilters(keeping.id, { ...keeping })
    t.equal(await exchange(kept, 'still'), 'still')
    t.equal(await endOf(await openCaller(t, keeping.from)), 'reset')
  },

  async 'a source is limited to its maximum of open connections over all rules with the same limit name'(
    t,
    openEngine
  ) {
    const { engine, counters } = engineFixture(t, openEngine)
    const limited = { sourceLimits: [limit({ max: 2 })] }
    const rule = await openEchoRule(t, engine, limited)
    const other = await openEchoRule(t, engine, limited)
    const first = await openCaller(t, rule.from)
    await exchange(first, 'one')
    await exchange(await openCaller(t, other.from), 'two')

    t.equal(await endOf(await openCaller(t, rule.from)), 'reset')
    t.match(counters().rejected, { source_limit: 1 })
    t.equal(await exchange(await openCaller(t, rule.from, '::1'), 'another'), 'another')

    first.destroy()
    await until(() => engine.sample().rules[0]?.ports[0]?.active === 1)
    await exchange(await openCaller(t, rule.from), 'free again')
    engine.setFilters(rule.id, { ...rule, sourceLimits: [limit({ max: 3 })] })
    await exchange(await openCaller(t, rule.from), 'raised')
    t.equal(await endOf(await openCaller(t, rule.from)), 'reset')
  },

  async 'only a source that begins too many connections is refused'(t, openEngine) {
    const { engine, counters } = engineFixture(t, openEngine)
    const rule = await openEchoRule(t, engine, { sourceLimits: [limit({ of: 'new', max: 2 })] })
    for (const text of ['one', 'two']) await exchange(await openCaller(t, rule.from), text)
    t.equal(await endOf(await openCaller(t, rule.from)), 'reset')
    t.match(counters().rejected, { source_limit: 1 })
    await exchange(await openCaller(t, rule.from, '::1'), 'another')

    engine.setFilters(rule.id, { ...rule, sourceLimits: [limit({ of: 'new', max: 2, perMs: 1 })] })
    const isServed = async () =>
      exchange(await openCaller(t, rule.from), 'it refills').then(
        () => true,
        () => false
      )
    while (!(await isServed())); // the threads of the engine apply it one after the other
  },

  async 'a limit without a refusal only reports the source'(t, openEngine) {
    const fixture = engineFixture(t, openEngine)
    const { engine } = fixture
    const rule = await openEchoRule(t, engine, {
      sourceLimits: [limit({ of: 'new', max: 1, refusal: null })]
    })
    for (const text of ['one', 'two', 'three']) await exchange(await openCaller(t, rule.from), text)
    await exchange(await openCaller(t, rule.from, '::1'), 'four')
    await exchange(await openCaller(t, rule.from, '::1'), 'five')

    await until(() => overOf(fixture).length === 2)
    t.same(overOf(fixture), [
      { kind: 'source-over', ruleId: rule.id, source: '127.0.0.1', limit: 'a' },
      { kind: 'source-over', ruleId: rule.id, source: '::/64', limit: 'a' }
    ])
  },

  async 'failed handshakes count for their source, except those of trusted proxies'(t, openEngine) {
    const fixture = engineFixture(t, openEngine)
    const { engine, counters } = fixture
    const target = await openTarget(t, echo)
    const sourceLimits = [limit({ of: 'failed', max: 1, refusal: null })]
    const named = await ruleTo([target], { name: 'a.example', sourceLimits })
    await engine.open(named)
    for (let i = 0; i < 2; i++) {
      const scanner = await openCaller(t, named.from)
      scanner.write('GET / HTTP/1.0\r\n\r\n')
      t.equal(await endOf(scanner), 'reset')
    }
    await until(() => overOf(fixture).length === 1)
    t.match(counters().rejected, { sni_miss: 2 })

    const refusals = { header: 'proxy_header', untrusted: 'proxy_untrusted' }
    const firstRead = { form: 'proxy_protocol', from: ['127.0.0.1'], refusals } as const
    const behind = await ruleTo([target], {
      firstRead,
      sourceLimits: [limit({ ...sourceLimits[0], name: 'b' })]
    })
    await engine.open(behind)
    for (let i = 0; i < 3; i++) {
      const proxy = await openCaller(t, behind.from)
      proxy.write('nonsense\r\n')
      t.equal(await endOf(proxy), 'reset')
    }
    for (let i = 0; i < 2; i++) t.equal(await endOf(await openCaller(t, behind.from, '::1')), 'reset')
    await until(() => overOf(fixture).length === 2)
    t.match(overOf(fixture)[1], { ruleId: behind.id, source: '::/64', limit: 'b' })
  },

  async 'limits and sets apply to the address that a proxy in front sends'(t, openEngine) {
    const { engine, counters } = engineFixture(t, openEngine)
    const refusals = { header: 'proxy_header', untrusted: 'proxy_untrusted' }
    const rule = await openEchoRule(t, engine, {
      firstRead: { form: 'proxy_protocol', from: ['127.0.0.1'], refusals },
      addressGuards: [denying('bans', 'reset')],
      sourceLimits: [limit({ max: 1 })]
    })
    engine.changeAddresses('bans', { add: ['192.0.2.9'], remove: [] })
    const from = async (address: string) => {
      const caller = await openCaller(t, rule.from)
      caller.write(`PROXY TCP4 ${address} 198.51.100.1 4000 443\r\n`)
      return caller
    }
    const local = async () => {
      const caller = await openCaller(t, rule.from)
      caller.write('PROXY UNKNOWN\r\n')
      return caller
    }
    t.equal(await exchange(await from('192.0.2.1'), 'in'), 'in')
    t.equal(await endOf(await from('192.0.2.1')), 'reset')
    t.equal(await exchange(await from('192.0.2.2'), 'in'), 'in')
    t.equal(await endOf(await from('192.0.2.9')), 'reset')
    for (const text of ['one', 'two']) t.equal(await exchange(await local(), text), text)
    t.match(counters().rejected, { source_limit: 1, source_banned: 1 })
  }
}
