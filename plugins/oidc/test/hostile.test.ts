// Attacks on a sign-in at a provider. Each leaves nobody signed in.
import { createSecretKey } from 'node:crypto'
import { generateKeyPair, SignJWT } from 'jose'
import t, { type Test } from 'tap'
import { addUser, origin } from '../../auth/test/fixture.ts'
import { type Browser, oidcServer, openBrowser } from './fixture.ts'
import type { ScriptedProvider } from './scripted-provider.ts'

const error = (code: string): string => `/#error=${code}`
const now = () => Math.floor(Date.now() / 1000)

async function open(t: Test, more: object = {}) {
  const { app, provider } = await oidcServer(t, { make_users: true, ...more })
  provider.claims = { preferred_username: 'ann' }
  const browser = openBrowser(app)
  const isSignedIn = async (other: Browser = browser) =>
    (await other.send('GET', '/v1/users/me')).status === 200
  return { app, provider, browser, isSignedIn }
}

const tokens: Readonly<Record<string, (provider: ScriptedProvider, claims: object) => Promise<string>>> = {
  'another nonce': (provider, claims) => provider.sign({ ...claims, nonce: 'n'.repeat(43) }),
  'no nonce': (provider, { nonce: _, ...claims }: { nonce?: string }) => provider.sign(claims),
  'another issuer': (provider, claims) => provider.sign({ ...claims, iss: 'https://evil.example' }),
  'another audience': (provider, claims) => provider.sign({ ...claims, aud: 'other' }),
  'audiences of others without azp': (provider, claims) =>
    provider.sign({ ...claims, aud: ['sluice', 'other'], azp: 'other' }),
  'no subject': (provider, claims) => provider.sign({ ...claims, sub: '' }),
  'a subject of 256 characters': (provider, claims) => provider.sign({ ...claims, sub: 's'.repeat(256) }),
  'a clock that is 10 minutes late': (provider, claims) =>
    provider.sign({ ...claims, iat: now() - 600, exp: now() - 300 }),
  'a clock that is 10 minutes early': (provider, claims) =>
    provider.sign({ ...claims, iat: now() + 600, exp: now() + 900 }),
  'an old token that is still valid': (provider, claims) =>
    provider.sign({ ...claims, iat: now() - 600, exp: now() + 900 }),
  'no expiry': (provider, { exp: _, ...claims }: { exp?: number }) => provider.sign(claims),
  'the algorithm none': async (_provider, claims) => `${base64url({ alg: 'none' })}.${base64url(claims)}.`,
  'HS256 with the public key': (provider, claims) =>
    new SignJWT({ ...claims })
      .setProtectedHeader({ alg: 'HS256', kid: '1' })
      .sign(createSecretKey(Buffer.from(JSON.stringify(provider.publicKey())))),
  'the signature of another key': async (_provider, claims) => {
    const { privateKey } = await generateKeyPair('RS256')
    return new SignJWT({ ...claims }).setProtectedHeader({ alg: 'RS256', kid: '1' }).sign(privateKey)
  },
  'RS512, which is not accepted': async (_provider, claims) => {
    const { privateKey } = await generateKeyPair('RS512')
    return new SignJWT({ ...claims }).setProtectedHeader({ alg: 'RS512', kid: '1' }).sign(privateKey)
  },
  'an unknown key': (provider, claims) => provider.sign({ ...claims }, { kid: 'unknown' }),
  'a changed claim': async (provider, claims) => {
    const [header, , signature] = (await provider.sign({ ...claims })).split('.')
    return `${header}.${base64url({ ...claims, sub: 'root' })}.${signature}`
  },
  'no token': async () => 'no token'
}

const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

t.test('an ID token that is not the one for this sign-in', async t => {
  const { provider, browser, isSignedIn } = await open(t)
  for (const [what, make] of Object.entries(tokens)) {
    provider.token = claims => make(provider, claims)
    t.equal(await browser.signIn(provider), error('oidc_token_invalid'), what)
    t.equal(await isSignedIn(), false, what)
  }
  provider.token = null
  t.equal(await browser.signIn(provider), `${origin}/`, 'a good one signs in')
})

