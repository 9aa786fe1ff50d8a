import { Readable } from 'node:stream'
import t from 'tap'
import { Type } from 'typebox'
import { defineRoute, type Media } from '../../../kernel/http/route.ts'
import { definePlugin, type Kernel } from '../../../kernel/plugin.ts'
import { pluginProblems } from '../../../kernel/plugin-problems.ts'
import { httpFixture, superadmin, user } from './fixture.ts'

const page = (url: string, access: 'public' | 'user', run: () => Media) =>
  defineRoute({
    method: 'GET',
    url,
    action: `page${url.replaceAll('/', '.')}`,
    access,
    summary: 'Shows a page.',
    reply: 'media',
    schema: () => ({ reply: Type.Unknown() }),
    run: async (_deps: Kernel) => run()
  })

const html = '<!doctype html><title>Status</title>'
const picture = Buffer.from([0x89, 0x50, 0, 255])
const script = {
  type: 'text/javascript',
  body: 'go()',
  headers: { 'cache-control': 'max-age=31536000, immutable' }
}
const routes = [
  page('/status', 'public', () => ({ type: 'text/html; charset=utf-8', body: html })),
  page('/status/page.js', 'public', () => script),
  page('/status/logo.png', 'public', () => ({ type: 'image/png', body: picture })),
  page('/status/export', 'user', () => ({ type: 'text/csv', body: Readable.from(['a,b\n', '1,2\n']) }))
]

t.test('a page, a script and a picture are sent with their type, bytes and headers', async t => {
  const { http } = await httpFixture(t, { routes })
  const get = (url: string) => http.app.inject({ url })

  const [shown, code, logo] = await Promise.all(['/status', '/status/page.js', '/status/logo.png'].map(get))

  t.match(shown, { statusCode: 200, body: html, headers: { 'content-type': 'text/html; charset=utf-8' } })
  t.match(code?.headers, {
    'content-type': /^text\/javascript/,
    'cache-control': 'max-age=31536000, immutable'
  })
  t.ok(logo?.rawPayload.equals(picture))
})

t.test(
  'a page keeps the hardening of the API: no sniffing, no store, nothing of other sites, no frame',
  async t => {
    const { http } = await httpFixture(t, { routes })

    const { headers } = await http.app.inject({ url: '/status' })

    t.match(headers, {
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'content-security-policy': /default-src 'self'.*frame-ancestors 'none'/,
      'x-request-id': /./
    })
  }
)

t.test('a stream is sent to those who may have it', async t => {
  const { http, send } = await httpFixture(t, { routes })

  t.equal((await send('GET', '/status/export')).status, 401)
  const reply = await http.app.inject({ url: '/status/export', headers: user })
  t.match(reply, { statusCode: 200, body: 'a,b\n1,2\n' })
  t.match(await http.app.inject({ method: 'HEAD', url: '/status' }), { statusCode: 200, body: '' })
})

t.test('pages are not in the document of the API', async t => {
  const { http } = await httpFixture(t, { routes })
  await http.app.ready()

  t.same(Object.keys((http.document() as { paths: object }).paths), [])
})

t.test('a plugin has one prefix outside /v1, which no other plugin has', t => {
  const plugin = (name: string, prefix: `/${string}`) =>
    definePlugin({ name, version: '1.0.0', kernel: '^2.0.0', prefix, routes: name === 'one' ? routes : [] })
  const problems = (...plugins: readonly ReturnType<typeof plugin>[]) =>
    pluginProblems(plugins).filter(problem => !/fills/.test(problem))

  t.same(problems(plugin('one', '/status')), [])
  t.same(problems(plugin('one', '/status'), plugin('two', '/status')), [
    'prefix /status is claimed by one and two'
  ])
  t.match(problems(plugin('one', '/sta')), [/one: route \/status must begin with \/v1\/ or with .* `prefix`/])
  t.match(problems(plugin('two', '/v1')), ['prefix /v1 is claimed by the kernel and two'])
  t.match(problems(plugin('two', '/a/b')), [/two: manifest \/prefix/])
  t.end()
})

