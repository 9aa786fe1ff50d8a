// Replay: each event that ends a cookie or token makes it useless.
import { createHash } from 'node:crypto'
import t, { type Test } from 'tap'
import type { Reply, TestServer } from '../../kit/test-server.ts'
import {
  addUser,
  cookieOf,
  type ErrorBody,
  login,
  onboardedServer,
  root,
  signedInBrowser
} from '../../plugins/auth/test/fixture.ts'

const open = (t: Test): Promise<TestServer> =>
  onboardedServer(t, { plugins: ['users', 'auth', 'credentials', 'clients', 'rules', 'grants'] })

interface Issued {
  readonly credential_id: string
  readonly token: string
}
const issue = async (api: TestServer, userId: string): Promise<Issued> =>
  (await api.call<Issued>('POST', `/v1/users/${userId}/credentials`)).body

const getMe = (api: TestServer, headers: Record<string, string>): Promise<Reply<ErrorBody>> =>
  api.call<ErrorBody>('GET', '/v1/users/me', undefined, { authorization: '', ...headers })
const getMeByToken = (api: TestServer, token: string) => getMe(api, { authorization: `Bearer ${token}` })

const refused = { status: 401, body: { error: { code: 'unauthenticated' } } }

t.test('a cookie from before a login is invalid after it', async t => {
  const api = await open(t)
  const planted = { cookie: 'svc_session=chosen-by-the-attacker-chosen-by-the-attack' }

  const reply = await api.call('POST', '/v1/auth/login', root, { authorization: '', ...planted })

  t.equal(reply.status, 200)
  t.notMatch(cookieOf(reply), 'chosen')
  t.match(await getMe(api, planted), refused)
})

t.test('each login sets a new cookie of 256 bits', async t => {
  const api = await open(t)
  const cookies = []
  for (let i = 0; i < 3; i++) cookies.push(/svc_session=([\w-]{43});/.exec(cookieOf(await login(api)))?.[1])

  t.equal(new Set(cookies).size, 3)
  t.notOk(cookies.includes(undefined))
})

/** Events that end ada's session. */
const sessionEndings: Readonly<
  Record<string, (api: TestServer, page: Awaited<ReturnType<typeof signedInBrowser>>) => Promise<unknown>>
> = {
  'its logout': (_, page) => page.call('POST', '/v1/auth/logout'),
  'a password reset': api => api.call('POST', '/v1/users/ada/password'),
  'a password change elsewhere': async api => {
    const other = await signedInBrowser(api, { user_id: 'ada' })
    const body = {
      current_password: root.password,
      new_password: 'another good one',
      new_password_confirm: 'another good one'
    }
    await other.call('POST', '/v1/users/me/password', body)
  },
  'the user was disabled and enabled again': async api => {
    await api.call('PATCH', '/v1/users/ada', { disabled: true })
    await api.call('PATCH', '/v1/users/ada', { disabled: false })
  },
  'the user was deleted and created again': async api => {
    await api.call('DELETE', '/v1/users/ada')
    await api.call('POST', '/v1/users', {
      user_id: 'ada',
      display_name: 'Other',
      initial_password: root.password
    })
  }
}

for (const [what, end] of Object.entries(sessionEndings))
  t.test(`a cookie is invalid after ${what}`, async t => {
    const api = await open(t)
    await addUser(api, 'ada')
    const page = await signedInBrowser(api, { user_id: 'ada' })
    t.equal((await getMe(api, { cookie: page.cookie })).status, 200)

    await end(api, page)

    t.match(await getMe(api, { cookie: page.cookie }), refused)
  })

/** Events that invalidate ada's token. */
const revocations: Readonly<Record<string, (api: TestServer, path: string) => Promise<unknown>>> = {
  'a revocation': (api, path) => api.call('DELETE', path),
  'a rotation': (api, path) => api.call('POST', `${path}/rotate`),
  'a password reset': api => api.call('POST', '/v1/users/ada/password'),
  'the user was deleted and created again': async api => {
    await api.call('DELETE', '/v1/users/ada')
    await api.call('POST', '/v1/users', { user_id: 'ada', display_name: 'Other' })
  }
}

for (const [what, revoke] of Object.entries(revocations))
  t.test(`a token is invalid after ${what}`, async t => {
    const api = await open(t)
    await addUser(api, 'ada')
    const { credential_id: id, token } = await issue(api, 'ada')
    t.equal((await getMeByToken(api, token)).status, 200)

    await revoke(api, `/v1/users/ada/credentials/${id}`)

    t.match(await getMeByToken(api, token), refused)
    t.match(
      await api.call('POST', `/v1/users/ada/credentials/${id}/rotate`, undefined, {
        authorization: `Bearer ${token}`
      }),
      refused
    )
  })

t.test('only a complete bearer token is accepted', async t => {
  const api = await open(t)
  const { token } = await issue(api, 'root')
  const malformed = [
    token.slice(0, -1),
    `${token}x`,
    token.toUpperCase(),
    token.slice('svct_'.length),
    `${token} ${token}`,
    `${token},`,
    `"${token}"`,
    ''
  ]

  for (const text of malformed) t.match(await getMeByToken(api, text), refused, JSON.stringify(text))
  for (const scheme of ['Basic', 'Token', 'bearer\t', ''])
    t.match(await getMe(api, { authorization: `${scheme} ${token}`.trim() }), refused, scheme)
  t.equal(
    (await getMe(api, { authorization: `bearer ${token}` })).status,
    200,
    'the case of the scheme does not matter'
  )
})

t.test('a token or a cookie in another place is not accepted', async t => {
  const api = await open(t)
  const { token } = await issue(api, 'root')
  const { cookie } = await signedInBrowser(api)
  const value = cookie.slice('svc_session='.length)

  t.match(await getMe(api, { cookie: `svc_session=${token}` }), refused, 'a token as a cookie')
  t.match(await getMe(api, { authorization: `Bearer ${value}` }), refused, 'a cookie as a token')
  t.match(
    await api.call('GET', `/v1/users/me?access_token=${token}`, undefined, { authorization: '' }),
    refused
  )
  t.match(await getMe(api, { 'x-api-key': token, 'proxy-authorization': `Bearer ${token}` }), refused)
  t.match(await getMe(api, { cookie: cookie.replace('svc_session', 'SVC_SESSION') }), refused)
})

t.test('a hash from the store is not accepted as a token', async t => {
  const api = await open(t)
  const { token } = await issue(api, 'root')

  t.match(await getMeByToken(api, createHash('sha256').update(token).digest('hex')), refused)
})
