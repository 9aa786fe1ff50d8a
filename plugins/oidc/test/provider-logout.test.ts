// A logout that also ends the session at the provider.
import t, { type Test } from 'tap'
import { onboardedServer, origin, signedInBrowser } from '../../auth/test/fixture.ts'
import { oidcServer, openBrowser, plugins, settings } from './fixture.ts'

const discovery = '/.well-known/openid-configuration'

async function open(t: Test, more: object = { logout: 'provider' }) {
  const { app, provider } = await oidcServer(t, { make_users: true, ...more })
  const end_session_endpoint = `${provider.issuer}/logout?ui=1`
  provider.metadata = { ...provider.metadata, end_session_endpoint }
  provider.claims = { preferred_username: 'ann' }
  const browser = openBrowser(app)
  await browser.signIn(provider)
  const logOut = () => browser.send('POST', '/v1/auth/logout')
  const isSignedIn = async () => (await browser.send('GET', '/v1/users/me')).status === 200
  return { app, provider, browser, logOut, isSignedIn }
}

t.test('with logout = "provider" the browser goes on to the provider, and comes back', async t => {
  const { app, provider, browser, logOut, isSignedIn } = await open(t)

  const { status, body, headers } = await logOut()

  t.equal(status, 200)
  const { searchParams, origin: at, pathname } = new URL(body.redirect)
  t.equal(at + pathname, `${provider.issuer}/logout`)
  t.same(Object.fromEntries(searchParams), {
    ui: '1',
    client_id: 'sluice',
    post_logout_redirect_uri: `${origin}/`
  })
  t.match(String(headers['set-cookie']), /^svc_session=;.*Max-Age=0/)
  t.notOk(browser.cookies.has('svc_session'))
  t.notOk(await isSignedIn())
  t.match(
    app.decisions.filter(({ action }) => action === 'auth.logout'),
    [{ actor: 'ann', resourceId: 'ann', status: 200 }]
  )
})

t.test('by default a logout leaves the session at the provider', async t => {
  const { provider, logOut, isSignedIn } = await open(t, {})
  const asked = provider.requests.length
  t.match(await logOut(), { status: 204, text: '' })
  t.notOk(await isSignedIn())
  t.equal(provider.requests.length, asked, 'the provider is not asked')
})

t.test('a session of a password leads to no provider', async t => {
  const app = await onboardedServer(t, {
    plugins,
    sections: { oidc: settings('http://127.0.0.1:1', { logout: 'provider' }) }
  })
  const page = await signedInBrowser(app)
  t.equal((await page.call('POST', '/v1/auth/logout')).status, 204)
})

t.test('a provider that is down, or has no safe address for it, does not keep the session', async t => {
  for (const end_session_endpoint of [undefined, 'http://evil.example/logout', 'javascript:alert(1)']) {
    const { app, provider, logOut, isSignedIn } = await open(t)
    provider.metadata = { ...provider.metadata, end_session_endpoint }
    await app.clock.advance(3_600_000) // the metadata are read again
    t.match(await logOut(), { status: 204, text: '' }, `${end_session_endpoint}`)
    t.notOk(await isSignedIn())
  }
  const { app, provider, logOut, isSignedIn } = await open(t)
  provider.answers.set(discovery, (_request, response) => void response.writeHead(500).end())
  await app.clock.advance(3_600_000)
  t.match(await logOut(), { status: 204, text: '' })
  t.notOk(await isSignedIn())
})
