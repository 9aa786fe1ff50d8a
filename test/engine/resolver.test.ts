import { utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type Address, dnsLookup, type Lookup } from '../../agent/resolver/dns-lookup.ts'
import { openResolver } from '../../agent/resolver/resolver.ts'
import { systemClock } from '../../kernel/base/clock.ts'
import { fakeClock } from '../../kit/fake-clock.ts'
import { openDns } from '../support/dns.ts'
import { type Answer, a, failed, found, never, resolverFixture } from './resolver-fixture.ts'

t.test('both families are returned, IPv4 first; case and a trailing dot do not matter', async t => {
  const { resolve, asked } = resolverFixture(t, { 'web.test': [a('10.0.0.1'), a('fd00::1')] })

  t.same(await resolve('Web.Test.'), found('10.0.0.1', 'fd00::1'))
  t.same(await resolve('web.test'), found('10.0.0.1', 'fd00::1'))

  t.same(asked, ['web.test 4', 'web.test 6'])
})

t.test('one family is enough', async t => {
  const { resolve } = resolverFixture(t, {
    'four.test': [a('10.0.0.1'), 'ENODATA'],
    'six.test': ['ESERVFAIL', a('fd00::1')]
  })

  t.same(await resolve('four.test'), found('10.0.0.1'))
  t.same(await resolve('six.test'), found('fd00::1'))
})

t.test(
  'a family that does not answer delays the other one by 250 ms, and is asked again after 30 s',
  async t => {
    const { resolve, clock, asked } = resolverFixture(t, { 'web.test': [a('10.0.0.1', 3_600), never] })

    const pending = resolve('web.test')
    await clock.advance(250)
    t.same(await pending, found('10.0.0.1'))

    await clock.advance(27_000)
    await resolve('web.test')
    t.equal(asked.length, 2)
    await clock.advance(3_000)
    const again = resolve('web.test')
    await clock.advance(250)
    await again
    t.equal(asked.length, 4)
  }
)

t.test('an answer has a fresh time and a usable time', async t => {
  const { answerOf, clock, table, hosts } = resolverFixture(t, { 'web.test': [a('10.0.0.1', 10), 'ENODATA'] })
  const answer = { ok: true, addresses: ['10.0.0.1'] }

  t.same(await answerOf('web.test'), { ...answer, freshMs: 8_000, usableMs: 10_000 })
  await clock.advance(4_000)
  t.same(await answerOf('web.test'), { ...answer, freshMs: 4_000, usableMs: 6_000 })
  table['web.test'] = ['ESERVFAIL', 'ESERVFAIL']
  await clock.advance(6_000)
  t.same(await answerOf('web.test'), { ...answer, freshMs: 3_000, usableMs: 5_000 })
  await clock.advance(59_000)
  t.same(await answerOf('web.test'), { ...answer, freshMs: 500, usableMs: 1_000 }, 'while it is asked again')
  await clock.advance(0)
  t.same(await answerOf('web.test'), { ...answer, freshMs: 1_000, usableMs: 1_000 })
  await clock.advance(1_000)
  const failed = { ok: false, reason: 'servfail', freshMs: 2_000, usableMs: 2_000 }
  t.same(await answerOf('web.test'), failed)
  writeFileSync(hosts, '10.0.0.9 web.test')
  t.match(await answerOf('web.test'), { ok: true, addresses: ['10.0.0.9'] })
})

t.test('a name is looked up again before its addresses expire: 2 s, or half of a shorter TTL', async t => {
  for (const [ttl, freshMs] of [
    [1, 500],
    [90, 88_000]
  ] as const) {
    const { resolve, clock, asked } = resolverFixture(t, { 'web.test': [a('10.0.0.1', ttl), 'ENODATA'] })
    await resolve('web.test')

    await clock.advance(freshMs - 1)
    await resolve('web.test')
    t.equal(asked.length, 2)
    await clock.advance(1)
    await resolve('web.test')
    t.equal(asked.length, 4)
  }
})

t.test('an address resolves to itself', async t => {
  const { resolve, asked } = resolverFixture(t)

  t.same(await resolve('10.0.0.1'), found('10.0.0.1'))
  t.same(await resolve('fd00::1'), found('fd00::1'))
  t.same(asked, [])
})

