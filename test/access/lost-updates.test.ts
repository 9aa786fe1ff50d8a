// ETag and If-Match prevent lost updates on every record that can change.
import t from 'tap'
import { Client } from '../../kernel/identity/entities.ts'
import type { Deps } from '../../plugins/auth/test/fixture.ts'
import { Quota } from '../../plugins/quota/entities.ts'
import { supportingAgent } from '../../plugins/rate-limit/test/fixture.ts'
import { Rule } from '../../plugins/rules/entities.ts'
import { accessFixture } from './access-fixture.ts'
import { rows } from './access-table.ts'
import { callers } from './callers.ts'
import { requestOf } from './requests.ts'

const [superadmin] = callers.filter(({ name }) => name === 'superadmin')
const changes = rows.filter(
  ({ method, path }) =>
    ['PUT', 'PATCH', 'DELETE'].includes(method) && !/^\/v1\/(apply-leases|connections)/.test(path) // no records
)

t.test('every route that changes a record refuses a stale version', async t => {
  const access = await accessFixture(t)
  for (const { route, method, path: pattern, expect } of changes) {
    const kind = pattern.includes(':') && !pattern.includes('/me/') ? 'foreign' : 'own'
    if (superadmin && !/^2/.test(expect(superadmin, kind))) continue
    const path = superadmin && (await access.pathOf(pattern, superadmin, kind, 'fresh'))
    if (path == null) throw new TypeError(`${route} has no path`)
    const { body, before } = requestOf(route, access)
    await before?.(path, access.call)
    const headers = { ...superadmin?.headers }

    const stale = await access.call(method as 'PUT', path, body, { ...headers, 'if-match': '"stale"' })
    t.match(stale, { status: 412, body: { error: { code: 'resource_changed' } } }, route)

    const { status, headers: sent } = await access.call(method as 'PUT', path, body, headers)
    t.match(status, /^20[0-4]$/, route)
    if (method !== 'DELETE') t.match(sent['etag'], /^"\w+"$/, route)
  }
})

t.test('the version changes with the record, but not with its state or usage', async t => {
  const { call, connect, edge, enroll, hidden, push, next, server } = await accessFixture(t)
  const { store } = server.depsOf('auth') as Deps
  const shaped = await enroll('shaped')
  await connect(shaped, supportingAgent)
  const { body: rule } = await push({ client: shaped, listen_port: 10_000 + next() })
  const quota = `/v1/users/ada/quotas/${hidden}`
  await call('PUT', quota, { monthly_bytes: 1000 })
  await call('PUT', `/v1/clients/${hidden}/owners/ada/rate-limit`, { concurrent_connections: 5 })
  const records = [
    [
      `/v1/rules/${rule.rule_id}`,
      'PUT',
      `/v1/rules/${rule.rule_id}`,
      { rate_limit: { concurrent_connections: 5 } }
    ],
    [`/v1/clients/${edge}`, 'PATCH', `/v1/clients/${edge}/name`, { client_name: 'renamed' }],
    ['/v1/users/ada', 'PATCH', '/v1/users/ada', { display_name: 'Ada' }],
    [`${quota}/status`, 'PATCH', quota, { monthly_bytes: 2000 }],
    [
      `/v1/clients/${hidden}/owners/ada/rate-limit`,
      'PUT',
      `/v1/clients/${hidden}/owners/ada/rate-limit`,
      { concurrent_connections: 6 }
    ],
    [
      '/v1/settings/advertised-endpoint',
      'PUT',
      '/v1/settings/advertised-endpoint',
      { advertised_endpoint: '127.0.0.1:9' }
    ]
  ] as const
  const tagOf = async (path: string) => (await call('GET', path)).headers['etag']

  for (const [path, method, changed, body] of records) {
    const before = await tagOf(path)
    t.match(before, /^"\w+"$/, path)
    await store.change(async em => {
      await em.nativeUpdate(Quota, {}, { used: next() })
      await em.nativeUpdate(Client, {}, { lastSeenAt: next(), agentVersion: `2.0.${next()}` })
      await em.nativeUpdate(Rule, {}, { state: 'failed', updatedAt: next() })
    })
    t.equal(await tagOf(path), before, `${path}: usage and state`)
    await store.change(em => em.nativeUpdate(Rule, {}, { state: 'active' }))
    const reply = await call(method, changed, body, { 'if-match': String(before) })
    t.equal(reply.status, 200, `${path}: ${JSON.stringify(reply.body)}`)
    const after = await tagOf(path)
    t.equal(reply.headers['etag'], after, path)
    t.not(after, before, path)
  }
})

t.test('rotating a token, changing a grant and renewing a code each change the version', async t => {
  const { call, edge } = await accessFixture(t)
  const stale = (tag: unknown) => ({ 'if-match': String(tag) })
  const refused = { status: 412, body: { error: { code: 'resource_changed' } } }

  const issued = await call<{ credential_id: string }>('POST', '/v1/users/ada/credentials', {})
  const credential = `/v1/users/ada/credentials/${issued.body.credential_id}`
  const rotated = await call('POST', `${credential}/rotate`, undefined, stale(issued.headers['etag']))
  t.equal(rotated.status, 201)
  t.match(await call('POST', `${credential}/rotate`, undefined, stale(issued.headers['etag'])), refused)
  t.match(await call('DELETE', credential, undefined, stale(rotated.headers['etag'])), { status: 204 })

  const ports = { client_id: edge, listen_port_start: 7, listen_port_end: 9, protocols: ['tcp'] }
  const given = await call<{ grant_id: string }>('POST', '/v1/grants', { user_id: 'ada', ...ports })
  const grant = `/v1/grants/${given.body.grant_id}`
  const noted = await call('PATCH', grant, { note: 'until May' }, stale(given.headers['etag']))
  t.equal(noted.status, 200)
  t.match(await call('DELETE', grant, undefined, stale(given.headers['etag'])), refused)
  t.match(await call('DELETE', grant, undefined, stale(noted.headers['etag'])), { status: 200 })

  const code = await call<{ enrollment_id: string }>('POST', '/v1/client-enrollments', { name: 'rome' })
  const enrollment = `/v1/client-enrollments/${code.body.enrollment_id}`
  t.match(await call('DELETE', enrollment, undefined, stale('"other"')), refused)
  t.match(await call('DELETE', enrollment, undefined, stale(code.headers['etag'])), { status: 204 })
})
