import t from 'tap'
import {
  addUser,
  authServer,
  depsOf,
  login,
  onboard,
  onboardedServer,
  refusalOf,
  signedInBrowser,
  storeBytes
} from './fixture.ts'

const me = '/v1/users/me'

t.test('the bootstrap superadmin has a bearer token, no web login, and ends onboarding', async t => {
  const app = await authServer(t)
  const { recovery } = depsOf(app)

  const { user_id: userId, token } = await recovery.bootstrap()

  t.equal(userId, '_superadmin')
  t.match(token, /^svct_[\w-]{43}$/)
  t.notOk(storeBytes(app.dir).includes(token))
  t.match(await app.call('GET', me, undefined, { authorization: `Bearer ${token}` }), {
    status: 200,
    body: { user_id: '_superadmin', role: 'superadmin' }
  })
  t.match(await onboard(app), { status: 409 })
  t.match(await login(app, { user_id: userId }), { status: 401 })
  t.match(await refusalOf(recovery.bootstrap()), { errorCode: { code: 'already_bootstrapped' } })
})

t.test('a reset gives the bootstrap superadmin a web login', async t => {
  const app = await authServer(t)
  const { recovery } = depsOf(app)
  await recovery.bootstrap()

  const { temporary_password: password } = await recovery.reset('_superadmin', 'keep')

  t.match(await login(app, { user_id: '_superadmin', password }), {
    status: 200,
    body: { password_change_required: true }
  })
})

t.test('a reset ends the sessions and, by default, the bearer tokens', async t => {
  const app = await onboardedServer(t)
  await addUser(app, 'ann')
  const page = await signedInBrowser(app, { user_id: 'ann' })
  const { body } = await page.call<{ token: string }>('POST', '/v1/users/ann/credentials', {})
  const bearer = { authorization: `Bearer ${body.token}` }

  const kept = await depsOf(app).recovery.reset('ann', 'keep')
  t.match(kept, { user_id: 'ann', sessions_revoked: 1, api_tokens_revoked: 0 })
  t.equal((await page.call('GET', me)).status, 401)
  t.equal((await app.call('GET', me, undefined, bearer)).status, 200)

  const revoked = await depsOf(app).recovery.reset('ann', 'revoke')
  t.match(revoked, { sessions_revoked: 0, api_tokens_revoked: 1 })
  t.equal((await app.call('GET', me, undefined, bearer)).status, 401)
  t.notOk(storeBytes(app.dir).includes(String(revoked.temporary_password)))
})

t.test('an unknown user cannot be reset', async t => {
  const app = await onboardedServer(t)
  const { recovery } = depsOf(app)

  t.match(await refusalOf(recovery.reset('ann', 'revoke')), { errorCode: { code: 'user_not_found' } })
  t.match(await refusalOf(recovery.reset('_operator', 'revoke')), { errorCode: { code: 'user_not_found' } })
})
