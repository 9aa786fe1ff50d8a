import t from 'tap'
import type { TestServer } from '../../../kit/test-server.ts'
import {
  addUser,
  browser,
  depsOf,
  type ErrorBody,
  login,
  onboarded,
  refusalOf,
  root,
  storeBytes
} from './fixture.ts'

interface Answer extends ErrorBody {
  readonly temporary_password: string
  readonly [field: string]: unknown
}
const me = '/v1/users/me'
const refusal = (status: number, code: string) => ({ status, body: { error: { code } } })
const reset = (home: TestServer, body?: object, userId = 'ann', headers = {}) =>
  home.call<Answer>('POST', `/v1/users/${userId}/password`, body, headers)
const bearerOf = async (home: TestServer, userId: string) => {
  const { body } = await home.call<{ token: string }>('POST', `/v1/users/${userId}/credentials`)
  return { authorization: `Bearer ${body.token}` }
}

t.test('a reset makes a temporary password, told once; sessions and bearers end', async t => {
  const home = await onboarded(t)
  await addUser(home, 'ann')
  const page = await browser(home, { user_id: 'ann' })
  const bearer = await bearerOf(home, 'ann')

  const { status, body } = await reset(home)

  t.equal(status, 200)
  const { temporary_password: password, ...rest } = body
  t.strictSame(rest, { user_id: 'ann', sessions_revoked: 1, api_tokens_revoked: 1 } as object)
  t.match(password, /^[\w-]{20}$/)
  t.notOk(storeBytes(home.dir).includes(password))
  t.equal((await page.call('GET', me)).status, 401)
  t.equal((await home.call('GET', me, undefined, bearer)).status, 401)
  t.match(await login(home, { user_id: 'ann' }), refusal(401, 'invalid_login'))
  t.match(await login(home, { user_id: 'ann', password }), {
    status: 200,
    body: { password_change_required: true }
  })
  t.match(await home.call('GET', '/v1/users/ann'), { body: { password_change_required: true } })
})

t.test('a session with a temporary password reads itself and changes the password, nothing more', async t => {
  const home = await onboarded(t)
  await addUser(home, 'ann')
  const { temporary_password: password } = (await reset(home)).body
  const page = await browser(home, { user_id: 'ann', password })

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

t.test('a temporary password ends after 24 hours', async t => {
  const home = await onboarded(t)
  await addUser(home, 'ann')
  const { temporary_password: password } = (await reset(home)).body

  await home.clock.advance(24 * 3_600_000)

  t.match(await login(home, { user_id: 'ann', password }), refusal(401, 'invalid_login'))
})

t.test('a given password is temporary unless it is said to last, and is not told back', async t => {
  const home = await onboarded(t)
  await addUser(home, 'ann')
  const given = { new_password: 'another long password' }
  const signIn = () => login(home, { user_id: 'ann', password: given.new_password })

  const temporary = await reset(home, given)
  t.equal(temporary.body.temporary_password, undefined)
  t.match(await signIn(), { body: { password_change_required: true } })

  t.match(await reset(home, { ...given, temporary: false }), { status: 200 })
  t.match(await signIn(), { body: { password_change_required: false } })
})

t.test('bearers are kept where it is asked for', async t => {
  const home = await onboarded(t)
  await addUser(home, 'ann')
  const bearer = await bearerOf(home, 'ann')

  t.match(await reset(home, { keep_api_tokens: true }), { body: { api_tokens_revoked: 0 } })

  t.equal((await home.call('GET', me, undefined, bearer)).status, 200)
})

t.test('what a reset may not be', async t => {
  const home = await onboarded(t)
  await addUser(home, 'ann')
  const ann = await bearerOf(home, 'ann')

  t.match(await reset(home, { temporary: false }), refusal(422, 'invalid_password_reset'))
  t.match(await reset(home, { new_password: 'short' }), refusal(422, 'password_too_short'))
  t.match(await reset(home, { new_password: 'x'.repeat(1025) }), refusal(422, 'password_too_long'))
  t.match(await reset(home, { password: root.password }), refusal(400, 'validation.unknown_field'))
  t.match(await reset(home, {}, 'nobody'), refusal(404, 'user_not_found'))
  t.match(await reset(home, {}, '_operator'), refusal(404, 'user_not_found'))
  t.match(await reset(home, {}, 'ann', ann), refusal(403, 'role_required'))
  t.match(await login(home, { user_id: 'ann' }), { status: 200 })
})

t.test(
  'a user is reset ten times an hour; another one, or a later one of that name, is not held back',
  async t => {
    const home = await onboarded(t)
    await addUser(home, 'ann')
    await addUser(home, 'bob')
    for (let i = 0; i < 10; i++) t.equal((await reset(home)).status, 200)

    const refused = await reset(home)

    t.match(refused, refusal(429, 'rate_limited'))
    t.equal(refused.headers['retry-after'], '3600')
    t.equal((await reset(home, {}, 'bob')).status, 200)
    await home.clock.advance(3_600_000)
    t.equal((await reset(home)).status, 200)
    for (let i = 0; i < 9; i++) await reset(home)
    t.equal((await reset(home)).status, 429)
    await home.call('DELETE', '/v1/users/ann')
    await addUser(home, 'ann')
    t.equal((await reset(home)).status, 200)
  }
)

t.test('an address that is locked for its guesses resets nothing', async t => {
  const home = await onboarded(t)
  await addUser(home, 'ann')
  const at = '198.51.100.7'
  for (let i = 0; i < 50; i++) await login(home, { user_id: `guess-${i}`, password: 'wrong wrong wrong' }, at)

  t.match(await reset(home, {}, 'ann', { 'x-forwarded-for': at }), refusal(429, 'rate_limited'))
  t.equal((await reset(home, {}, 'ann', { 'x-forwarded-for': '198.51.100.8' })).status, 200)
})

t.test('a user who is deleted while the new password is hashed gets none', async t => {
  const home = await onboarded(t)
  await addUser(home, 'ann')
  const { hashPool } = depsOf(home)
  const pending = Promise.withResolvers<void>()
  const busy = [hashPool.run(() => pending.promise), hashPool.run(() => pending.promise)]

  const late = refusalOf(depsOf(home).recovery.reset('ann', 'keep'))
  await home.call('DELETE', '/v1/users/ann')
  pending.resolve()
  await Promise.all(busy)

  t.match(await late, { errorCode: { code: 'user_not_found' } })
  await home.call('POST', '/v1/users', { user_id: 'ann', display_name: 'Another Ann' })
  t.match(await home.call('GET', '/v1/users/ann'), { body: { password_change_required: false } })
})