t.test('the TTL of an answer is at least a second and at most an hour', async t => {
  for (const [ttl, usableMs] of [
    [0, 1_000],
    [1, 1_000],
    [90, 90_000],
    [86_400, 3_600_000]
  ] as const) {
    const { answerOf } = resolverFixture(t, { 'web.test': [a('10.0.0.1', ttl), 'ENODATA'] })
    t.match(await answerOf('web.test'), { usableMs }, `${ttl} s`)
  }
})

t.test('an answer has the shortest TTL of its records', async t => {
  const { resolve, clock, asked } = resolverFixture(t, { 'web.test': [a('10.0.0.1', 300), a('fd00::1', 5)] })
  await resolve('web.test')

  await clock.advance(5_000)
  await resolve('web.test')

  t.equal(asked.length, 4)
})

t.test('a failure has a reason', async t => {
  const { resolve } = resolverFixture(t, {
    'gone.test': ['ENOTFOUND', 'ENOTFOUND'],
    'half-gone.test': ['ESERVFAIL', 'ENOTFOUND'],
    'broken.test': ['ESERVFAIL', 'ENODATA'],
    'refused.test': ['ECONNREFUSED', 'ECONNREFUSED'],
    'empty.test': ['ENODATA', 'ENODATA'],
    'hollow.test': [[], []],
    'slow.test': ['ENODATA', 'ETIMEOUT']
  })

  t.same(await resolve('gone.test'), failed('nxdomain'))
  t.same(await resolve('half-gone.test'), failed('servfail'))
  t.same(await resolve('broken.test'), failed('servfail'))
  t.same(await resolve('refused.test'), failed('servfail'))
  t.same(await resolve('empty.test'), failed('no_address'))
  t.same(await resolve('hollow.test'), failed('no_address'))
  t.same(await resolve('slow.test'), failed('timeout'))
})

t.test('an attempt times out after 3 s, and its lookup is aborted', async t => {
  const clock = fakeClock()
  const signals: AbortSignal[] = []
  const lookup: Lookup = signal => {
    signals.push(signal)
    return () => never
  }
  const { resolve } = openResolver({ clock, lookup, hosts: join(t.testdir(), 'none') })

  const pending = resolve('web.test', 'ann')
  await clock.advance(2_999)
  t.notOk(signals.some(({ aborted }) => aborted))
  await clock.advance(1)

  t.match(await pending, failed('timeout'))
  t.ok(signals.every(({ aborted }) => aborted))
})

t.test('a failure is cached for 3 s', async t => {
  const { resolve, clock, asked, table } = resolverFixture(t, { 'web.test': ['ENOTFOUND', 'ENOTFOUND'] })
  await resolve('web.test')
  table['web.test'] = [a('10.0.0.1'), 'ENODATA']

  await clock.advance(2_999)
  t.same(await resolve('web.test'), failed('nxdomain'))
  t.equal(asked.length, 2)
  await clock.advance(1)
  t.same(await resolve('web.test'), found('10.0.0.1'))
})

t.test(
  'a name that no server answers is asked less and less often, and within 60 s of an answer',
  async t => {
    const { resolve, clock, asked, table } = resolverFixture(t, { 'dead.test': ['ESERVFAIL', 'ETIMEOUT'] })
    const resolveEachSecond = async (secs: number): Promise<number> => {
      asked.length = 0
      for (let at = 0; at < secs; at++) {
        await resolve('dead.test')
        await clock.advance(1_000)
      }
      return asked.length / 2
    }

    t.equal(await resolveEachSecond(96), 6, 'after 0, 3, 6, 12, 24, 48 s')
    t.equal(await resolveEachSecond(600), 10)
    table['dead.test'] = [a('10.0.0.1', 10), 'ENODATA']
    await resolveEachSecond(60)
    t.same(await resolve('dead.test'), found('10.0.0.1'))
  }
)

t.test('a name that no server answers any more is asked less often once its addresses are lost', async t => {
  const { resolve, clock, asked, table } = resolverFixture(t, { 'web.test': [a('10.0.0.1', 10), 'ENODATA'] })
  await resolve('web.test')
  table['web.test'] = ['ESERVFAIL', 'ESERVFAIL']
  await clock.advance(10_000)
  for (let secs = 0; secs < 660; secs++) {
    if (secs === 60) asked.length = 0
    await resolve('web.test')
    await clock.advance(1_000)
  }

  t.equal(asked.length / 2, 15)
})

