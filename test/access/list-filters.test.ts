// Filters that can match nothing are errors, PUT takes what GET returns, and a dry run is no change.
import t from 'tap'
import { type ApiDocument, type JsonSchema, listOperations, type Parameter } from '../support/api-document.ts'
import { accessFixture } from './access-fixture.ts'
import { callers } from './callers.ts'

const superadmin = callers.find(({ name }) => name === 'superadmin')
if (!superadmin) throw new TypeError('there is no superadmin')
const headers = { ...superadmin.headers }

type Refusal = {
  readonly error?: { readonly message: string; readonly details?: { readonly field: string } }
}

const patternOf = (url: string): string => url.replaceAll(/\{(\w+)\}/g, ':$1')
const kindOf = (url: string) => (url.includes('{') && !url.includes('/me/') ? 'foreign' : 'own')

/** Text with any value: names, and texts that are compared. */
const isFree = ({ name }: Parameter): boolean => /^(selector|client|via|request_id|resource)$/.test(name)

/** A way of a browser: the parameters choose no rows. */
const isRedirect = (url: string): boolean => url.startsWith('/v1/auth/oidc/')

const valuesOf = ({ anyOf = [], enum: listed = [] }: JsonSchema): unknown[] => [
  ...listed,
  ...anyOf.flatMap(one => ('const' in one ? [one.const] : valuesOf(one)))
]

t.test('a filter value that can match nothing is refused, with its field and the allowed values', async t => {
  const { call, pathOf } = await accessFixture(t)
  const { body } = await call<ApiDocument>('GET', '/v1/openapi.json')
  let judged = 0
  for (const { method, url, parameters, isStream } of listOperations(body)) {
    if (method !== 'GET' || isStream || !url.startsWith('/v1/') || isRedirect(url)) continue
    const path = await pathOf(patternOf(url), superadmin, kindOf(url), 'shared')
    const required = parameters.filter(
      ({ in: place, name }) => place === 'query' && url.includes('/traffic') && /^(from|to)$/.test(name)
    )
    const window = required.map(({ name }) => `&${name}=${name === 'from' ? 1 : 2}`)
    for (const parameter of parameters.filter(({ in: place }) => place === 'query')) {
      if (isFree(parameter)) continue
      const { name, schema } = parameter
      const others = window.filter(text => !text.startsWith(`&${name}=`)).join('')
      for (const value of ['no such value', 'NOPE', '%00']) {
        const { status, body } = await call<Refusal>(
          'GET',
          `${path}?${name}=${value}${others}`,
          undefined,
          headers
        )
        t.equal(status, 400, `${url} ${name}=${value}: ${JSON.stringify(body).slice(0, 200)}`)
        t.match(body.error?.message, name, `${url} ${name}: the message names the field`)
        for (const allowed of valuesOf(schema))
          t.match(body.error?.message, String(allowed), `${url} ${name}`)
        judged++
      }
    }
  }
  t.ok(judged > 200, `${judged} values`)
})

/** PUT of lists, and of parts that have no GET. */
const withoutRecord = new Set(['/v1/under-attack'])

t.test('get, change, put: every PUT takes what the GET of its path returns', async t => {
  const { call, pathOf, hidden } = await accessFixture(t)
  const { body } = await call<ApiDocument>('GET', '/v1/openapi.json')
  const operations = listOperations(body)
  const read = (url: string) => operations.find(one => one.method === 'GET' && one.url === url)
  await call('PUT', `/v1/users/ada/quotas/${hidden}`, { monthly_bytes: 1000 })
  await call('PUT', `/v1/clients/${hidden}/owners/ada/rate-limit`, { concurrent_connections: 5 })
  await call('PUT', '/v1/settings/advertised-endpoint', { advertised_endpoint: '127.0.0.1:7443' })
  const existing: Readonly<Record<string, string>> = {
    '/v1/users/{user_id}/quotas/{client_id}': `/v1/users/ada/quotas/${hidden}`,
    '/v1/clients/{client_id}/owners/{owner_id}/rate-limit': `/v1/clients/${hidden}/owners/ada/rate-limit`
  }
  const puts = operations.filter(({ method, url }) => method === 'PUT' && !withoutRecord.has(url))
  const tried: string[] = []
  for (const { url } of puts) {
    const suffix = read(url) ? '' : read(`${url}/status`) ? '/status' : null
    if (suffix === null) continue
    tried.push(url)
    const path = existing[url] ?? (await pathOf(patternOf(url), superadmin, kindOf(url), 'fresh'))
    const before = await call<Record<string, unknown>>('GET', `${path}${suffix}`, undefined, headers)
    t.equal(before.status, 200, `GET ${url}`)
    const put = await call<Record<string, unknown>>('PUT', String(path), before.body, headers)
    t.equal(put.status, 200, `PUT ${url}: ${put.text.slice(0, 200)}`)
    const after = await call<Record<string, unknown>>('GET', `${path}${suffix}`, undefined, headers)
    const { updated_at: _, ...was } = before.body
    t.match(after.body, was, `${url} is as before`)
  }
  t.ok(tried.length >= 6, tried.join(', '))

  const settings = '/v1/settings/advertised-endpoint'
  const { body: record } = await call<object>('GET', settings, undefined, headers)
  const changed = { ...record, override: '127.0.0.1:7444' }
  t.match(await call('PUT', settings, changed, headers), {
    status: 200,
    body: { effective: '127.0.0.1:7444' }
  })
  t.match(await call('PUT', settings, { ...changed, override: null }, headers), {
    status: 200,
    body: { override: null }
  })
  t.match(await call('PUT', settings, {}, headers), {
    status: 400,
    body: { error: { message: /^\/advertised_endpoint is required/ } }
  })
})

t.test('a dry run is neither audited nor stored for its key; the change after it is', async t => {
  const { call, decisions, edge } = await accessFixture(t)
  const rule = await call<{ rule_id: string }>('POST', '/v1/rules', {
    client: edge,
    listen_port: 20_001,
    targets: [{ host: '192.0.2.1', port: 1 }]
  })
  const bulk = { ids: [rule.body.rule_id], action: 'pause' }
  const before = decisions.length
  const key = { ...headers, 'idempotency-key': 'a-dry-run' }
  t.match(await call('DELETE', '/v1/connections?protocol=tcp&dry_run=true', undefined, key), {
    status: 200,
    body: { closed: 0 }
  })
  t.match(await call('POST', '/v1/rules/bulk', { ...bulk, dry_run: true }, headers), { status: 200 })
  t.match(await call('POST', '/v1/apply-checks', {}, headers), { status: 200 })
  t.same(decisions.slice(before), [])

  t.match(await call('DELETE', '/v1/connections?protocol=tcp', undefined, key), { status: 200 })
  t.match(decisions.at(-1), { action: 'connection.close-all', status: 200 })
  t.match(await call('POST', '/v1/rules/bulk', bulk, headers), { status: 200 })
  t.ok(decisions.some(({ action }) => action === 'rule.bulk'))
})

t.test('a dry run that is denied is audited as any denial', async t => {
  const { call, decisions } = await accessFixture(t)
  const before = decisions.length
  t.match(
    await call('DELETE', '/v1/connections?protocol=tcp&dry_run=true', undefined, {
      authorization: 'Bearer x'
    }),
    {
      status: 401
    }
  )
  t.match(decisions.slice(before), [{ action: 'connection.close-all', outcome: 'deny' }])
})
