// Fresh sessions: changes of credentials need a recent proof of a factor.
import t from 'tap'
import { authenticatorSlot } from '../../../kernel/http/principal.ts'
import { definePlugin } from '../../../kernel/plugin.ts'
import { addUser } from '../../auth/test/fixture.ts'
import {
  answer,
  browserOf,
  challengeOf,
  codeNow,
  enrolledServer,
  login,
  password,
  plugins,
  refusal,
  serverFor,
  wrongCode
} from './fixture.ts'

const stale = refusal(403, 'reauthentication_required')
const quarterHourMs = 15 * 60_000

t.test('a session is fresh for 15 minutes after its sign-in', async t => {
  const app = await serverFor(t)
  await addUser(app, 'boss', 'superadmin')
  await addUser(app, 'ann')
  const other = await login(app, 'boss')
  const browser = browserOf(app, await login(app, 'boss'))
  const sessions = async () =>
    (await browser.call('GET', '/v1/users/me/sessions')).body as unknown as Session[]
  interface Session {
    readonly session_id: string
    readonly current: boolean
    readonly fresh_until: string
  }
  const [first, own] = await sessions()
  t.equal(Date.parse(own?.fresh_until ?? '') - app.clock.now(), quarterHourMs)
  const { body } = await browser.call('POST', '/v1/users/boss/credentials', {})
  const { credential_id: id, token } = body as unknown as { credential_id: string; token: string }

  await app.clock.advance(quarterHourMs - 1)
  t.equal((await browser.call('POST', `/v1/users/boss/credentials/${id}/rotate`)).status, 201)
  await app.clock.advance(1)
  const issued = await browser.call('POST', '/v1/users/boss/credentials', {})
  t.match(issued, stale)
  for (const [method, url, sent] of [
    ['POST', `/v1/users/boss/credentials/${id}/rotate`],
    ['POST', '/v1/users/ann/password', {}],
    ['PUT', '/v1/settings/advertised-endpoint', { advertised_endpoint: null }],
    ['POST', '/v1/users/me/totp'],
    ['POST', '/v1/users/me/totp/recovery-codes'],
    ['DELETE', '/v1/users/me/totp'],
    ['DELETE', '/v1/users/ann/second-factors'],
    ['DELETE', `/v1/users/me/sessions/${first?.session_id}`]
  ] as const)
    t.match(await browser.call(method, url, sent), stale, `${method} ${url}`)
  t.equal((await browser.call('GET', '/v1/users')).status, 200, 'other requests are answered')
  t.equal((await browser.call('PATCH', '/v1/users/ann', { display_name: 'Ann' })).status, 200)
  const bearer = { authorization: `Bearer ${token}` }
  t.equal((await app.call('POST', '/v1/users/ann/credentials', {}, bearer)).status, 401, 'it was rotated')
  t.equal((await app.call('POST', '/v1/users/ann/credentials', {})).status, 201, 'a token is not asked')

  t.equal(
    (await browser.call('POST', '/v1/auth/reauthenticate', { password: 'a long enough password' })).status,
    204
  )
  t.equal((await browser.call('POST', '/v1/users/boss/credentials', {})).status, 201)
  t.match(
    await browserOf(app, other).call('POST', '/v1/users/boss/credentials', {}),
    stale,
    'other sessions are not'
  )
  await app.restart()
  t.equal((await browser.call('DELETE', `/v1/users/me/sessions/${first?.session_id}`)).status, 204)
  await app.clock.advance(quarterHourMs)
  t.equal((await browser.call('DELETE', `/v1/users/me/sessions/${own?.session_id}`)).status, 204, 'its own')
})