t.test('an answer with another state, issuer or browser, or for the second time', async t => {
  const { app, provider, browser, isSignedIn } = await open(t)
  const answer = async (more?: Readonly<Record<string, string>>) =>
    provider.authorize(await browser.begin(), more)
  const refused = error('oidc_state_invalid')
  t.equal(await browser.finish(await answer({ state: 's'.repeat(43) })), refused, 'another state')
  t.equal(await browser.finish(await answer({ iss: 'https://evil.example' })), refused, 'another issuer')
  const withoutIssuer = await answer()
  withoutIssuer.delete('iss')
  t.equal(await browser.finish(withoutIssuer), refused, 'no issuer, although the metadata promise it')
  const withoutState = await answer()
  withoutState.delete('state')
  t.equal(await browser.finish(withoutState), refused, 'no state')
  const repeated = await answer()
  repeated.append('state', repeated.get('state') ?? '')
  t.equal(await browser.finish(repeated), refused, 'a repeated state')
  t.equal(await openBrowser(app).finish(await answer()), refused, 'another browser')
  const late = await answer()
  await app.clock.advance(600_000)
  t.equal(await browser.finish(late), refused, '10 minutes later')
  t.equal(await isSignedIn(), false)

  const good = await answer()
  const cookie = browser.cookies.get('svc_oidc') ?? ''
  t.equal(await browser.finish(good), `${origin}/`)
  t.equal(await isSignedIn(), true)
  browser.cookies.clear()
  browser.cookies.set('svc_oidc', cookie)
  t.equal(await browser.finish(good), refused, 'a replay')
  t.equal(await isSignedIn(), false)
})

t.test('a state of another provider, and a changed one', async t => {
  const { provider, browser } = await open(t)
  const answer = provider.authorize(await browser.begin())
  const cookie = browser.cookies.get('svc_oidc') ?? ''
  browser.cookies.set('svc_oidc', `${cookie.slice(0, -4)}AAAA`)
  t.equal(await browser.finish(answer), error('oidc_state_invalid'))
  t.match(await browser.send('GET', `/v1/auth/oidc/other/callback?${answer}`), {
    status: 404,
    body: { error: { code: 'not_found' } }
  })
})

t.test('a refusal leaves the session that the browser has, and is in the audit log', async t => {
  const { app, provider, browser, isSignedIn } = await open(t)
  await browser.signIn(provider)
  const session = browser.cookies.get('svc_session')
  const denial = provider.authorize(await browser.begin(), { error: 'access_denied' })
  t.equal(await browser.finish(denial), error('oidc_denied'))
  t.equal(browser.cookies.get('svc_session'), session)
  t.equal(await isSignedIn(), true)
  t.match(
    app.decisions.findLast(({ action }) => action === 'oidc.finish'),
    { status: 401, reason: 'oidc_denied', outcome: 'deny' }
  )
  const { text } = await app.call('GET', '/v1/metrics')
  t.match(text, /svc_sign_ins_total\{method="oidc",outcome="oidc_denied"\} 1/)
  t.match(text, /svc_sign_ins_total\{method="oidc",outcome="ok"\} 1/)
  t.match(text, /svc_oidc_request_seconds_count\{provider="corp"\} [1-9]/)
  t.match(app.log.findLast(({ event }) => event === 'oidc.failed')?.fields, {
    provider: 'corp',
    code: 'oidc_denied'
  })
})

t.test('a path of another origin is no return_to', async t => {
  const { browser } = await open(t)
  const paths = [
    'https://evil.example/',
    '//evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    'javascript:alert(1)',
    'rules',
    ''
  ]
  for (const return_to of paths)
    t.match(
      await browser.send('POST', '/v1/auth/oidc/corp/start', { return_to }),
      {
        status: 400,
        body: { error: { code: 'validation.return_to' } }
      },
      JSON.stringify(return_to)
    )
})

t.test('dots in return_to do not lead elsewhere', async t => {
  const { provider, browser } = await open(t)
  const address = await browser.begin({ return_to: '/..//evil.example' })
  t.equal(await browser.finish(provider.authorize(address)), `${origin}//evil.example`)
})

t.test('a page of another origin begins no sign-in', async t => {
  const { browser, provider } = await open(t)
  const start = (headers: Readonly<Record<string, string>>) =>
    browser.send('POST', '/v1/auth/oidc/corp/start', {}, headers)
  for (const [headers, code] of [
    [{ origin: 'https://evil.example' }, 'csrf_origin_mismatch'],
    [{ origin: 'https://sluice.test:8443' }, 'csrf_origin_mismatch'],
    [{ 'x-svc-csrf': '0' }, 'csrf_header_required']
  ] as const)
    t.match(await start(headers), { status: 403, body: { error: { code } } })
  t.same(provider.requests, [])
})

/** Plants the cookies of an attacker, as a page on another port of the host can. */
function plant(attacker: Browser, victim: Browser, names: readonly string[]): void {
  for (const name of names) victim.cookies.set(name, attacker.cookies.get(name) ?? '')
}

t.test(
  'the sign-in of an attacker that another port plants in the browser opens no session at all',
  async t => {
    const { app, provider, browser, isSignedIn } = await open(t)
    const attacker = openBrowser(app, 'a'.repeat(32))
    const answer = provider.authorize(await attacker.begin()) // with the account of the victim
    plant(attacker, browser, ['svc_oidc'])
    t.equal(await browser.finish(answer), error('oidc_state_invalid'))
    t.notOk(browser.cookies.has('svc_session'), 'the other port would read this cookie')
    t.equal(await isSignedIn(), false)
  }
)

