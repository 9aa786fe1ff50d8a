// Search domains of resolv.conf.
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { dnsLookup } from '../../agent/resolver/dns-lookup.ts'
import { openResolver } from '../../agent/resolver/resolver.ts'
import { openSearchList } from '../../agent/resolver/search-list.ts'
import { systemClock } from '../../kernel/base/clock.ts'
import { openDns } from '../support/dns.ts'
import { a, failed, found, never, resolverFixture } from './resolver-fixture.ts'

t.test('a target without a dot is found in the search domain of the host', async t => {
  const { resolve, resolvConf, asked } = resolverFixture(t, { 'db.corp.test': [a('10.0.0.1'), 'ENODATA'] })
  writeFileSync(resolvConf, 'nameserver 10.0.0.53\nsearch corp.test\n')

  t.same(await resolve('DB'), found('10.0.0.1'))

  t.same(asked, ['db.corp.test 4', 'db.corp.test 6'])
})

t.test('the search domains apply in order, then the name as written', async t => {
  const { resolve, resolvConf, asked, table, clock } = resolverFixture(t, {
    'db.one.test': ['ENODATA', 'ENODATA'],
    db: [a('10.0.0.3'), 'ENODATA']
  })
  writeFileSync(resolvConf, 'search one.test two.test')

  t.same(await resolve('db'), found('10.0.0.3'))
  t.same(asked, ['db.one.test 4', 'db.one.test 6', 'db.two.test 4', 'db.two.test 6', 'db 4', 'db 6'])
  table['db.two.test'] = ['ENODATA', a('fd00::2')]
  await clock.advance(60_000)

  t.same(await resolve('db'), found('fd00::2'))
})

t.test('a name with ndots dots, or with a trailing dot, is absolute', async t => {
  const { resolve, resolvConf, asked } = resolverFixture(t)
  writeFileSync(resolvConf, 'search corp.test\noptions timeout:2 ndots:2 rotate')

  t.same(await resolve('web.a.test'), failed('nxdomain'))
  t.same(await resolve('db.'), failed('nxdomain'))
  t.same(await resolve('web.test.'), failed('nxdomain'))
  t.same(asked, ['web.a.test 4', 'web.a.test 6', 'db 4', 'db 6', 'web.test 4', 'web.test 6'])
  asked.length = 0
  t.same(await resolve('web.test'), failed('nxdomain'))
  t.same(asked, ['web.test.corp.test 4', 'web.test.corp.test 6', 'web.test 4', 'web.test 6'])
})

t.test('the last line of search and domain counts, and the last ndots', t => {
  const file = join(t.testdir(), 'resolv.conf')
  const table: readonly [string, readonly string[]][] = [
    ['', ['db']],
    ['search a.test\nsearch b.test c.test', ['db.b.test', 'db.c.test', 'db']],
    ['search a.test b.test\ndomain c.test d.test', ['db.c.test', 'db']],
    ['domain a.test\nsearch b.test', ['db.b.test', 'db']],
    ['search a.test\nsearch\n', ['db.a.test', 'db']],
    ['\tSearch\tA.Test.\tb.test \r\n', ['db.a.test', 'db.b.test', 'db']],
    ['# search a.test\n; search b.test\nsearch c.test # d.test', ['db.c.test', 'db']],
    ['search . a..test a.test a.test exa$mple', ['db.a.test', 'db']],
    ['search a.test\noptions ndots:0', ['db']],
    ['search a.test\noptions ndots:3\noptions ndots:x ndots:1', ['db.a.test', 'db']],
    ['searching a.test\noption ndots:9', ['db']]
  ]
  for (const [text, names] of table) {
    writeFileSync(file, text)
    t.same(openSearchList(file)('db'), names, JSON.stringify(text))
  }
  t.end()
})

t.test('a search has at most 32 domains of 2,048 characters together, and names of 253 characters', t => {
  const file = join(t.testdir(), 'resolv.conf')
  const search = (domains: readonly string[]) => writeFileSync(file, `search ${domains.join(' ')}`)
  const names = openSearchList(file)

  search(Array.from({ length: 40 }, (_, at) => `d${at}.test`))
  t.equal(names('db').length, 33)
  search(Array.from({ length: 20 }, (_, at) => `${'x'.repeat(60)}.${'y'.repeat(60)}.d${at + 10}`))
  t.equal(names('db').length, 17)
  search([`${'x'.repeat(60)}.`.repeat(4), 'corp.test', 'z'.repeat(64)])
  t.same(names('database-10'), ['database-10.corp.test', 'database-10'])
  t.end()
})