t.test('a code or a recovery code makes a session fresh, once', async t => {
  const { app, browser, secret, recovery } = await enrolledServer(t)
  const confirm = (body: object) => browser.call('POST', '/v1/auth/reauthenticate', body)
  const issue = () => browser.call('POST', '/v1/users/ann/credentials', {})
  await app.clock.advance(quarterHourMs)
  t.match(await issue(), stale)
  const code = codeNow(app, secret)
  t.match(await confirm({ code: wrongCode(app, secret) }), refusal(401, 'invalid_second_factor'))
  t.match(await issue(), stale)
  t.equal((await confirm({ code })).status, 204)
  t.equal((await issue()).status, 201)
  t.match(await confirm({ code }), refusal(401, 'invalid_second_factor'), 'a replay')
  t.match(
    await answer(app, { challenge: await challengeOf(app), code }),
    refusal(401, 'invalid_second_factor')
  )

  await app.clock.advance(quarterHourMs)
  t.equal((await confirm({ recovery_code: recovery[0] ?? '' })).status, 204)
  t.equal((await confirm({ recovery_code: recovery[0] ?? '' })).status, 401)
  for (const body of [{}, { code, password: 'x' }, { passkey: {} }])
    t.equal((await confirm(body)).status, 400)
  t.match(
    app.decisions.filter(({ action, status }) => action === 'auth.reauthenticate' && status === 204),
    [
      { actor: 'ann', resourceId: 'ann' },
      { actor: 'ann', resourceId: 'ann' }
    ]
  )
})

t.test('reauthentication is throttled like a login', async t => {
  const { app, browser, secret } = await enrolledServer(t)
  const confirm = (body: object) => browser.call('POST', '/v1/auth/reauthenticate', body)
  for (let i = 0; i < 5; i++) t.match(await confirm({ password: 'wrong' }), refusal(401, 'invalid_login'))
  t.equal((await confirm({ password: 'a long enough password' })).status, 429)
  for (let i = 0; i < 5; i++) t.equal((await confirm({ code: wrongCode(app, secret) })).status, 401)
  t.equal((await confirm({ code: codeNow(app, secret) })).status, 429)
})

t.test('reauthentication needs a web session', async t => {
  const app = await serverFor(t)
  const url = '/v1/auth/reauthenticate'
  t.match(await app.call('POST', url, { password: 'x' }), refusal(403, 'session_required'))
  t.equal((await app.call('POST', url, { password: 'x' }, { authorization: '' })).status, 401)
})

t.test('without the plugin, sessions never need another proof', async t => {
  const app = await serverFor(t, { plugins: ['users', 'auth', 'credentials'] })
  const browser = browserOf(app, await login(app, 'root'))
  await app.clock.advance(quarterHourMs)
  t.equal((await browser.call('POST', '/v1/users/root/credentials', {})).status, 201)
  t.match((await browser.call('GET', '/v1/users/me/sessions')).body, [{ fresh_until: null }])
})

/** Authenticates callers by a header, as a proxy might. */
const desk = definePlugin({
  name: 'a-desk', // starts before `auth`, so its answer counts
  version: '1.0.0',
  kernel: '^2.0.0',
  fills: [
    authenticatorSlot.fill(async ({ headers }) => {
      const userId = headers['x-desk-user']?.toString()
      return userId === undefined ? null : { principal: { userId, role: 'user', method: 'desk' } }
    })
  ]
})

t.test('a proof of one user does not make the session of another one fresh', async t => {
  const app = await serverFor(t, { plugins: [...plugins, desk] })
  await addUser(app, 'ann')
  await addUser(app, 'eve')
  const browser = browserOf(app, await login(app, 'ann'))
  await app.clock.advance(quarterHourMs)
  const asEve = { authorization: '', cookie: browser.cookie, 'x-desk-user': 'eve' }
  t.match(await app.call('GET', '/v1/users/me', undefined, asEve), { body: { user_id: 'eve' } })

  const proved = await app.call('POST', '/v1/auth/reauthenticate', { password }, asEve)

  t.match(proved, refusal(401, 'unauthenticated'))
  t.match(await browser.call('POST', '/v1/users/ann/credentials', {}), stale)
})