t.test(
  'a link that another port plants does not add the account of the victim to that of the attacker',
  async t => {
    const { app, provider, browser } = await open(t)
    const attacker = openBrowser(app, 'a'.repeat(32))
    provider.claims = { preferred_username: 'mallory', sub: 'subject-of-mallory' }
    await attacker.signIn(provider)
    const { body } = await attacker.send('POST', '/v1/users/me/identities/corp/start', {})
    provider.claims = { preferred_username: 'ann' }
    const answer = provider.authorize(body.redirect)
    plant(attacker, browser, ['svc_oidc', 'svc_session'])
    t.equal(await browser.finish(answer), error('oidc_state_invalid'))
    const { body: identities } = await app.call<readonly object[]>('GET', '/v1/users/mallory/identities')
    t.match(identities, [{ sub: 'subject-of-mallory' }])
    t.equal(identities.length, 1)
  }
)

t.test('a sign-in without a session key does not begin, nor one by a link', async t => {
  const { app, provider } = await open(t)
  const scripted = openBrowser(app, null)
  t.match(await scripted.send('POST', '/v1/auth/oidc/corp/start', {}), {
    status: 400,
    body: { error: { code: 'validation.schema', message: /X-Svc-Session-Key/ } }
  })
  await scripted.send('GET', '/v1/auth/oidc/corp/start', undefined, { 'sec-fetch-site': 'none' })
  t.notOk(scripted.cookies.has('svc_oidc'))
  t.same(provider.requests, [])
})

t.test('neither the name nor the address of a user leads to this user', async t => {
  const { app, provider, browser, isSignedIn } = await open(t)
  await addUser(app, 'bob')
  for (const name of ['root', 'bob', 'Bob', 'BOB']) {
    provider.claims = { preferred_username: name, email: 'root@example.com', email_verified: true }
    t.equal(await browser.signIn(provider), error('oidc_user_conflict'), name)
  }
  for (const name of [
    'me',
    '_operator',
    '_superadmin',
    '_system',
    '_oidc',
    '_upgrade',
    '',
    '---',
    '42',
    '!me'
  ]) {
    provider.claims = { preferred_username: name }
    t.equal(await browser.signIn(provider), error('oidc_user_conflict'), name)
  }
  for (const claim of [undefined, 42, ['root'], { name: 'root' }]) {
    provider.claims = { preferred_username: claim }
    t.equal(await browser.signIn(provider), error('oidc_user_conflict'), JSON.stringify(claim))
  }
  t.equal(await isSignedIn(), false)
})

t.test('an unknown identity is refused unless the provider makes users', async t => {
  const { provider, browser, isSignedIn } = await open(t, { make_users: false })
  t.equal(await browser.signIn(provider), error('oidc_user_unknown'))
  t.equal(await isSignedIn(), false)
})

t.test('who is in no allowed group is refused, and so is a token without the claim', async t => {
  const claim = 'https://corp.example/groups:all'
  const { provider, browser } = await open(t, { allowed_groups: ['ops', 'net'], groups_claim: claim })
  const name = { preferred_username: 'ann' }
  for (const [claims, code] of [
    [{}, 'oidc_groups_missing'],
    [{ groups: ['ops'] }, 'oidc_groups_missing'],
    [{ [claim]: { ops: true } }, 'oidc_groups_missing'],
    [{ [claim]: [] }, 'oidc_not_allowed'],
    [{ [claim]: ['OPS', 'ops2'] }, 'oidc_not_allowed']
  ] as const) {
    provider.claims = { ...name, ...claims }
    t.equal(await browser.signIn(provider), error(code), JSON.stringify(claims))
  }
  provider.claims = { ...name, [claim]: ['staff', 'net'] }
  t.equal(await browser.signIn(provider), `${origin}/`)
})

t.test('a disabled user does not sign in', async t => {
  const { app, provider, browser } = await open(t)
  await browser.signIn(provider)
  await app.call('PATCH', '/v1/users/ann', { disabled: true })
  t.equal(await browser.signIn(provider), error('user_disabled'))
})

t.test('the subject of a deleted user is unknown', async t => {
  const { app, provider, browser } = await open(t)
  await browser.signIn(provider)
  t.equal((await app.call('DELETE', '/v1/users/ann')).status, 200)
  provider.claims = { preferred_username: 'bob' }
  t.equal(await browser.signIn(provider), `${origin}/`)
  t.equal((await browser.send('GET', '/v1/users/me')).body.user_id, 'bob')
})

t.test('nothing of a token is in the log', async t => {
  const { app, provider, browser } = await open(t)
  provider.token = claims => provider.sign({ ...claims, aud: 'audience-of-somebody', sub: 'secret-subject' })
  await browser.signIn(provider)
  const lines = JSON.stringify(app.log)
  for (const hidden of ['audience-of-somebody', 'secret-subject', 'code-of-the-provider', 'access-token-of'])
    t.notOk(lines.includes(hidden), hidden)
})
