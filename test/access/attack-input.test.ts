// Malicious request bodies grant no rights, change no prototype, and cause no internal error.
import t, { type Test } from 'tap'
import type { TestServer } from '../../kit/test-server.ts'
import { addUser, type ErrorBody, onboardedServer } from '../../plugins/auth/test/fixture.ts'

const plugins = [
  'users',
  'auth',
  'credentials',
  'clients',
  'enrollment',
  'advertised-endpoint',
  'rules',
  'grants'
]
const open = (t: Test): Promise<TestServer> => onboardedServer(t, { plugins })

const tokenOf = async (api: TestServer, userId: string): Promise<string> =>
  (await api.call<{ token: string }>('POST', `/v1/users/${userId}/credentials`)).body.token

const grant = { user_id: 'ada', client_id: '*', listen_port_start: 1, listen_port_end: 9, protocols: ['tcp'] }

t.test('a field that the caller must not set is refused by name, and nothing changes', async t => {
  const api = await open(t)
  await addUser(api, 'ada')
  const ada = { authorization: `Bearer ${await tokenOf(api, 'ada')}` }
  const before = rowsOf(await api.call('GET', '/v1/users'))
  const cases = [
    ['POST', '/v1/users/me/password', { role: 'superadmin' }],
    ['POST', '/v1/users/ada/credentials', { user_id: 'root' }],
    ['POST', '/v1/users/ada/credentials', { token: 'svct_chosen' }],
    ['POST', '/v1/users/ada/credentials', { credential_id: '01ARZ3NDEKTSV4RRFFQ69G5FAV' }],
    ['POST', '/v1/users/ada/credentials', { revoked_at: null }],
    ['POST', '/v1/rules', { state: 'active' }],
    ['POST', '/v1/rules', { rule_id: '01ARZ3NDEKTSV4RRFFQ69G5FAV' }],
    ['POST', '/v1/rules', { placed_by_superadmin: true }],
    ['POST', '/v1/rules', { client_id: 'x' }]
  ] as const

  for (const [method, url, extra] of cases) {
    const valid = url === '/v1/rules' ? { client: 'edge', listen_port: 5, targets: [] } : {}
    const reply = await api.call<ErrorBody>(method, url, { ...valid, ...extra }, ada)
    t.match(
      reply,
      { status: 400, body: { error: { code: 'validation.unknown_field' } } },
      `${url} ${Object.keys(extra)}`
    )
    t.match(reply.body.error.message, Object.keys(extra)[0])
  }
  t.same(rowsOf(await api.call('GET', '/v1/users')), before)
})

const rowsOf = ({ body }: { body: unknown }): string => JSON.stringify(body)

t.test('even a superadmin cannot set fields that the server generates', async t => {
  const api = await open(t)
  await addUser(api, 'ada')
  const cases = [
    ['POST', '/v1/users', { user_id: 'eve', display_name: 'Eve', disabled: true }],
    ['POST', '/v1/users', { user_id: 'eve', display_name: 'Eve', created_at: '2020-01-01T00:00:00Z' }],
    ['PATCH', '/v1/users/ada', { user_id: 'root' }],
    ['PATCH', '/v1/users/ada', { password: 'x' }],
    ['POST', '/v1/grants', { ...grant, grant_id: 'x' }],
    ['POST', '/v1/client-enrollments', { name: 'x', code: 'chosen' }],
    ['POST', '/v1/users/ada/password', { sessions_revoked: 0 }]
  ] as const

  for (const [method, url, body] of cases)
    t.match(
      await api.call(method, url, body),
      { status: 400, body: { error: { code: 'validation.unknown_field' } } },
      `${method} ${url}`
    )
})

t.test('a body cannot change prototypes or add query operators', async t => {
  const api = await open(t)
  const post = async (payload: string) => {
    const headers = {
      authorization: `Bearer ${await tokenOf(api, 'root')}`,
      'content-type': 'application/json'
    }
    return api.server.http.app.inject({ method: 'POST', url: '/v1/users', headers, payload })
  }
  const bodies = [
    '{"__proto__":{"role":"superadmin"},"user_id":"eve","display_name":"Eve"}',
    '{"constructor":{"prototype":{"role":"superadmin"}},"user_id":"eve","display_name":"Eve"}',
    '{"user_id":{"$ne":null},"display_name":"Eve"}',
    '{"user_id":["eve"],"display_name":"Eve"}',
    '[{"user_id":"eve","display_name":"Eve"}]',
    '"eve"',
    'null',
    '1e400',
    '{"user_id":"eve"',
    '{"user_id":"eve",}',
    "{'user_id':'eve'}",
    '\u0000',
    `${'['.repeat(30_000)}${']'.repeat(30_000)}`,
    `{"user_id":"eve","display_name":${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}}`
  ]

  for (const body of bodies) t.equal((await post(body)).statusCode, 400, body.slice(0, 60))
  t.equal(({} as { role?: string }).role, undefined)
})

t.test('a body of another type, size or encoding is refused', async t => {
  const api = await open(t)
  const authorization = `Bearer ${await tokenOf(api, 'root')}`
  const payload = '{"user_id":"eve","display_name":"Eve"}'
  const post = (headers: Record<string, string>, body: string | Buffer = payload) =>
    api.server.http.app.inject({
      method: 'POST',
      url: '/v1/users',
      headers: { authorization, ...headers },
      payload: body
    })
  const types = [
    'text/json',
    'application/xml',
    'application/json5',
    'application/jsonp',
    'application/json-patch+json',
    '*/*',
    'json',
    ''
  ]

  for (const type of types) t.equal((await post({ 'content-type': type })).statusCode, 415, type)
  t.equal((await post({})).statusCode, 415, 'no type')
  t.equal((await post({ 'content-type': 'application/json' }, `"${'x'.repeat(2 ** 20)}"`)).statusCode, 413)
  const zipped = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
  t.equal((await post(zipped, Buffer.from('1f8b0800', 'hex'))).statusCode, 415, 'nothing is unpacked')
  const utf16 = { 'content-type': 'application/json; charset=utf-16' }
  t.equal((await post(utf16, Buffer.from(payload, 'utf16le'))).statusCode, 415, 'JSON is UTF-8')
  for (const charset of [
    "charset*=utf-16''x",
    'charset*0=utf-16',
    "charset*0*=utf-16''x",
    "Charset* =utf-16''x"
  ])
    t.equal((await post({ 'content-type': `application/json; ${charset}` })).statusCode, 415, charset)
})