t.test('a name that does not exist is asked again every 3 s, however long', async t => {
  const { resolve, clock, asked } = resolverFixture(t)
  for (let secs = 0; secs < 300; secs++) {
    await resolve('gone.test')
    await clock.advance(1_000)
  }

  t.equal(asked.length / 2, 100)
})

t.test('after a failed refresh the old answer is used for at most 60 s', async t => {
  const { resolve, clock, asked, table } = resolverFixture(t, { 'web.test': [a('10.0.0.1', 10), 'ENODATA'] })
  await resolve('web.test')
  table['web.test'] = ['ESERVFAIL', 'ESERVFAIL']
  await clock.advance(100_000)

  t.same(await resolve('web.test'), found('10.0.0.1'))
  await clock.advance(2_000)
  t.same(await resolve('web.test'), found('10.0.0.1'))
  t.equal(asked.length, 4, 'not asked again within 3 s of the failure')
  await clock.advance(57_999)
  t.same(await resolve('web.test'), found('10.0.0.1'))
  t.equal(asked.length, 6)
  await clock.advance(1)
  t.same(await resolve('web.test'), failed('servfail'))
  table['web.test'] = [a('10.0.0.2', 10), 'ENODATA']
  await clock.advance(3_000)
  t.same(await resolve('web.test'), found('10.0.0.2'))
})

t.test('a name that no longer exists fails at once, whatever was cached', async t => {
  const { resolve, clock, table } = resolverFixture(t, { 'web.test': [a('10.0.0.1', 10), 'ENODATA'] })
  await resolve('web.test')
  table['web.test'] = ['ENOTFOUND', 'ENOTFOUND']
  await clock.advance(10_000)

  t.same(await resolve('web.test'), failed('nxdomain'))
})

t.test('there is one lookup per name at a time', async t => {
  const { promise, resolve: answer } = Promise.withResolvers<readonly Address[]>()
  const { resolve, asked } = resolverFixture(t, { 'web.test': [promise, 'ENODATA'] })

  const all = Promise.all(Array.from({ length: 10 }, () => resolve('web.test')))
  answer(a('10.0.0.1'))

  t.same(await all, Array(10).fill(found('10.0.0.1')))
  t.equal(asked.length, 2)
})

/** Names that no server answers, and that were not asked before. */
const deadNames = (count: number, zone = 'dead.test'): string[] =>
  Array.from({ length: count }, (_, i) => `n${i}.${zone}`)
const dead = (names: readonly string[]): Record<string, [Answer, Answer]> =>
  Object.fromEntries(names.map(name => [name, [never, never]]))
const lookUpsOf = (asked: readonly string[], zone: string): number =>
  asked.filter(question => question.endsWith(`${zone} 4`)).length

t.test('a name of one owner resolves at once while the dead names of another wait', async t => {
  const names = deadNames(200)
  const { resolve, asked, clock } = resolverFixture(t, {
    ...dead(names),
    'fast.test': [a('10.0.0.1'), 'ENODATA']
  })
  const pending = names.map(name => resolve(name, 'ann'))
  await clock.advance(0)
  t.equal(lookUpsOf(asked, 'dead.test'), 32, 'one owner leaves half of the places free')

  t.same(await resolve('fast.test', 'bob'), found('10.0.0.1'))

  await clock.advance(6_000)
  await Promise.all(pending)
})

t.test('at most 64 lookups are in flight, and owners take turns', async t => {
  const owners = Array.from({ length: 70 }, (_, i) => `owner${i}`)
  const { promise, resolve: answer } = Promise.withResolvers<readonly Address[]>()
  const names = owners.flatMap(owner => deadNames(10, `${owner}.test`))
  const { resolve, asked, clock } = resolverFixture(
    t,
    Object.fromEntries(names.map(name => [name, [promise, 'ENODATA']]))
  )

  const pending = names.map(name => resolve(name, name.split('.')[1] ?? ''))
  await clock.advance(0)
  t.equal(asked.length / 2, 64)
  answer(a('10.0.0.1'))
  t.same(await Promise.all(pending), Array(700).fill(found('10.0.0.1')))

  const first = asked.filter(question => question.endsWith(' 4')).map(question => question.split('.')[1])
  t.equal(new Set(first.slice(0, 140)).size, 70, 'each owner is served before the noisy ones again')
})

