import t from 'tap'
import { Type } from 'typebox'
import type { AuthenticatedCaller, RequestInfo } from '../../../kernel/http/principal.ts'
import { defineRoute } from '../../../kernel/http/route.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { httpFixture, operator, superadmin, user } from './fixture.ts'

const routes = [
  defineRoute({
    method: 'PUT',
    url: '/v1/things/:id',
    action: 'thing.put',
    access: 'superadmin',
    needsFresh: true,
    status: 200,
    summary: 'Puts a thing.',
    schema: () => ({
      body: Type.Object({ name: Type.String() }, { additionalProperties: false }),
      params: Type.Object({ id: Type.String() }),
      query: Type.Object({ wait: Type.Optional(Type.Integer()) }, { additionalProperties: false }),
      reply: Type.Object({})
    }),
    run: async (_deps: Kernel) => ({})
  }),
  defineRoute({
    method: 'GET',
    url: '/v1/hello',
    action: 'thing.hello',
    access: 'public',
    status: 200,
    summary: 'Says hello.',
    schema: () => ({ reply: Type.Object({}) }),
    run: async (_deps: Kernel) => ({})
  })
]

/** Reads the caller from the cookie svc_session=USER.ROLE[.STATE]. */
function session({ cookies }: RequestInfo): AuthenticatedCaller | null {
  const [userId, role, state] = cookies['svc_session']?.split('.') ?? []
  if (userId === undefined) return null
  const principal = { userId, role: role === 'user' ? role : 'superadmin', method: 'session' } as const
  return {
    principal,
    requires: 'csrf',
    ...(state === 'temporary' && { allowedActions: ['password.change'] }),
    ...(state === 'enrolling' && { enrollmentActions: ['password.change'] }),
    ...(state === 'stale' && { freshUntil: 0 })
  }
}

const cookie = { cookie: 'svc_session=eve.superadmin' }
const csrfHeaders = { origin: 'http://localhost:80', 'x-svc-csrf': '1' }
const json = { 'content-type': 'application/json' }
const wrongType = { 'content-type': 'text/xml' }
const noJson = '{'

/** Each request also has the errors of later rows. The first one is returned. */
const rows = [
  ['an unknown path', 'PUT', '/v1/thing/1', { ...wrongType }, 404, 'not_found'],
  ['an empty id', 'PUT', '/v1/things/', { ...wrongType }, 404, 'not_found'],
  ['a wrong method', 'POST', '/v1/things/1', { ...wrongType }, 405, 'method_not_allowed'],
  ['no credential', 'PUT', '/v1/things/1?x=1', { ...wrongType }, 401, 'unauthenticated'],
  [
    'a wrong bearer token with a valid cookie',
    'PUT',
    '/v1/things/1',
    { ...cookie, ...csrfHeaders, ...json, authorization: 'Bearer x' },
    401,
    'unauthenticated'
  ],
  [
    'a cookie without Origin',
    'PUT',
    '/v1/things/1',
    { ...cookie, ...wrongType },
    403,
    'csrf_origin_required'
  ],
  [
    'a cookie with another Origin',
    'PUT',
    '/v1/things/1',
    { ...cookie, ...wrongType, origin: 'http://evil.example' },
    403,
    'csrf_origin_mismatch'
  ],
  [
    'a cookie without the CSRF header',
    'PUT',
    '/v1/things/1',
    { ...cookie, ...wrongType, origin: csrfHeaders.origin },
    403,
    'csrf_header_required'
  ],
  [
    'a cookie with a wrong media type',
    'PUT',
    '/v1/things/1',
    { ...cookie, ...wrongType, ...csrfHeaders },
    403,
    'csrf_content_type_required'
  ],
  [
    'a temporary password',
    'PUT',
    '/v1/things/1',
    { cookie: 'svc_session=eve.user.temporary', ...csrfHeaders, ...json },
    403,
    'password_change_required'
  ],
  [
    'no second factor',
    'PUT',
    '/v1/things/1',
    { cookie: 'svc_session=eve.user.enrolling', ...csrfHeaders, ...json },
    403,
    'second_factor_enrollment_required'
  ],
  [
    'a session that is not fresh, of a user',
    'PUT',
    '/v1/things/1',
    { cookie: 'svc_session=eve.user.stale', ...csrfHeaders, ...json },
    403,
    'role_required'
  ],
  ['a user', 'PUT', '/v1/things/1', { ...user, ...wrongType }, 403, 'role_required'],
  [
    'a session that is not fresh',
    'PUT',
    '/v1/things/1?x=1',
    { cookie: 'svc_session=eve.superadmin.stale', ...csrfHeaders, ...json },
    403,
    'reauthentication_required'
  ],
  [
    'a wrong media type',
    'PUT',
    '/v1/things/1?x=1',
    { ...superadmin, ...wrongType },
    415,
    'unsupported_media_type'
  ],
  [
    'no JSON',
    'PUT',
    '/v1/things/1?x=1',
    { ...superadmin, ...json, 'idempotency-key': '*' },
    400,
    'invalid_json'
  ],
  [
    'no JSON from a cookie with proof',
    'PUT',
    '/v1/things/1',
    { ...cookie, ...csrfHeaders, ...json },
    400,
    'invalid_json'
  ]
] as const

