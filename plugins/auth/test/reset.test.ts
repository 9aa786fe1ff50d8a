import t from 'tap'
import type { TestServer } from '../../../kit/test-server.ts'
import {
  addUser,
  depsOf,
  type ErrorBody,
  login,
  onboardedServer,
  refusalOf,
  root,
  signedInBrowser,
  storeBytes
} from './fixture.ts'

interface ResetResponse extends ErrorBody {
  readonly temporary_password: string
  readonly [field: string]: unknown
}
const me = '/v1/users/me'
const refusal = (status: number, code: string) => ({ status, body: { error: { code } } })
const reset = (app: TestServer, body?: object, userId = 'ann', headers = {}) =>
  app.call<ResetResponse>('POST', `/v1/users/${userId}/password`, body, headers)
const bearerOf = async (app: TestServer, userId: string) => {
  const { body } = await app.call<{ token: string }>('POST', `/v1/users/${userId}/credentials`)
  return { authorization: `Bearer ${body.token}` }
}

t.test('a reset returns a temporary password once, and ends sessions and bearer tokens', async t => {
  const app = await onboardedServer(t)
  await addUser(app, 'ann')
  const page = await signedInBrowser(app, { user_id: 'ann' })
  const bearer = await bearerOf(app, 'ann')

  const { status, body } = await reset(app)

  t.equal(status, 200)
  const { temporary_password: password, ...rest } = body
  t.strictSame(rest, { user_id: 'ann', sessions_revoked: 1, api_tokens_revoked: 1 } as object)
  t.match(password, /^[\w-]{20}$/)
  t.notOk(storeBytes(app.dir).includes(password))
  t.equal((await page.call('GET', me)).status, 401)
  t.equal((await app.call('GET', me, undefined, bearer)).status, 401)
  t.match(await login(app, { user_id: 'ann' }), refusal(401, 'invalid_login'))
  t.match(await login(app, { user_id: 'ann', password }), {
    status: 200,
    body: { password_change_required: true }
  })
  t.match(await app.call('GET', '/v1/users/ann'), { body: { password_change_required: true } })
})

t.test('a session with a temporary password can only read its user and change the password', async t => {
  const app = await onboardedServer(t)
  await addUser(app, 'ann')
  const { temporary_password: password } = (await reset(app)).body
  const page = await signedInBrowser(app, { user_id: 'ann', password })

  t.match(await page.call('GET', '/v1/users/ann'), refusal(403, 'password_change_required'))
  t.equal((await page.call('GET', me)).status, 200)
  const change = {
    current_password: password,
    new_password: root.password,
    new_password_confirm: root.password
  }
  t.equal((await page.call('POST', `${me}/password`, change)).status, 204)
  t.match(await page.call('GET', '/v1/users/ann'), { status: 200, body: { password_change_required: false } })
})

t.test('a reset to the same password is refused', async t => {
  const app = await onboardedServer(t)
  await addUser(app, 'ann')

  t.match(await reset(app, { new_password: root.password }), refusal(422, 'password_unchanged'))
  t.equal((await login(app, { user_id: 'ann' })).status, 200)
})

t.test('a repeated reset returns its response again unless it contained a password', async t => {
  const app = await onboardedServer(t)
  await addUser(app, 'ann')
  await addUser(app, 'bob')
  const given = { new_password: 'another long password' }
  const once = { 'idempotency-key': 'once' }

  const first = await reset(app, given, 'ann', once)
  t.same((await reset(app, given, 'ann', once)).body, first.body)
  t.equal((await reset(app, {}, 'bob', once)).status, 200)
  t.match(await reset(app, {}, 'bob', once), refusal(409, 'idempotency_secret_spent'))
})

t.test('a temporary password expires after 24 hours', async t => {
  const app = await onboardedServer(t)
  await addUser(app, 'ann')
  const { temporary_password: password } = (await reset(app)).body

  await app.clock.advance(24 * 3_600_000)

  t.match(await login(app, { user_id: 'ann', password }), refusal(401, 'invalid_login'))
})

t.test('setting the clock back does not revive an expired temporary password', async t => {
  const app = await onboardedServer(t)
  await addUser(app, 'ann')
  const { temporary_password: password } = (await reset(app)).body
  await app.clock.advance(24 * 3_600_000)

  app.clock.step(-400 * 24 * 3_600_000)

  t.match(await login(app, { user_id: 'ann', password }), refusal(401, 'invalid_login'))
})

