// A sign-in at a provider, as a browser does it.
import t from 'tap'
import { authServer, origin } from '../../auth/test/fixture.ts'
import { codeAt, stepAt } from '../../second-factor/totp.ts'
import { oidcServer, openBrowser, plugins, settings } from './fixture.ts'
import { scriptedProvider } from './scripted-provider.ts'

t.test('a provider creates a user, and the session is bound to the key of the page', async t => {
  const { app, provider } = await oidcServer(t, { make_users: true, title: 'Corporate login' })
  const browser = openBrowser(app)
  t.match((await browser.send('GET', '/v1/auth/providers')).body, {
    password: true,
    passkey: false,
    providers: [{ name: 'corp', title: 'Corporate login' }]
  })
  provider.claims = { preferred_username: 'Ann.Miller@Example.com', name: 'Ann Miller' }

  const address = new URL(await browser.begin({ return_to: '/rules?state=active#top' }))

  t.equal(address.origin + address.pathname, `${provider.issuer}/authorize`)
  t.match(Object.fromEntries(address.searchParams), {
    response_type: 'code',
    client_id: 'sluice',
    redirect_uri: `${origin}/v1/auth/oidc/corp/callback`,
    scope: 'openid profile email',
    code_challenge: /^[\w-]{43}$/,
    code_challenge_method: 'S256',
    state: /^[\w-]{43}$/,
    nonce: /^[\w-]{43}$/
  })
  t.equal(await browser.finish(provider.authorize(address.href)), `${origin}/rules?state=active#top`)
  t.match((await browser.send('GET', '/v1/users/me')).body, {
    user_id: 'ann-miller-example-com',
    display_name: 'Ann Miller',
    role: 'user'
  })
  t.match((await browser.send('GET', '/v1/users/me/sessions')).body, [
    { method: 'oidc', provider: 'corp', factors: ['oidc'], current: true }
  ])
  const thief = openBrowser(app, 'x'.repeat(32))
  const naked = openBrowser(app, null)
  for (const other of [thief, naked]) {
    for (const [name, value] of browser.cookies) other.cookies.set(name, value)
    t.equal((await other.send('GET', '/v1/users/me')).status, 401, 'the cookie without the key')
  }
  const ofSignIn = app.decisions.filter(({ actor, action }) => actor === '_oidc' || action === 'oidc.finish')
  t.match(ofSignIn, [
    { action: 'user.create', actor: '_oidc', resourceId: 'ann-miller-example-com' },
    { action: 'identity.create', actor: '_oidc' },
    {
      action: 'oidc.finish',
      resourceId: 'ann-miller-example-com',
      status: 200,
      changes: [
        { field: 'method', to: 'oidc:corp' },
        { field: 'factors', to: ['oidc'] }
      ]
    }
  ])
})

t.test('the same subject is the same user, with another name at the provider too', async t => {
  const { app, provider } = await oidcServer(t, { make_users: true })
  provider.claims = { preferred_username: 'ann' }
  await openBrowser(app).signIn(provider)
  provider.claims = { preferred_username: 'bob', name: 'Bob' }
  const browser = openBrowser(app)
  t.equal(await browser.signIn(provider), `${origin}/`)
  t.equal((await browser.send('GET', '/v1/users/me')).body.user_id, 'ann')
})

t.test('a link leads to the sign-in page, which has the button of the provider', async t => {
  const { app, provider } = await oidcServer(t)
  const start = (query: string) => openBrowser(app).send('GET', `/v1/auth/oidc/corp/start${query}`)
  t.match(await start(''), { status: 302, headers: { location: '/#provider=corp' } })
  t.match(await start('?return_to=/rules?state=active'), {
    status: 302,
    headers: { location: '/rules?state=active#provider=corp' }
  })
  t.match(await start('?return_to=//evil.example'), {
    status: 400,
    body: { error: { code: 'validation.return_to' } }
  })
  t.same(provider.requests, [], 'the provider is not asked')
})

t.test('sessions end after session_max_secs, and are strong if the provider says so', async t => {
  const { app, provider } = await oidcServer(t, { make_users: true, session_max_secs: 120 })
  provider.claims = { preferred_username: 'ann', amr: ['pwd', 'mfa'] }
  const browser = openBrowser(app)
  await browser.signIn(provider)
  t.match((await browser.send('GET', '/v1/users/me/sessions')).body, [{ factors: ['oidc', 'mfa'] }])
  await app.clock.advance(119_000)
  t.equal((await browser.send('GET', '/v1/users/me')).status, 200)
  await app.clock.advance(1_000)
  t.equal((await browser.send('GET', '/v1/users/me')).status, 401)
})

