// A provider ends sessions.
import t, { type Test } from 'tap'
import { unauthenticated } from '../../auth/test/fixture.ts'
import { oidcServer, openBrowser } from './fixture.ts'

const event = 'http://schemas.openid.net/event/backchannel-logout'
const now = () => Math.floor(Date.now() / 1000)

async function open(t: Test) {
  const { app, provider } = await oidcServer(t, { make_users: true })
  const signedIn = async (claims: object) => {
    const browser = openBrowser(app)
    provider.claims = { preferred_username: 'ann', ...claims }
    await browser.signIn(provider)
    return async () => (await browser.send('GET', '/v1/users/me')).status
  }
  let made = 0
  const tokenOf = (claims: object, header: Readonly<Record<string, unknown>> = {}) =>
    provider.sign(
      {
        iss: provider.issuer,
        aud: 'sluice',
        iat: now(),
        exp: now() + 120,
        jti: `jti-${++made}`,
        events: { [event]: {} },
        ...claims
      },
      { typ: 'logout+jwt', ...header }
    )
  const send = (logout_token: string, name = 'corp') =>
    app.call<{ error: { code: string } }>(
      'POST',
      `/v1/auth/oidc/${name}/back-channel-logout`,
      new URLSearchParams({ logout_token }).toString(),
      { ...unauthenticated, 'content-type': 'application/x-www-form-urlencoded' }
    )
  return { app, provider, signedIn, tokenOf, send }
}

const invalid = { status: 400, body: { error: { code: 'validation.logout_token' } } }

t.test('a logout token ends the session with its sid, and no other', async t => {
  const { signedIn, tokenOf, send } = await open(t)
  const first = await signedIn({ sid: 'one' })
  const second = await signedIn({ sid: 'two' })
  t.equal((await send(await tokenOf({ sid: 'one', sub: 'subject-1' }))).status, 200)
  t.same([await first(), await second()], [401, 200])
  t.equal((await send(await tokenOf({ sid: 'unknown' }))).status, 200, 'nothing to end')
  t.equal(await second(), 200)
})

t.test('a logout token with a sid also ends sessions of the subject without a known sid', async t => {
  const { signedIn, send, tokenOf } = await open(t)
  const unknown = await signedIn({})
  const other = await signedIn({ sid: 'two' })
  t.equal((await send(await tokenOf({ sid: 'one', sub: 'subject-1' }))).status, 200)
  t.same([await unknown(), await other()], [401, 200])
})

t.test('without a sid it ends all sessions of the subject at this provider', async t => {
  const { app, signedIn, tokenOf, send } = await open(t)
  const first = await signedIn({ sid: 'one' })
  const second = await signedIn({})
  const other = await signedIn({ sub: 'subject-2', preferred_username: 'bob' })
  t.equal((await send(await tokenOf({ sub: 'subject-1' }))).status, 200)
  t.match(
    app.decisions.findLast(({ action }) => action === 'oidc.logout'),
    { resourceId: 'corp', status: 200 }
  )
  t.same([await first(), await second(), await other()], [401, 401, 200])
})

t.test('another token, and one that was used, end nothing', async t => {
  const { provider, signedIn, tokenOf, send } = await open(t)
  const session = await signedIn({ sid: 'one' })
  const used = await tokenOf({ sid: 'unknown' })
  t.equal((await send(used)).status, 200)
  const wrong: Readonly<Record<string, string>> = {
    'a used one': used,
    'an ID token': await provider.sign({
      iss: provider.issuer,
      aud: 'sluice',
      sub: 'subject-1',
      sid: 'one',
      iat: now(),
      exp: now() + 300,
      nonce: 'n'
    }),
    'a nonce': await tokenOf({ sid: 'one', nonce: 'n' }),
    'no event': await tokenOf({ sid: 'one', events: {} }),
    'another event': await tokenOf({ sid: 'one', events: { other: {} } }),
    'another audience': await tokenOf({ sid: 'one', aud: 'other' }),
    'another issuer': await tokenOf({ sid: 'one', iss: 'https://evil.example' }),
    'no jti': await tokenOf({ sid: 'one', jti: undefined }),
    'neither sid nor sub': await tokenOf({}),
    'too old': await tokenOf({ sid: 'one', iat: now() - 600, exp: now() - 300 }),
    'from the future': await tokenOf({ sid: 'one', iat: now() + 600, exp: now() + 900 }),
    'no token': 'no token',
    'no signature': `${(await tokenOf({ sid: 'one' })).split('.').slice(0, 2).join('.')}.`,
    'an unknown key': await tokenOf({ sid: 'one' }, { kid: 'unknown' })
  }
  for (const [what, token] of Object.entries(wrong)) t.match(await send(token), invalid, what)
  t.match(await send(await tokenOf({ sid: 'one' }), 'other'), { status: 404 })
  t.equal(await session(), 200)
})
