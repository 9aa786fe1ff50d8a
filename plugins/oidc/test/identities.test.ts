// Which users of providers are which users.
import t, { type Test } from 'tap'
import { openCallers } from '../../../kit/callers.ts'
import { addUser, authServer, onboard, origin } from '../../auth/test/fixture.ts'
import { oidcServer, openBrowser, plugins, settings } from './fixture.ts'
import { scriptedProvider } from './scripted-provider.ts'

interface Row {
  readonly identity_id: string
  readonly provider: string
  readonly issuer: string
  readonly sub: string
  readonly last_used_at: string | null
}

async function open(t: Test) {
  const { app, provider } = await oidcServer(t)
  await addUser(app, 'ann')
  const browser = openBrowser(app)
  const list = async (user: string) =>
    (await app.call<readonly Row[]>('GET', `/v1/users/${user}/identities`)).body
  const add = (user: string, body: object = { provider: 'corp', sub: 'subject-1' }) =>
    app.call<Row>('POST', `/v1/users/${user}/identities`, body)
  return { app, provider, browser, list, add, as: openCallers(app.call, origin) }
}

const refusal = (status: number, code: string) => ({ status, body: { error: { code } } })

t.test('a superadmin adds an identity, with which the user signs in, and removes it', async t => {
  const { app, provider, browser, list, add } = await open(t)
  t.equal(await browser.signIn(provider), '/#error=oidc_user_unknown')
  const { status, body } = await add('ann')
  t.equal(status, 201)
  t.match(body, { provider: 'corp', issuer: provider.issuer, sub: 'subject-1', last_used_at: null })
  t.equal(await browser.signIn(provider), `${origin}/`)
  t.equal((await browser.send('GET', '/v1/users/me')).body.user_id, 'ann')
  t.match(await list('ann'), [{ sub: 'subject-1', last_used_at: /^20/ }])
  t.equal((await app.call('DELETE', `/v1/users/ann/identities/${body.identity_id}`)).status, 204)
  t.same(await list('ann'), [])
  t.equal((await browser.send('GET', '/v1/users/me')).status, 401, 'its session has ended')
  t.equal(await browser.signIn(provider), '/#error=oidc_user_unknown')
})

t.test('an identity belongs to one user, and a service account has none', async t => {
  const { app, add } = await open(t)
  await add('ann')
  await app.call('POST', '/v1/users', { user_id: 'bot', display_name: 'Bot', kind: 'service' })
  t.match(await add('root'), refusal(409, 'identity_taken'))
  t.match(await add('ann'), refusal(409, 'identity_taken'))
  t.match(await add('bot', { provider: 'corp', sub: 'bot' }), refusal(422, 'service_account'))
  t.match(await add('ann', { provider: 'other', sub: 'x' }), refusal(404, 'not_found'))
  t.match(await add('nobody', { provider: 'corp', sub: 'x' }), refusal(404, 'user_not_found'))
  t.match(await add('ann', { provider: 'corp', sub: 'ä' }), refusal(400, 'validation.schema'))
  for (let i = 2; i <= 16; i++) t.equal((await add('ann', { provider: 'corp', sub: `s${i}` })).status, 201)
  t.match(await add('ann', { provider: 'corp', sub: 's17' }), refusal(422, 'limit_reached'))
  t.equal((await add('root', { provider: 'corp', sub: 's17' })).status, 201, 'the bound is of a user')
})

t.test('a user removes own identities only, and only viewers and higher see those of others', async t => {
  const { add, as } = await open(t)
  const { body } = await add('ann')
  const url = `/v1/users/ann/identities/${body.identity_id}`
  const bob = as({ user: 'bob' })
  t.match(await bob('DELETE', url), refusal(403, 'not_owner'))
  t.match(await bob('GET', '/v1/users/ann/identities'), refusal(403, 'not_owner'))
  const viewer = as({ user: 'eve', role: 'viewer' })
  t.equal((await viewer('GET', '/v1/users/ann/identities')).status, 200)
  t.match(await viewer('DELETE', url), { status: 403 })
  t.match(await viewer('POST', '/v1/users/ann/identities', { provider: 'corp', sub: 'x' }), { status: 403 })
})

t.test('a signed-in user adds an identity to the own account', async t => {
  const { app, provider, browser, list, add } = await open(t)
  const start = '/v1/users/me/identities/corp/start'
  await add('ann')
  await browser.signIn(provider)
  const session = browser.cookies.get('svc_session')
  const link = async (sub: string) => {
    const { body } = await browser.send('POST', start, { return_to: '/account' })
    provider.claims = { sub }
    return browser.finish(provider.authorize(body.redirect))
  }
  t.equal(await link('subject-2'), `${origin}/account`)
  t.same(
    (await list('ann')).map(({ sub }) => sub),
    ['subject-1', 'subject-2']
  )
  t.equal(browser.cookies.get('svc_session'), session)
  t.equal(await link('subject-2'), `${origin}/account`, 'once more changes nothing')
  await add('root', { provider: 'corp', sub: 'subject-3' })
  t.equal(await link('subject-3'), '/#error=identity_taken')
  t.same(
    (await list('root')).map(({ sub }) => sub),
    ['subject-3']
  )

  const { body } = await browser.send('POST', start, {})
  browser.cookies.delete('svc_session')
  provider.claims = { sub: 'subject-4' }
  t.equal(await browser.finish(provider.authorize(body.redirect)), '/#error=oidc_state_invalid')
  browser.cookies.set('svc_session', session ?? '')
  await app.clock.advance(16 * 60_000)
  t.match(await browser.send('POST', start, {}), refusal(403, 'reauthentication_required'))
  t.match(await app.call('POST', start, {}), refusal(403, 'session_required'))
})

t.test(
  'password_sign_in refuses the right password, and off needs a superadmin with an identity',
  async t => {
    const provider = await scriptedProvider(t)
    const dir = t.testdir()
    const sections = { oidc: settings(provider.issuer) }
    const app = await authServer(t, { plugins, sections, dir })
    await onboard(app)
    await addUser(app, 'ann')
    await app.stop()
    const open = (password_sign_in: string) =>
      authServer(t, { plugins, sections, dir, clock: app.clock, keys: { password_sign_in } })
    await t.rejects(open('off'), /password_sign_in is off, and no superadmin has an identity/)

    const some = await open('superadmins')
    const login = (server: typeof app, user_id: string, password: string) =>
      openBrowser(server).send('POST', '/v1/auth/login', { user_id, password })
    const right = 'a long enough password'
    t.match(await login(some, 'ann', 'wrong'), refusal(401, 'invalid_login'))
    t.match(await login(some, 'ann', right), refusal(401, 'password_sign_in_off'))
    t.equal((await login(some, 'root', right)).status, 200)
    await some.call('POST', '/v1/users/root/identities', { provider: 'corp', sub: 'subject-1' })
    await some.stop()

    const off = await open('off')
    t.match(await login(off, 'root', right), refusal(401, 'password_sign_in_off'))
    const browser = openBrowser(off)
    t.match((await browser.send('GET', '/v1/auth/providers')).body, { password: false })
    t.equal(await browser.signIn(provider), `${origin}/`)
  }
)
