import { statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { newId } from '../../../kernel/platform/id.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { openRepeatedChanges } from '../../../kit/repeated-changes.ts'
import { notOnPostgres, notRepeated } from '../../../test/support/store.ts'
import type { AuditLog } from '../audit-log.ts'
import { Entry } from '../entities.ts'
import { auditFixture, matchAll } from './fixture.ts'

const unauthenticated = { authorization: '' }

t.test('anonymous denials are aggregated per address, code and minute', async t => {
  const { server, entries, clock } = await auditFixture(t)
  const ask = (remoteAddress: string, url: string, headers = {}) =>
    server.http.app.inject({ method: 'GET', url, remoteAddress, headers })

  await ask('192.0.2.1', '/v1/audit')
  await ask('192.0.2.1', '/v1/openapi.json/x')
  await ask('192.0.2.1', '/v1/audit', { authorization: 'Bearer wrong' })
  await ask('192.0.2.2', '/v1/audit')
  await ask('2001:db8::1', '/v1/audit')
  await ask('2001:db8::ffff:1', '/v1/audit')
  await ask('2001:db8:0:1::1', '/v1/audit')
  await clock.advance(60_000)
  await ask('192.0.2.1', '/v1/audit')

  t.same(
    (await entries('?outcome=deny')).map(({ remote_addr, count }) => [remote_addr, count]),
    [
      ['192.0.2.1', 1],
      ['2001:db8:0:1::1', 1],
      ['2001:db8::1', 2],
      ['192.0.2.2', 1],
      ['192.0.2.1', 2]
    ]
  )
})

t.test('anonymous refusals on a public route are also aggregated', async t => {
  const { call, entries } = await auditFixture(t, { plugins: ['users', 'auth'] })

  for (let i = 0; i < 3; i++) await call('POST', '/v1/auth/login', { user_id: 1 }, unauthenticated)

  matchAll(t, await entries('?limit=10'), [{ actor: null, status: 400, outcome: 'allow', count: 3 }])
})

t.test('denials of an authenticated principal are aggregated per action, code and minute', async t => {
  const { call, entries, as } = await auditFixture(t)

  for (let i = 0; i < 3; i++) await call('GET', '/v1/audit', undefined, as('ann'))

  matchAll(t, await entries('?outcome=deny'), [{ actor: 'ann', reason: 'role_required', count: 3 }])
})

t.test('a refusal is written and counted once when its transaction runs again', async t => {
  const { wrapStore, close } = openRepeatedChanges({ placeOf: () => 'a refusal' })
  t.teardown(close)
  const { call, entries, as, server } = await auditFixture(t, { wrapStore })
  const { store, auditLog } = server.depsOf('audit') as Kernel & { readonly auditLog: AuditLog }

  for (let i = 0; i < 2; i++) await call('GET', '/v1/audit', undefined, as('ann'))

  t.equal(await store.read(em => em.count(Entry)), 1, 'before the counts are written')
  matchAll(t, await entries('?outcome=deny'), [{ actor: 'ann', count: 2 }])
  t.match(await auditLog.metrics(), [{ samples: [{ value: 0 }, { labelValues: ['deny'], value: 1 }] }])
})

t.test('anonymous callers get at most 1,000 entries a minute, which count all denials', async t => {
  const { server, clock, page } = await auditFixture(t)
  const { store, auditLog } = server.depsOf('audit') as Kernel & { readonly auditLog: AuditLog }
  const denial = {
    action: 'audit.list',
    actor: null,
    role: null,
    authMethod: 'none',
    method: 'GET',
    path: '/v1/audit',
    resourceKind: null,
    resourceId: null,
    resourceName: null,
    outcome: 'deny',
    status: 401,
    reason: 'unauthenticated',
    changes: null,
    requestId: 'r'
  } as const

  const denials = Array.from({ length: 1200 }, (_, i) => {
    const remoteAddr = `10.0.${i >> 8}.${i & 255}`
    return { ...denial, remoteAddr, id: newId(), timestamp: clock.now() }
  })

  await store.change(async em => {
    for (const denial of denials) await auditLog.sink.write(denial, em)
  })

  const first = await page('cursor=&limit=1000')
  t.ok(first.count <= 1000, `${first.count} entries`)
  t.equal(first.next_cursor, undefined)
  t.equal(
    first.entries.reduce((sum, { count }) => sum + count, 0),
    1200
  )
  t.match(first.entries[0], { remote_addr: null, reason: 'unauthenticated', count: 216 })
})

t.test(
  'a flood of denials writes once a second and does not fill the disk',
  { skip: notOnPostgres('it reads the file of SQLite') || notRepeated('it measures what is written') },
  async t => {
    const { call, entries, clock, dir } = await auditFixture(t)
    const size = (): number =>
      ['sluice.db', 'sluice.db-wal'].reduce((sum, file) => sum + statSync(join(dir, file)).size, 0)
    await call('GET', '/v1/audit', undefined, unauthenticated)
    const before = size()

    for (let i = 0; i < 500; i++) await call('GET', '/v1/audit', undefined, unauthenticated)

    t.equal(size(), before, '500 refusals add no byte')
    await clock.advance(1000)
    t.ok(size() - before < 64 * 1024, `${size() - before} bytes after a second`)
    matchAll(t, await entries(), [{ count: 501 }])
  }
)

t.test('counts are written at a stop, and a restart within the minute continues them', async t => {
  const dir = t.testdir()
  const first = await auditFixture(t, { dir })
  for (let i = 0; i < 3; i++) await first.call('GET', '/v1/audit', undefined, unauthenticated)
  await first.stop()

  const second = await auditFixture(t, { dir, clock: first.clock })
  await second.call('GET', '/v1/audit', undefined, unauthenticated)

  matchAll(t, await second.entries(), [{ count: 4 }])
})

t.test(
  '1,100 refused requests of one user with audit_max_rows 1,000 leave the entries of the others',
  async t => {
    const { entries, call, as, clock } = await auditFixture(t, { keys: { audit_max_rows: 1000 } })
    await call('POST', '/v1/things/t1', {}, as('root'))

    for (let i = 0; i < 1100; i++) await call('POST', '/v1/refused', {}, as('ann'))
    await call('POST', '/v1/refused', { no: 1 }, as('root'))
    await clock.advance(60_000)

    matchAll(t, await entries(), [
      { actor: 'root', status: 400, count: 1 },
      { actor: 'ann', outcome: 'allow', status: 409, reason: 'thing_refused', count: 1100 },
      { actor: 'root', action: 'thing.make', reason: null, count: 1 }
    ])
  }
)