t.test('a name that another owner has in line is looked up when it is the turn of either', async t => {
  const names = deadNames(100)
  const { resolve, asked } = resolverFixture(t, {
    ...dead(names),
    'shared.test': [a('10.0.0.1'), 'ENODATA']
  })
  for (const name of names) void resolve(name, 'ann')
  const first = resolve('shared.test', 'ann')

  t.same(await resolve('shared.test', 'bob'), found('10.0.0.1'))
  t.same(await first, found('10.0.0.1'))
  t.equal(lookUpsOf(asked, 'shared.test'), 1)
})

t.test('beyond 256 names in line an owner is refused, and nobody else', async t => {
  const names = deadNames(400)
  const { resolve, clock } = resolverFixture(t, { ...dead(names), 'fast.test': [a('10.0.0.1'), 'ENODATA'] })
  const pending = names.slice(0, 32 + 256).map(name => resolve(name, 'ann'))

  t.same(await resolve('n300.dead.test', 'ann'), failed('overloaded'))
  t.same(await resolve('fast.test', 'bob'), found('10.0.0.1'))

  await clock.advance(6_000)
  const answers = await Promise.all(pending)
  t.equal(answers.filter(answer => 'reason' in answer && answer.reason === 'timeout').length, 64)
  t.equal(answers.filter(answer => 'reason' in answer && answer.reason === 'overloaded').length, 224)
})

t.test('names that no server answers leave places to the other names of their owner', async t => {
  const names = deadNames(60)
  const { resolve, asked, clock } = resolverFixture(t, {
    ...dead(names),
    'fast.test': [a('10.0.0.1'), 'ENODATA']
  })
  for (const name of names) void resolve(name)
  await clock.advance(6_000)
  asked.length = 0

  for (const name of names) void resolve(name)
  await clock.advance(0)

  t.equal(lookUpsOf(asked, 'dead.test'), 13)
  t.same(await resolve('fast.test'), found('10.0.0.1'))
})

t.test('while the owner waits for its turn, the old answer is used', async t => {
  const names = deadNames(40)
  const { resolve, clock, asked } = resolverFixture(t, {
    'known.test': [a('10.0.0.7', 10), 'ENODATA'],
    ...dead(names)
  })
  await resolve('known.test')
  await clock.advance(10_000)
  for (const name of names) void resolve(name)
  await clock.advance(0)
  const before = asked.length

  t.same(await resolve('known.test'), found('10.0.0.7'))

  t.equal(asked.length, before)
  await clock.advance(3_000)
  t.ok(asked.indexOf('known.test 4', before) > 0, 'and it is looked up when it is the turn')
})

t.test('an answer that arrives after the timeout changes nothing', async t => {
  const { promise, resolve: answer } = Promise.withResolvers<readonly Address[]>()
  const { resolve, clock, asked } = resolverFixture(t, { 'web.test': [promise, promise] })
  const pending = resolve('web.test')
  await clock.advance(3_000)
  t.same(await pending, failed('timeout'))

  answer(a('10.0.0.1'))
  await promise

  t.same(await resolve('web.test'), failed('timeout'), 'still the failure')
  await clock.advance(3_000)
  t.same(await resolve('web.test'), found('10.0.0.1'))
  t.equal(asked.length, 4)
})

t.test('a full cache of 4,096 names evicts failures before addresses', async t => {
  const table: Record<string, [Answer, Answer]> = {}
  const { resolve, asked } = resolverFixture(t, table)
  await resolve('gone.test')
  for (let i = 0; i < 4_096; i++) {
    table[`web${i}.test`] = [a('10.0.0.1'), 'ENODATA']
    await resolve(`web${i}.test`)
  }
  asked.length = 0

  await resolve('web0.test')
  t.same(asked, [])
  await resolve('gone.test')

  t.equal(asked.length, 2)
})