t.test('a chosen password is temporary unless `temporary` is false, and is not returned', async t => {
  const app = await onboardedServer(t)
  await addUser(app, 'ann')
  const given = { new_password: 'another long password' }
  const signIn = () => login(app, { user_id: 'ann', password: given.new_password })

  const temporary = await reset(app, given)
  t.equal(temporary.body.temporary_password, undefined)
  t.match(await signIn(), { body: { password_change_required: true } })

  given.new_password = 'a third long password'
  t.match(await reset(app, { ...given, temporary: false }), { status: 200 })
  t.match(await signIn(), { body: { password_change_required: false } })
})

t.test('`keep_api_tokens` spares the bearer tokens', async t => {
  const app = await onboardedServer(t)
  await addUser(app, 'ann')
  const bearer = await bearerOf(app, 'ann')

  t.match(await reset(app, { keep_api_tokens: true }), { body: { api_tokens_revoked: 0 } })

  t.equal((await app.call('GET', me, undefined, bearer)).status, 200)
})

t.test('an invalid reset is refused', async t => {
  const app = await onboardedServer(t)
  await addUser(app, 'ann')
  const ann = await bearerOf(app, 'ann')

  t.match(await reset(app, { temporary: false }), refusal(422, 'invalid_password_reset'))
  t.match(await reset(app, { new_password: 'short' }), refusal(422, 'password_too_short'))
  t.match(await reset(app, { new_password: 'x'.repeat(1025) }), refusal(422, 'password_too_long'))
  t.match(await reset(app, { password: root.password }), refusal(400, 'validation.unknown_field'))
  t.match(await reset(app, {}, 'nobody'), refusal(404, 'user_not_found'))
  t.match(await reset(app, {}, '_operator'), refusal(404, 'user_not_found'))
  t.match(await reset(app, {}, 'ann', ann), refusal(403, 'role_required'))
  t.match(await login(app, { user_id: 'ann' }), { status: 200 })
})

t.test(
  'ten resets of a user are possible in an hour; other users, and a new user of that id, are not affected',
  async t => {
    const app = await onboardedServer(t)
    await addUser(app, 'ann')
    await addUser(app, 'bob')
    for (let i = 0; i < 10; i++) t.equal((await reset(app)).status, 200)

    const refused = await reset(app)

    t.match(refused, refusal(429, 'rate_limited'))
    t.equal(refused.headers['retry-after'], '3600')
    t.equal((await reset(app, {}, 'bob')).status, 200)
    await app.clock.advance(3_600_000)
    t.equal((await reset(app)).status, 200)
    for (let i = 0; i < 9; i++) await reset(app)
    t.equal((await reset(app)).status, 429)
    await app.call('DELETE', '/v1/users/ann')
    await addUser(app, 'ann')
    t.equal((await reset(app)).status, 200)
  }
)

t.test('a locked-out address cannot reset passwords', async t => {
  const app = await onboardedServer(t)
  await addUser(app, 'ann')
  const at = '198.51.100.7'
  for (let i = 0; i < 50; i++) await login(app, { user_id: `guess-${i}`, password: 'wrong wrong wrong' }, at)

  t.match(await reset(app, {}, 'ann', { 'x-forwarded-for': at }), refusal(429, 'rate_limited'))
  t.equal((await reset(app, {}, 'ann', { 'x-forwarded-for': '198.51.100.8' })).status, 200)
})

t.test('a user deleted during the hash gets no new password', async t => {
  const app = await onboardedServer(t)
  await addUser(app, 'ann')
  const { hashPool } = depsOf(app)
  const pending = Promise.withResolvers<void>()
  const busy = [hashPool.run(() => pending.promise), hashPool.run(() => pending.promise)]

  const late = refusalOf(depsOf(app).recovery.reset('ann', 'keep'))
  await app.call('DELETE', '/v1/users/ann')
  pending.resolve()
  await Promise.all(busy)

  t.match(await late, { errorCode: { code: 'user_not_found' } })
  await app.call('POST', '/v1/users', { user_id: 'ann', display_name: 'Another Ann' })
  t.match(await app.call('GET', '/v1/users/ann'), { body: { password_change_required: false } })
})
