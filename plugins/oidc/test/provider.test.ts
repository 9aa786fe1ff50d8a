// Requests to a provider, and providers that answer wrongly or not at all.
import t, { type Test } from 'tap'
import { origin } from '../../auth/test/fixture.ts'
import { oidcServer, openBrowser } from './fixture.ts'

const discovery = '/.well-known/openid-configuration'
const start = '/v1/auth/oidc/corp/start'

async function open(t: Test, more: object = {}) {
  const { app, provider } = await oidcServer(t, { make_users: true, ...more })
  provider.claims = { preferred_username: 'ann' }
  return { app, provider, browser: openBrowser(app) }
}

t.test('discovery and keys are asked for at the first use, and then only as often as needed', async t => {
  const { app, provider, browser } = await open(t)
  t.same(provider.requests, [], 'not at the start')
  const count = (request: string) => provider.requests.filter(one => one === request).length
  for (const _ of [1, 2, 3]) t.equal(await browser.signIn(provider), `${origin}/`)
  t.equal(count(`GET ${discovery}`), 1)
  t.equal(count('GET /keys'), 1)
  t.equal(count('POST /token'), 3)
  await app.clock.advance(3_600_000)
  await browser.signIn(provider)
  t.equal(count(`GET ${discovery}`), 2)
})

t.test('a token with an unknown key asks for the keys at most once a minute', async t => {
  const { provider, browser } = await open(t)
  await browser.signIn(provider)
  await provider.rotate()
  for (const _ of [1, 2, 3]) t.equal(await browser.signIn(provider), '/#error=oidc_token_invalid')
  t.equal(provider.requests.filter(one => one === 'GET /keys').length, 1)
})

t.test('a secret is sent in the header, a public client sends its id', async t => {
  process.env['SVC_OIDC_CORP_SECRET'] = 'secret of the client'
  t.teardown(() => delete process.env['SVC_OIDC_CORP_SECRET'])
  const { provider, browser } = await open(t)
  const seen: (string | undefined)[] = []
  provider.answers.set('/token', (request, response) => {
    seen.push(request.headers.authorization)
    response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}')
  })
  t.equal(await browser.signIn(provider), '/#error=oidc_token_invalid', 'a code that the provider refuses')
  delete process.env['SVC_OIDC_CORP_SECRET']
  await browser.signIn(provider)
  t.same(seen, [`Basic ${Buffer.from('sluice:secret+of+the+client').toString('base64')}`, undefined])
})

for (const [what, path] of [
  ['discovery', discovery],
  ['keys', '/keys'],
  ['token', '/token']
] as const)
  t.test(`a provider that does not answer as it must: ${what}`, async t => {
    const { app, provider, browser } = await open(t)
    const finish = async () => {
      await app.clock.advance(5_000) // a failed discovery is remembered
      if (path === discovery) {
        const { status, body, headers } = await browser.send('POST', start, {})
        return status === 200 ? 'ok' : `${status} ${body.error.code} ${headers['retry-after']}`
      }
      return browser.signIn(provider)
    }
    const refused = path === discovery ? '503 provider_unavailable 10' : '/#error=provider_unavailable'
    for (const [how, answer] of Object.entries({
      'a redirect': response => response.writeHead(302, { location: `${provider.issuer}/elsewhere` }).end(),
      'an error': response => response.writeHead(500).end(),
      'another protocol': response =>
        response.writeHead(101, { connection: 'upgrade', upgrade: 'other' }).end(),
      'a closed connection': response => response.destroy(),
      '2 MiB': response =>
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ text: 'x'.repeat(2 * 1024 * 1024) }))
    } satisfies Record<string, (response: import('node:http').ServerResponse) => unknown>)) {
      provider.answers.set(path, (_request, response) => void answer(response))
      t.equal(await finish(), refused, how)
    }
    t.notOk(provider.requests.some(one => one.endsWith('/elsewhere')))
    provider.answers.clear()
    t.not(await finish(), refused, 'it answers again')
  })

t.test('a failed discovery is remembered for 5 s, and then the provider is asked again', async t => {
  const { app, provider, browser } = await open(t)
  const begin = async () => (await browser.send('POST', start, {})).status
  const asked = () => provider.requests.filter(one => one === `GET ${discovery}`).length
  provider.answers.set(discovery, (_request, response) => void response.destroy())
  t.equal(await begin(), 503)
  provider.answers.clear()
  await app.clock.advance(4_999)
  t.same([await begin(), await begin(), asked()], [503, 503, 1], 'it is not asked')
  await app.clock.advance(1)
  t.same([await begin(), await begin(), asked()], [200, 200, 2])
})

t.test('a provider that hangs is given up after 5 s, and delays no password', async t => {
  const { app, provider, browser } = await open(t)
  provider.answers.set(discovery, () => {})
  const began = performance.now()
  const hanging = Promise.all([1, 2, 3].map(() => browser.send('POST', start, {})))
  t.equal((await app.call('GET', '/v1/auth/status')).status, 200)
  t.ok(performance.now() - began < 4_000)
  for (const { status } of await hanging) t.equal(status, 503)
  t.ok(performance.now() - began >= 4_900)
  t.same(provider.requests, [`GET ${discovery}`], 'those who wait share one request')
  const later = performance.now()
  t.equal((await browser.send('POST', start, {})).status, 503)
  t.ok(performance.now() - later < 4_000, 'who comes later does not wait')
})

t.test('metadata of another issuer, or with an endpoint without TLS, are refused', async t => {
  const { app, provider, browser } = await open(t)
  const { metadata } = provider
  for (const wrong of [
    { issuer: 'https://evil.example' },
    { authorization_endpoint: 'http://evil.example/authorize' },
    { token_endpoint: 'http://evil.example/token' },
    { jwks_uri: undefined }
  ]) {
    provider.metadata = { ...metadata, ...wrong }
    t.equal((await browser.send('POST', start, {})).status, 503, JSON.stringify(wrong))
    await app.clock.advance(5_000)
  }
  provider.metadata = metadata
  t.equal((await browser.send('POST', start, {})).status, 200)
})