t.test('a session of a provider meets the policy of second factors only if it is strong', async t => {
  const policy = { keys: { second_factor: 'all' } }
  for (const [trusted, status] of [
    [true, 200],
    [false, 403]
  ] as const) {
    const { app, provider } = await oidcServer(t, { make_users: true, trust_mfa: trusted }, policy)
    provider.claims = { preferred_username: 'ann' }
    const browser = openBrowser(app)
    await browser.signIn(provider)
    t.equal((await browser.send('GET', '/v1/users/me/sessions')).status, status)
  }
})

t.test(
  'where a policy demands a second factor, a provider that asks for one factor does not replace it',
  async t => {
    const { app, provider } = await oidcServer(t, { make_users: true }, { keys: { second_factor: 'all' } })
    provider.claims = { preferred_username: 'ann' }
    const first = openBrowser(app)
    await first.signIn(provider)
    const { body: made } = await first.send('POST', '/v1/users/me/totp')
    const code = () => ({ code: codeAt(made.secret, stepAt(app.clock.now())) })
    t.equal((await first.send('POST', '/v1/users/me/totp/confirm', code())).status, 200)
    t.equal((await first.send('GET', '/v1/users/me/sessions')).status, 200)

    await app.clock.advance(30_000)
    const browser = openBrowser(app)
    t.equal(await browser.signIn(provider), `${origin}/`)
    const needed = { status: 403, body: { error: { code: 'second_factor_enrollment_required' } } }
    t.match(await browser.send('GET', '/v1/users/me/sessions'), needed)
    t.match(await browser.send('POST', '/v1/users/me/totp'), needed, 'the app stays')
    t.equal((await browser.send('POST', '/v1/auth/reauthenticate', code())).status, 204)
    t.match(await browser.send('GET', '/v1/users/me/sessions'), {
      status: 200,
      body: [{}, { current: true, factors: ['oidc', 'totp'] }]
    })
  }
)

t.test('a sign-in at the provider makes a session fresh again, of the same user only', async t => {
  const { app, provider } = await oidcServer(t, { make_users: true })
  provider.claims = { preferred_username: 'ann' }
  const browser = openBrowser(app)
  await browser.signIn(provider)
  await app.clock.advance(16 * 60_000)
  const issue = async () => (await browser.send('POST', '/v1/users/ann/credentials', { label: 'x' })).status
  t.equal(await issue(), 403)

  const address = await browser.begin({ reauthenticate: true, return_to: '/account' })
  t.match(Object.fromEntries(new URL(address).searchParams), { prompt: 'login', max_age: '0' })
  provider.claims = { preferred_username: 'ann', sub: 'subject-2' }
  t.equal(await browser.finish(provider.authorize(address)), '/#error=oidc_token_invalid')
  t.equal(await issue(), 403, 'somebody else')

  const stale = await browser.begin({ reauthenticate: true })
  provider.claims = { preferred_username: 'ann', auth_time: Math.floor(Date.now() / 1000) - 3600 }
  t.equal(await browser.finish(provider.authorize(stale)), '/#error=oidc_token_invalid')
  t.equal(await issue(), 403, 'the provider has not asked again')

  provider.claims = { preferred_username: 'ann' }
  const again = await browser.begin({ reauthenticate: true, return_to: '/account' })
  const cookie = browser.cookies.get('svc_session')
  t.equal(await browser.finish(provider.authorize(again)), `${origin}/account`)
  t.equal(browser.cookies.get('svc_session'), cookie, 'the session stays')
  t.equal(await issue(), 201)
})

t.test('without a session there is nothing to make fresh, and no key of another browser helps', async t => {
  const { app, provider } = await oidcServer(t, { make_users: true })
  provider.claims = { preferred_username: 'ann' }
  const browser = openBrowser(app)
  const start = '/v1/auth/oidc/corp/start'
  t.equal((await browser.send('POST', start, { reauthenticate: true })).status, 401)
  await browser.signIn(provider)
  const other = { 'x-svc-session-key': 'x'.repeat(32) }
  t.equal((await browser.send('POST', start, { reauthenticate: true }, other)).status, 401)
  const address = await browser.begin({ reauthenticate: true })
  browser.cookies.delete('svc_session')
  t.equal(await browser.finish(provider.authorize(address)), '/#error=oidc_state_invalid')
})

t.test('while the onboarding is open, nobody signs in at a provider', async t => {
  const provider = await scriptedProvider(t)
  const app = await authServer(t, { plugins, sections: { oidc: settings(provider.issuer) } })
  t.match(await openBrowser(app).send('POST', '/v1/auth/oidc/corp/start', {}), {
    status: 503,
    body: { error: { code: 'bootstrap_required' } }
  })
  t.same(provider.requests, [])
})