const subscribe = defineRoute({
  method: 'POST',
  url: '/status/subscribe',
  action: 'page.subscribe',
  access: 'public',
  summary: 'Takes a form.',
  reply: 'media',
  takesForm: true,
  schema: () => ({
    body: Type.Object(
      { name: Type.String(), topic: Type.Optional(Type.Array(Type.String())) },
      { additionalProperties: false }
    ),
    reply: Type.Unknown()
  }),
  run: async (_deps: Kernel, { body }): Promise<Media> => ({
    status: 303,
    type: 'text/plain',
    body: JSON.stringify(body),
    headers: { location: '/status' }
  })
})
const rename = defineRoute({ ...subscribe, url: '/status/rename', action: 'page.rename', access: 'user' })
const form = { 'content-type': 'application/x-www-form-urlencoded', host: 'localhost' }

t.test('a form is parsed, checked by the schema, answered by a redirect, and recorded', async t => {
  const { http, decisions } = await httpFixture(t, { routes: [subscribe] })
  const post = (payload: string, headers = form) =>
    http.app.inject({ method: 'POST', url: '/status/subscribe', headers, payload })

  const reply = await post('name=A+%26+B&topic=one&topic=two')
  t.match(reply, { statusCode: 303, headers: { location: '/status' } })
  t.same(reply.json(), { name: 'A & B', topic: ['one', 'two'] })
  t.match(decisions.at(-1), { action: 'page.subscribe', status: 303, reason: null })

  t.match((await post('name=a&nmae=b')).json(), { error: { code: 'validation.unknown_field' } })
  t.match((await post('__proto__=x&name=a')).json(), { error: { code: 'validation.unknown_field' } })
  t.match(await post('a=1&'.repeat(201)), { statusCode: 400, body: /invalid_form.*at most 200 fields/ })
  t.match(await post('name=a', { ...form, 'content-type': 'text/plain' }), { statusCode: 415 })
})

t.test('a form that is not UTF-8 is refused, and nothing is replaced', async t => {
  const { http } = await httpFixture(t, { routes: [subscribe] })
  const post = (payload: Buffer, type = form['content-type']) =>
    http.app.inject({
      method: 'POST',
      url: '/status/subscribe',
      headers: { ...form, 'content-type': type },
      payload
    })
  const refused = { statusCode: 400, body: /invalid_form.*not UTF-8/ }
  const boundary = 'a-boundary-of-27-characters-or-more'
  const part = (name: string, value: string): string =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1')
  const written = '\xef\xbf\xbd' // U+FFFD in UTF-8

  t.match(await post(latin1('name=caf%E9&topic=a')), refused)
  t.match(await post(latin1('name=caf\xe9&topic=a')), refused)
  t.match(await post(latin1('name=%EF%BF%BD%E9&topic=a')), refused)
  t.match((await post(latin1('name=%EF%BF%BD&topic=a&topic=b'))).json(), { name: '\ufffd' })
  const posted = (name: string) => {
    const parts = [part('name', name), part('topic', 'a'), part('topic', 'b')]
    return post(latin1(`${parts.join('')}--${boundary}--\r\n`), `multipart/form-data; boundary=${boundary}`)
  }
  t.match(await posted(`caf\xe9 ${written}`), refused)
  t.match((await posted(written)).json(), { name: '\ufffd' })
})

t.test('a form goes only to a route that takes it', async t => {
  const { send } = await httpFixture(t, {
    routes: [defineRoute({ ...subscribe, takesForm: undefined as never })]
  })

  t.match(await send('POST', '/status/subscribe', { ...superadmin, ...form }, 'name=a'), { status: 415 })
})

t.test('the form of a signed-in user must come from a page of this server', async t => {
  const principal = { userId: 'bob', role: 'user', method: 'session' } as const
  const { http } = await httpFixture(t, {
    routes: [rename],
    session: () => ({ principal, requires: 'csrf' })
  })
  const post = async (origin: object) =>
    (
      await http.app.inject({
        method: 'POST',
        url: '/status/rename',
        headers: { ...form, ...origin },
        payload: 'name=a'
      })
    ).statusCode

  t.equal(await post({}), 403)
  t.equal(await post({ origin: 'http://evil.test' }), 403)
  t.equal(await post({ origin: 'http://localhost' }), 303)
})
