// Cross-site request forgery: in a browser with the session cookie, requests of a foreign page have no effect.
import t from 'tap'
import { onboardedServer, origin, signedInBrowser } from '../../plugins/auth/test/fixture.ts'

const json = { 'content-type': 'application/json' }
const csrfHeaders = { origin, 'x-svc-csrf': '1' }

t.test('only our own origin can write', async t => {
  const api = await onboardedServer(t)
  const page = await signedInBrowser(api)
  const others = [
    'null',
    'http://sluice.test',
    'https://sluice.test:8443',
    'https://sluice.test/',
    'https://sluice.test.evil.test',
    'https://evil.test#https://sluice.test',
    'https://user@sluice.test',
    'https://SLUICE.test',
    `${origin}, https://evil.test`,
    `https://evil.test, ${origin}`,
    'https://sub.sluice.test',
    'https://xn--sluice-.test',
    ''
  ]

  for (const other of others) {
    const reply = await page.call(
      'POST',
      '/v1/users/root/credentials',
      {},
      { 'x-svc-csrf': '1', origin: other }
    )
    t.match(reply, { status: 403, body: { error: { code: 'csrf_origin_mismatch' } } }, other)
  }
  t.same((await page.call('GET', '/v1/users/root/credentials')).body, [])
})

t.test('a form, a beacon or a no-cors fetch of another page cannot change anything', async t => {
  const api = await onboardedServer(t)
  const page = await signedInBrowser(api)
  const simple = ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']

  for (const type of simple) {
    const reply = await page.call(
      'POST',
      '/v1/users/root/credentials',
      {},
      { ...csrfHeaders, 'content-type': type }
    )
    t.match(reply, { status: 403, body: { error: { code: 'csrf_content_type_required' } } }, type)
  }
  for (const value of ['0', '', 'true', '1, 1', ' 2']) {
    const reply = await page.call(
      'POST',
      '/v1/users/root/credentials',
      {},
      { ...json, origin, 'x-svc-csrf': value }
    )
    t.match(reply, { status: 403, body: { error: { code: 'csrf_header_required' } } }, value)
  }
  t.same((await page.call('GET', '/v1/users/root/credentials')).body, [])
})

t.test('a header or parameter does not turn a read into a write', async t => {
  const api = await onboardedServer(t)
  const page = await signedInBrowser(api)
  const overrides = {
    'x-http-method-override': 'DELETE',
    'x-http-method': 'DELETE',
    'x-method-override': 'DELETE'
  }

  t.equal((await page.call('GET', '/v1/users/root', undefined, overrides)).status, 200)
  t.equal((await page.call('GET', '/v1/users/root?_method=DELETE', undefined, {})).status, 400)
  t.equal((await page.call('GET', '/v1/users/root', undefined, {})).status, 200, 'still there')
})

t.test('forged proxy and host headers do not make a foreign origin ours', async t => {
  const api = await onboardedServer(t, { keys: { trusted_proxies: [] } })
  const page = await signedInBrowser(api)
  const forged = {
    ...json,
    'x-svc-csrf': '1',
    origin: 'https://evil.test',
    'x-forwarded-host': 'evil.test',
    'x-forwarded-proto': 'https',
    forwarded: 'host=evil.test;proto=https'
  }

  const reply = await page.call('POST', '/v1/users/root/credentials', {}, forged)
  const named = await page.call('POST', '/v1/users/root/credentials', {}, { ...forged, host: 'evil.test' })

  t.match(reply, { status: 403, body: { error: { code: 'csrf_origin_mismatch' } } })
  t.match(named, { status: 421, body: { error: { code: 'unknown_host' } } })
})

t.test('no response allows a page of another origin to read it', async t => {
  const api = await onboardedServer(t)
  const page = await signedInBrowser(api)
  const foreign = { origin: 'https://evil.test', 'access-control-request-method': 'DELETE' }

  const read = await page.call('GET', '/v1/users/me', undefined, foreign)
  const raw = await api.server.http.app.inject({ method: 'OPTIONS', url: '/v1/users/me', headers: foreign })

  for (const headers of [read.headers, raw.headers])
    t.same(
      Object.keys(headers).filter(name => name.startsWith('access-control-')),
      []
    )
  t.equal(raw.statusCode, 405)
  t.match(read.headers, { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
})

t.test('a login or an onboarding from another page opens no session', async t => {
  const api = await onboardedServer(t)
  const body = JSON.stringify({ user_id: 'root', password: 'a long enough password' })

  for (const type of ['text/plain', 'application/x-www-form-urlencoded']) {
    const reply = await api.server.http.app.inject({
      method: 'POST',
      url: '/v1/auth/login',
      headers: { 'content-type': type, origin: 'https://evil.test' },
      payload: body
    })
    t.equal(reply.statusCode, 415, type)
    t.equal(reply.headers['set-cookie'], undefined)
  }
})
