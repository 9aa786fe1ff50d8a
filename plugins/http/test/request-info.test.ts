import { once } from 'node:events'
import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import type { RequestInfo } from '../../../kernel/http/principal.ts'
import { defineRoute } from '../../../kernel/http/route.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { openCertificate } from '../../certificate/certificate.ts'
import type { HttpOptions } from '../settings.ts'
import { httpFixture, portOf } from './fixture.ts'

const routes = [
  defineRoute({
    method: 'POST',
    url: '/v1/things',
    action: 'thing.make',
    access: 'public',
    status: 200,
    summary: 'Returns the request info.',
    schema: () => ({ body: Type.Unknown(), query: Type.Unknown(), reply: Type.Unknown() }),
    async run(_deps: Kernel, call) {
      call.setCookie('svc_session', 'secret', 3600)
      call.setCookie('old', '', 'clear')
      return call.requestInfo
    }
  })
]

async function post(t: Test, options: Partial<HttpOptions>, headers: object, remoteAddress = '192.0.2.1') {
  const { http } = await httpFixture(t, { routes, ...options, dir: t.testdir() })
  const reply = await http.app.inject({
    method: 'POST',
    url: '/v1/things?a=1',
    remoteAddress,
    headers: { host: 'sluice.example:7080', ...headers }
  })
  return { seen: reply.json<RequestInfo>(), cookies: [reply.headers['set-cookie'] ?? []].flat() }
}

t.test('the request info has what the request contains', async t => {
  const { seen } = await post(
    t,
    {},
    { origin: 'http://a', 'x-svc-csrf': '1', cookie: 'svc_session=x', authorization: 'Bearer y' }
  )

  t.match(seen, {
    method: 'POST',
    path: '/v1/things',
    authorization: 'Bearer y',
    cookies: { svc_session: 'x' },
    originHeader: 'http://a',
    ownOrigin: 'http://sluice.example:7080',
    csrfHeader: '1',
    hasBody: false,
    remoteAddr: '192.0.2.1'
  })
})

const forwarded = {
  'x-forwarded-for': '198.51.100.7',
  'x-forwarded-proto': 'https',
  'x-forwarded-host': 'evil.example'
}

t.test('forwarded headers count only from a trusted proxy, and never name the host', async t => {
  const trusted = await post(t, { trustedProxies: ['192.0.2.0/24'] }, forwarded)
  const ignored = await post(t, { trustedProxies: ['10.0.0.0/8'] }, forwarded)
  const none = await post(t, {}, forwarded)

  t.match(trusted.seen, {
    remoteAddr: '198.51.100.7',
    peerAddr: '192.0.2.1',
    headers: forwarded,
    ownOrigin: 'https://sluice.example:7080'
  })
  for (const { seen } of [ignored, none])
    t.match(seen, { remoteAddr: '192.0.2.1', ownOrigin: 'http://sluice.example:7080' })
})

t.test('an address that the caller sent to the proxy is not trusted', async t => {
  const headers = { 'x-forwarded-for': '203.0.113.9, 198.51.100.7' }

  const { seen } = await post(t, { trustedProxies: ['192.0.2.1'] }, headers)

  t.equal(seen.remoteAddr, '198.51.100.7')
})

t.test('an IPv4 caller on a dual-stack socket has an IPv4 address', async t => {
  t.equal((await post(t, {}, {}, '::ffff:192.0.2.1')).seen.remoteAddr, '192.0.2.1')
  t.equal((await post(t, {}, {}, '2001:db8::1')).seen.remoteAddr, '2001:db8::1')
})

t.test('the public origin has precedence over the request', async t => {
  const { seen } = await post(t, { publicOrigin: 'https://door.example' }, {})

  t.equal(seen.ownOrigin, 'https://door.example')
})

t.test('cookies are limited to this site, and secure if the origin is https', async t => {
  const plain = await post(t, {}, {})
  const secure = await post(t, { publicOrigin: 'https://door.example' }, {})

  t.same(plain.cookies, [
    'svc_session=secret; Max-Age=3600; Path=/; HttpOnly; SameSite=Lax',
    'old=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax'
  ])
  t.equal(secure.cookies[0], 'svc_session=secret; Max-Age=3600; Path=/; HttpOnly; Secure; SameSite=Lax')
})

t.test('with a certificate the API accepts only TLS, and its origin is https', async t => {
  const { cert, key } = await openCertificate(t.testdir())
  const { http, log } = await httpFixture(t, { routes, tls: { cert, key }, dir: t.testdir({ data: {} }) })
  const port = await portOf(http)
  const call = request({
    host: '127.0.0.1',
    port,
    path: '/v1/things',
    method: 'POST',
    ca: cert,
    agent: false
  })

  call.end()

  const [response] = await once(call, 'response')
  t.match(JSON.parse(await text(response)), { ownOrigin: `https://127.0.0.1:${port}` })
  t.match(response.headers['set-cookie'][0], /Secure/)
  await t.rejects(fetch(`http://127.0.0.1:${port}/v1/things`))
  t.same(log, [])
})

t.test('the port, brackets and case of a forwarded address do not make another caller', async t => {
  for (const [given, expected] of [
    ['203.0.113.81:5001', '203.0.113.81'],
    ['[2001:DB8::1]:4711', '2001:db8::1'],
    ['[2001:db8:0:0::1]', '2001:db8::1'],
    ['2001:DB8::1', '2001:db8::1'],
    ['::ffff:203.0.113.81', '203.0.113.81'],
    ['unknown', '192.0.2.1'],
    ['203.0.113.81, not-an-address', '192.0.2.1'],
    ['203.0.113.81:5001, 192.0.2.9:80', '203.0.113.81']
  ] as const) {
    const headers = { 'x-forwarded-for': given, 'x-forwarded-proto': 'HTTPS' }
    const { seen, cookies } = await post(t, { trustedProxies: ['192.0.2.0/24'] }, headers)
    t.equal(seen.remoteAddr, expected, given)
    t.match(cookies[0], /Secure/)
  }
})