t.test('a changed resolv.conf counts at once', async t => {
  const { resolve, resolvConf } = resolverFixture(t, {
    'db.old.test': [a('10.0.0.1'), 'ENODATA'],
    'db.new.test': [a('10.0.0.2'), 'ENODATA']
  })
  writeFileSync(resolvConf, 'search old.test')
  t.same(await resolve('db'), found('10.0.0.1'))

  writeFileSync(`${resolvConf}.tmp`, 'search new.test')
  renameSync(`${resolvConf}.tmp`, resolvConf)

  t.same(await resolve('db'), found('10.0.0.2'))
})

t.test('the hosts file has priority over search domains', async t => {
  const { resolve, resolvConf, hosts, asked } = resolverFixture(t)
  writeFileSync(resolvConf, 'search corp.test')
  writeFileSync(hosts, '10.0.0.9 db')

  t.same(await resolve('db'), found('10.0.0.9'))
  t.same(await resolve('localhost'), found('127.0.0.1', '::1'))
  t.same(asked, [])
})

t.test('a search domain with a broken server does not hide the others', async t => {
  const { resolve, resolvConf, clock, asked } = resolverFixture(t, {
    'db.broken.test': ['ESERVFAIL', 'ESERVFAIL'],
    'db.half.test': ['ENOTFOUND', never],
    'db.corp.test': [a('10.0.0.1', 3_600), 'ENODATA']
  })
  writeFileSync(resolvConf, 'search broken.test half.test corp.test')

  const pending = resolve('db')
  await clock.advance(1_000)
  t.same(await pending, found('10.0.0.1'))

  asked.length = 0
  await clock.advance(30_000)
  void resolve('db')
  t.equal(asked[0], 'db.broken.test 4', 'and it is asked again after 30 s')
})

t.test('a name that no server of its search domain answers is not looked up elsewhere', async t => {
  const { resolve, resolvConf, clock, asked } = resolverFixture(t, {
    'db.corp.test': [never, never],
    db: [a('10.0.0.66'), 'ENODATA']
  })
  writeFileSync(resolvConf, 'search corp.test')

  const pending = resolve('db')
  await clock.advance(3_000)

  t.same(await pending, failed('timeout'))
  t.same(asked, ['db.corp.test 4', 'db.corp.test 6'])
})

t.test('NXDOMAIN for AAAA does not end the wait for A in a search domain', async t => {
  const { promise, resolve: answer } = Promise.withResolvers<ReturnType<typeof a>>()
  const { resolve, resolvConf, clock } = resolverFixture(t, {
    'db.corp.test': [promise, 'ENOTFOUND'],
    db: [a('10.0.0.66'), 'ENODATA']
  })
  writeFileSync(resolvConf, 'search corp.test')

  const pending = resolve('db')
  await clock.advance(2_900)
  answer(a('10.0.0.1'))

  t.same(await pending, found('10.0.0.1'))
})

t.test('while the name in use fails, its stale addresses serve, not those of another name', async t => {
  const { resolve, resolvConf, clock, table } = resolverFixture(t, {
    'db.corp.test': [a('10.0.0.1', 10), 'ENODATA'],
    db: [a('10.0.0.66'), 'ENODATA']
  })
  writeFileSync(resolvConf, 'search corp.test')
  await resolve('db')
  table['db.corp.test'] = ['ESERVFAIL', 'ENOTFOUND']
  await clock.advance(10_000)

  t.same(await resolve('db'), found('10.0.0.1'))
  table['db.corp.test'] = ['ENOTFOUND', 'ENODATA']
  await clock.advance(3_000)
  await resolve('db')
  await clock.advance(0)
  t.same(await resolve('db'), found('10.0.0.66'), 'until the answer is complete')
})

t.test('a search through real servers takes no longer because the first one is silent', async t => {
  const silent = await openDns(
    t,
    { 'db.one.test': 'SILENT', 'db.two.test': 'SILENT', 'db.corp.test': 'SILENT' },
    60
  )
  const dns = await openDns(t, { 'db.corp.test': ['192.0.2.7'] }, 60)
  const dir = t.testdir({ 'resolv.conf': 'search one.test two.test corp.test' })
  const { resolve } = openResolver({
    clock: systemClock,
    lookup: dnsLookup([silent.address, dns.address]),
    hosts: join(dir, 'none'),
    resolvConf: join(dir, 'resolv.conf')
  })

  t.match(await resolve('db', 'ann'), found('192.0.2.7'))

  t.notOk(silent.questions.includes('db.two.test A'), 'it is asked for the first name only')
})
