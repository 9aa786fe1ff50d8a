// Addresses that are used after their time because name servers do not answer.
import t from 'tap'
import { type Answer, a, failed, found, never, resolverFixture } from './resolver-fixture.ts'

t.test('NXDOMAIN for AAAA does not throw away the addresses while A is not answered', async t => {
  for (const [four, six] of [
    [never, 'ENOTFOUND'],
    ['ESERVFAIL', 'ENOTFOUND'],
    ['EREFUSED', 'ENOTFOUND'],
    ['ETIMEOUT', 'ENODATA'],
    ['ENOTFOUND', 'ENOTIMP'],
    ['ENODATA', never]
  ] as const satisfies readonly (readonly [Answer, Answer])[]) {
    const { resolve, clock, table } = resolverFixture(t, { 'web.test': [a('10.0.0.1', 10), 'ENOTFOUND'] })
    await resolve('web.test')
    table['web.test'] = [four, six]
    await clock.advance(10_000)

    const pending = resolve('web.test')
    await clock.advance(3_000)
    t.same(await pending, found('10.0.0.1'))
    await clock.advance(50_000)
    t.same(await resolve('web.test'), found('10.0.0.1'), `${String(four)} ${String(six)}`)
  }
})

t.test('a complete answer discards the addresses', async t => {
  for (const answers of [
    ['ENOTFOUND', 'ENOTFOUND'],
    ['ENODATA', 'ENOTFOUND'],
    ['ENODATA', 'ENODATA']
  ] as const) {
    const { resolve, clock, table } = resolverFixture(t, { 'web.test': [a('10.0.0.1', 10), 'ENOTFOUND'] })
    await resolve('web.test')
    table['web.test'] = answers
    await clock.advance(10_000)

    t.match(await resolve('web.test'), { ok: false })
    table['web.test'] = ['ESERVFAIL', 'ESERVFAIL']
    await clock.advance(3_000)
    t.match(await resolve('web.test'), failed('servfail'))
  }
})

t.test('a failure of one family only is reported as the failure, not as the answer of the other', async t => {
  const { resolve, clock } = resolverFixture(t, { 'web.test': [never, 'ENOTFOUND'] })

  const pending = resolve('web.test')
  await clock.advance(3_000)

  t.same(await pending, failed('timeout'))
})

t.test('addresses of a family that is not answered stay in use beside new ones of the other', async t => {
  for (const [answers, both, one] of [
    [['ESERVFAIL', a('fd00::2', 5)], ['10.0.0.1', 'fd00::2'], ['fd00::2']],
    [[a('10.0.0.2', 5), 'ESERVFAIL'], ['10.0.0.2', 'fd00::1'], ['10.0.0.2']]
  ] as const satisfies readonly (readonly [
    readonly [Answer, Answer],
    readonly string[],
    readonly string[]
  ])[]) {
    const { resolve, clock, table } = resolverFixture(t, { 'web.test': [a('10.0.0.1', 5), a('fd00::1', 5)] })
    await resolve('web.test')
    table['web.test'] = answers
    await clock.advance(5_000)

    for (let secs = 0; secs < 60; secs += 5) {
      t.same(await resolve('web.test'), found(...both), `${secs} s`)
      await clock.advance(5_000)
    }
    t.same(await resolve('web.test'), found(...one), 'for 60 s')
  }
})

t.test('an answer without addresses of one family ends their use', async t => {
  const { resolve, clock, table } = resolverFixture(t, { 'web.test': [a('10.0.0.1', 5), a('fd00::1', 5)] })
  await resolve('web.test')
  table['web.test'] = ['ENODATA', a('fd00::2', 5)]
  await clock.advance(5_000)

  t.same(await resolve('web.test'), found('fd00::2'))
})

t.test('stale addresses are served after 1.2 s if the name servers are silent', async t => {
  for (const expiredMs of [0, 30_000, 7_200_000]) {
    const { resolve, clock, table } = resolverFixture(t, { 'web.test': [a('10.0.0.1', 10), 'ENODATA'] })
    await resolve('web.test')
    table['web.test'] = [never, never]
    await clock.advance(10_000 + expiredMs)

    const pending = resolve('web.test')
    await clock.advance(1_200)

    t.same(await pending, found('10.0.0.1'))
  }
})

t.test('while the name servers are silent nobody waits again, for 60 s', async t => {
  const { resolve, clock, table, asked } = resolverFixture(t, { 'web.test': [a('10.0.0.1', 10), 'ENODATA'] })
  await resolve('web.test')
  table['web.test'] = [never, never]
  await clock.advance(10_000)
  const pending = resolve('web.test')
  await clock.advance(1_200)
  await pending
  asked.length = 0

  for (let tenths = 0; tenths < 599; tenths++) {
    t.same(await resolve('web.test'), found('10.0.0.1'))
    await clock.advance(100)
  }
  t.ok(asked.length <= 2 * 8, `it backs off: ${asked.length / 2} lookups`)
  await clock.advance(3_100)
  const late = resolve('web.test')
  await clock.advance(3_000)
  t.same(await late, failed('timeout'))
})

t.test('a slow answer replaces the stale addresses when it comes', async t => {
  const { promise, resolve: answer } = Promise.withResolvers<ReturnType<typeof a>>()
  const { resolve, clock, table } = resolverFixture(t, { 'web.test': [a('10.0.0.1', 10), 'ENODATA'] })
  await resolve('web.test')
  table['web.test'] = [promise, 'ENODATA']
  await clock.advance(10_000)
  const pending = resolve('web.test')
  await clock.advance(2_000)
  t.same(await pending, found('10.0.0.1'))

  answer(a('10.0.0.2'))
  await clock.advance(0)

  t.same(await resolve('web.test'), found('10.0.0.2'))
})

t.test('a name server that is back is asked within 12 s', async t => {
  const { resolve, clock, table } = resolverFixture(t, { 'web.test': [a('10.0.0.1', 10), 'ENODATA'] })
  await resolve('web.test')
  table['web.test'] = ['ESERVFAIL', 'ESERVFAIL']
  await clock.advance(10_000)
  for (let secs = 0; secs < 40; secs++) {
    await resolve('web.test')
    await clock.advance(1_000)
  }
  table['web.test'] = [a('10.0.0.2', 10), 'ENODATA']
  await clock.advance(12_000)

  await resolve('web.test')
  await clock.advance(0)
  t.same(await resolve('web.test'), found('10.0.0.2'))
})
