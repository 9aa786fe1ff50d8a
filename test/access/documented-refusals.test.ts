// Every route answers odd requests only with the statuses, codes and bodies of its operation in the OpenAPI document.
import t from 'tap'
import { plugins as builtin } from '../../config/plugins.ts'
import { testServer } from '../../kit/test-server.ts'
import { type ApiDocument, listOperations, type Operation } from '../support/api-document.ts'

interface Odd {
  readonly headers?: Readonly<Record<string, string>>
  readonly query?: string
  readonly body?: string
  readonly id?: string // in the path
}

const json = { 'content-type': 'application/json' }
const odd: Readonly<Record<string, Odd>> = {
  'a malformed id': { id: '%00' },
  'a malformed path': { id: '%ff' },
  'a long id': { id: 'x'.repeat(5000) },
  'an id of nothing': { id: '01KCD3F0P7Q4Y6Z8V1T5S9R2NA' },
  'If-Match': { headers: { 'if-match': '"x"' } },
  'If-Match of all': { headers: { 'if-match': '*' } },
  'If-None-Match': { headers: { 'if-none-match': '*' } },
  'an invalid key': { headers: { 'idempotency-key': '!' } },
  'an unknown host': { headers: { host: 'evil.example' } },
  'no credential': { headers: { authorization: '' } },
  'an unknown token': { headers: { authorization: 'Bearer svct_x' } },
  'an unknown parameter': { query: '?surplus=1' },
  'a parameter that cannot be decoded': { query: '?limit=%E9' },
  'a limit of 0': { query: '?limit=0' },
  'an invalid cursor': { query: '?cursor=%00' },
  'an unknown sort': { query: '?sort=%00' },
  'text as body': { headers: { 'content-type': 'text/plain' }, body: 'x' },
  'a body without a type': { body: 'x' },
  'a compressed body': { headers: { ...json, 'content-encoding': 'gzip' }, body: '{}' },
  'a body in another charset': {
    headers: { 'content-type': 'application/json; charset=utf-16' },
    body: '{}'
  },
  'a form': { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'a=1' },
  'the type of a form without a body': { headers: { 'content-type': 'multipart/form-data; boundary=x' } },
  'half a body': { headers: json, body: '{' },
  'a list as body': { headers: json, body: '[]' },
  'an empty body': { headers: json, body: '{}' },
  'an unknown field': { headers: json, body: '{"surplus":1}' },
  'many unknown fields': {
    headers: json,
    body: JSON.stringify(Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`f${i}`, i])))
  },
  'a deep body': { headers: json, body: `${'{"a":'.repeat(1000)}1${'}'.repeat(1000)}` },
  'a huge body': { headers: json, body: JSON.stringify('x'.repeat(2 ** 21)) }
}

/** Requests that differ only in what a GET ignores. */
const isSent = ({ method }: Operation, { body, headers = {} }: Odd): boolean =>
  method !== 'GET' || (body === undefined && !('idempotency-key' in headers))

t.test('every route answers odd requests as its OpenAPI operation says', async t => {
  const plugins = Object.keys(builtin).filter(name => name !== 'process') // needs a real clock
  const { call } = await testServer(t, { plugins })
  const { body } = await call<ApiDocument>('GET', '/v1/openapi.json')
  const operations = listOperations(body).filter(({ isStream }) => !isStream)
  const found: string[] = []

  for (const operation of operations)
    for (const [name, one] of Object.entries(odd)) {
      if (!isSent(operation, one)) continue
      const url = operation.url.replaceAll(/\{\w+\}/g, one.id ?? 'x') + (one.query ?? '')
      const reply = await call(operation.method as 'GET', url, one.body, one.headers)
      const fault = operation.faultOf(reply.status, reply.text)
      if (fault !== null) found.push(`${operation.method} ${operation.url} with ${name}: ${fault}`)
    }

  t.ok(operations.length > 90, `${operations.length} operations`)
  t.same(found, [])
})

t.test('a change without a version that is sent with If-Match is refused as documented', async t => {
  const { call } = await testServer(t, { plugins: Object.keys(builtin).filter(name => name !== 'process') })
  const { body } = await call<ApiDocument>('GET', '/v1/openapi.json')
  const operations = listOperations(body)
  const changes = {
    '/v1/rules/bulk': { ids: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NB'], action: 'pause' },
    '/v1/client-enrollments': { name: 'new' }
  }

  for (const [url, change] of Object.entries(changes)) {
    const reply = await call('POST', url, change, { 'if-match': '"x"' })
    const operation = operations.find(one => one.url === url && one.method === 'POST')
    t.equal(reply.status, 412)
    t.equal(operation?.faultOf(reply.status, reply.text), null)
  }
})

t.test('every operation documents the refusals of the pipeline', async t => {
  const plugins = Object.keys(builtin).filter(name => name !== 'process')
  const { call } = await testServer(t, { plugins })
  const { body } = await call<ApiDocument>('GET', '/v1/openapi.json')
  const always = ['400', '408', '421', '429', '431', '500', '503']
  const ofChange = ['412', '413', '415']

  for (const [url, methods] of Object.entries(body.paths))
    for (const [method, { responses }] of Object.entries(methods))
      t.same(
        [...always, ...(method === 'get' ? [] : ofChange)].filter(status => !(status in responses)),
        [],
        `${method} ${url}`
      )
})