t.test('a request with several errors gets the error of the first check', async t => {
  const { send } = await httpFixture(t, { routes, session })

  for (const [title, method, url, headers, status, code] of rows) {
    const reply = await send(method, url, { host: 'localhost:80', ...headers }, noJson)
    t.match(reply, { status, body: { error: { code } } }, title)
  }
})

t.test('after JSON, the idempotency key is checked, then the body, then the query', async t => {
  const { send } = await httpFixture(t, { routes })
  const put = (url: string, headers: object, body: object) =>
    send('PUT', url, { ...superadmin, ...headers }, body)

  const key = await put('/v1/things/1?x=1', { 'idempotency-key': '*' }, {})
  const body = await put('/v1/things/1?x=1', {}, {})
  const query = await put('/v1/things/1?x=1', {}, { name: 'a' })

  t.match(key, { status: 400, body: { error: { code: 'validation.idempotency_key' } } })
  t.match(body, { status: 400, body: { error: { code: 'validation.schema', details: { field: '/name' } } } })
  t.match(query, {
    status: 400,
    body: { error: { code: 'validation.unknown_parameter', details: { field: '/x' } } }
  })
})

t.test('until there is a superadmin, only the operator token and public routes are accepted', async t => {
  const { send } = await httpFixture(t, { routes, users: 'none' })
  const put = (headers: object) => send('PUT', '/v1/things/1', { ...json, ...headers }, { name: 'a' })

  t.match(await put({}), { status: 503, body: { error: { code: 'bootstrap_required' } } })
  t.match(await put(user), { status: 503, body: { error: { code: 'bootstrap_required' } } })
  t.match(await put(operator), { status: 200 })
  t.match(await send('GET', '/v1/hello'), { status: 200 })
  t.match(await send('PUT', '/v1/thing/1'), { status: 404 })
})

t.test('a wrong method lists the allowed ones, and a 401 names the authentication scheme', async t => {
  const { send } = await httpFixture(t, { routes })

  t.equal((await send('DELETE', '/v1/hello')).headers['allow'], 'GET, HEAD')
  t.equal((await send('OPTIONS', '/v1/things/1')).headers['allow'], 'PUT')
  t.equal((await send('PUT', '/v1/things/1')).headers['www-authenticate'], 'Bearer')
})

t.test('a valid cookie with CSRF proof passes', async t => {
  const { send } = await httpFixture(t, { routes, session })

  const passed = await send(
    'PUT',
    '/v1/things/1',
    { host: 'localhost:80', ...cookie, ...csrfHeaders },
    { name: 'a' }
  )

  t.match(passed, { status: 200 })
})

t.test('an authenticator must use its own method name, in the allowed form', async t => {
  let method = ''
  const principal = () => ({ userId: 'eve', role: 'superadmin', method }) as const
  const { send, log } = await httpFixture(t, { routes, session: () => ({ principal: principal() }) })

  for (method of ['operator_token', 'api_token', 'none', '', 'Proxy', 'seventeen_letters']) {
    const { status } = await send('PUT', '/v1/things/1', json, { name: 'a' })
    t.equal(status, 500, method)
    t.match(log.at(-1), { event: 'request.failed', fields: { error: /the authenticator of thing/ } }, method)
  }
  method = 'oidc'
  t.equal((await send('PUT', '/v1/things/1', json, { name: 'a' })).status, 200)
})