t.test('a full cache of 4,096 names evicts the one closest to expiry', async t => {
  const table: Record<string, [Answer, Answer]> = {}
  const { resolve, asked } = resolverFixture(t, table)
  for (let i = 0; i < 4_096; i++) {
    table[`web${i}.test`] = [a('10.0.0.1', i === 77 ? 30 : 600), 'ENODATA']
    await resolve(`web${i}.test`)
  }
  table['one-more.test'] = [a('10.0.0.2'), 'ENODATA']

  await resolve('one-more.test')
  asked.length = 0
  await resolve('web0.test')
  await resolve('web4095.test')
  await resolve('one-more.test')
  t.same(asked, [])
  await resolve('web77.test')
  t.equal(asked.length, 2)
})

t.test('a full cache evicts names of the owner with the most, whatever their expiry', async t => {
  const table: Record<string, [Answer, Answer]> = { 'bob.test': [a('10.0.0.9', 30), 'ENODATA'] }
  const { resolve, asked } = resolverFixture(t, table)
  await resolve('bob.test', 'bob')
  for (let i = 0; i < 4_200; i++) {
    table[`web${i}.test`] = [a('10.0.0.1', 3_600), 'ENODATA']
    await resolve(`web${i}.test`, 'ann')
  }
  asked.length = 0

  t.same(await resolve('bob.test', 'bob'), found('10.0.0.9'))
  t.same(asked, [])
})

t.test('the hosts file is used, and read again when it changes', async t => {
  const { resolve, asked, hosts } = resolverFixture(t)
  writeFileSync(
    hosts,
    '# 10.9.9.9 web.test\n10.0.0.1\tWeb.test web # ours\nfd00::1 web.test\nfe80::1%lo0 web.test\n'
  )

  t.same(await resolve('web.test'), found('10.0.0.1', 'fd00::1'))
  t.same(await resolve('web'), found('10.0.0.1'))
  t.same(await resolve('localhost'), found('127.0.0.1', '::1'))
  t.same(await resolve('any.localhost'), found('127.0.0.1', '::1'))
  writeFileSync(hosts, '10.0.0.2 web.test\n127.0.0.2 localhost\n')
  utimesSync(hosts, 1, 1)

  t.same(await resolve('web.test'), found('10.0.0.2'))
  t.same(await resolve('localhost'), found('127.0.0.2'))
  t.same(asked, [])
})

t.test('a real DNS server is asked, and its TTLs are used', async t => {
  const { address, questions } = await openDns(
    t,
    { 'web.test': ['192.0.2.7', '2001:db8::7'], 'broken.test': 'SERVFAIL' },
    42
  )
  const lookup = dnsLookup([address])
  const { resolve } = openResolver({ clock: systemClock, lookup, hosts: join(t.testdir(), 'none') })

  t.match(await resolve('web.test', 'ann'), found('192.0.2.7', '2001:db8::7'))
  t.match(await resolve('gone.test', 'ann'), failed('nxdomain'))
  t.match(await resolve('broken.test', 'ann'), failed('servfail'))
  await resolve('web.test', 'ann')

  t.match(await lookup(AbortSignal.timeout(3_000))('web.test', 4), [{ address: '192.0.2.7', ttl: 42 }])
  t.equal(questions.filter(question => question === 'web.test AAAA').length, 1)
})

t.test('a step of the clock does not change when answers and failures expire', async t => {
  for (const ms of [1000, 2 * 3_600_000, 400 * 24 * 3_600_000].flatMap(ms => [ms, -ms])) {
    const { resolve, asked, clock } = resolverFixture(t, {
      'web.test': [a('10.0.0.1', 7), 'ENODATA'],
      'bad.test': ['ESERVFAIL', 'ESERVFAIL']
    })
    const both = async () => void [await resolve('web.test'), await resolve('bad.test')]
    await both()

    clock.step(ms)
    await clock.advance(2_999)
    await both()
    t.equal(asked.length, 4, `by ${ms} ms: both are still cached`)
    await clock.advance(1)
    await both()
    t.equal(asked.length, 6, 'the failure has expired')
    await clock.advance(2_000)
    await resolve('web.test')
    t.equal(asked.length, 8, 'the answer has expired')
  }
})
