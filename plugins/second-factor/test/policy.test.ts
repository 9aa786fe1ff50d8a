// The policy `second_factor`, and the loss of factors.
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { recordStatements } from '../../../test/support/record-statements.ts'
import { notOnPostgres } from '../../../test/support/store.ts'
import { addUser } from '../../auth/test/fixture.ts'
import {
  answer,
  browserOf,
  challengeOf,
  codeNow,
  enroll,
  enrolledServer,
  login,
  refusal,
  serverFor
} from './fixture.ts'

const skip = notOnPostgres('it counts statements of SQLite')
const needed = refusal(403, 'second_factor_enrollment_required')

t.test('with the policy all, a session without a second factor can only set one up', async t => {
  const app = await serverFor(t, { keys: { second_factor: 'all' } })
  await addUser(app, 'ann')
  const signedIn = await login(app)
  t.match(signedIn, { status: 200, body: { second_factor_enrollment_required: true } })
  const browser = browserOf(app, signedIn)
  t.equal((await browser.call('GET', '/v1/users/me')).status, 200)
  t.match(await browser.call('GET', '/v1/users/me/sessions'), needed)
  t.match(await browser.call('POST', '/v1/users/ann/credentials', {}), needed)
  t.match(await browser.call('GET', '/v1/audit'), needed, 'before the role')
  t.match(await browser.call('POST', '/v1/users/me/totp/recovery-codes'), needed)
  t.equal((await browser.call('POST', '/v1/auth/reauthenticate', { password: 'wrong' })).status, 401)

  await enroll(app, browser)
  t.equal((await browser.call('GET', '/v1/users/me/sessions')).status, 200)
  await app.clock.advance(30_000)
  t.equal((await browser.call('DELETE', '/v1/users/me/totp')).status, 204)
  t.match(await browser.call('GET', '/v1/users/me/sessions'), needed, 'the factor is gone')
  t.equal((await browser.call('POST', '/v1/auth/logout')).status, 204)
})

t.test('the policy reads the factors of a user once, until they change', { skip }, async t => {
  const app = await serverFor(t, { keys: { second_factor: 'all' } })
  await addUser(app, 'ann')
  const browser = browserOf(app, await login(app))
  await enroll(app, browser)
  const statements = recordStatements(t)
  const readsOf = async () => {
    statements.reset()
    t.equal((await browser.call('GET', '/v1/users/me/sessions')).status, 200)
    return statements.sql.filter(sql => sql.includes('second_factor')).length
  }

  t.equal(await readsOf(), 1)
  t.equal(await readsOf(), 0)
  await app.clock.advance(30_000)
  t.equal((await browser.call('DELETE', '/v1/users/me/totp')).status, 204)
  t.match(await browser.call('GET', '/v1/users/me/sessions'), needed)
})

t.test('a temporary password is changed first, and a token is not limited', async t => {
  const app = await serverFor(t, { keys: { second_factor: 'all' } })
  await addUser(app, 'ann')
  const browser = browserOf(app, await login(app))
  const { body } = await app.call<{ token: string }>('POST', '/v1/users/ann/credentials', {})
  const bearer = { authorization: `Bearer ${body.token}` }
  t.equal((await app.call('GET', '/v1/users/ann', undefined, bearer)).status, 200)
  const change = {
    current_password: 'a long enough password',
    new_password: 'a battery that staples horses',
    new_password_confirm: 'a battery that staples horses'
  }
  t.equal((await browser.call('POST', '/v1/users/me/password', change)).status, 204)
  const reset = await app.call('POST', '/v1/users/ann/password', { new_password: 'a long enough password' })
  t.equal(reset.status, 200)
  const again = await login(app)
  t.match(again.body, { password_change_required: true, second_factor_enrollment_required: true })
  t.match(
    await browserOf(app, again).call('POST', '/v1/users/me/totp'),
    refusal(403, 'password_change_required')
  )
})

t.test('the policy superadmins is for this one role', async t => {
  const app = await serverFor(t, { keys: { second_factor: 'superadmins' } })
  for (const role of ['user', 'viewer', 'operator', 'superadmin'] as const) {
    await addUser(app, `a-${role}`, role)
    const signedIn = await login(app, `a-${role}`)
    const isNeeded = role === 'superadmin'
    t.equal(signedIn.body.second_factor_enrollment_required, isNeeded, role)
    const { status } = await browserOf(app, signedIn).call('GET', '/v1/users/me/sessions')
    t.equal(status, isNeeded ? 403 : 200, role)
  }
})

t.test('an unknown policy stops the start and names the key', async t => {
  await t.rejects(serverFor(t, { keys: { second_factor: 'some' } }), { message: /second_factor/ })
})

t.test('a superadmin drops the factors of others, and others do not', async t => {
  const { app, browser } = await enrolledServer(t)
  t.match(
    await browser.call('DELETE', '/v1/users/ann/second-factors'),
    refusal(403, 'role_required'),
    'a user has DELETE /v1/users/me/totp'
  )
  t.equal((await app.call('DELETE', '/v1/users/ann/second-factors')).status, 204)
  t.equal((await app.call('DELETE', '/v1/users/nobody/second-factors')).status, 404)
  t.equal((await login(app)).status, 200)
  t.match(await browser.call('GET', '/v1/users/me'), { status: 200 })
})

t.test('second factors are shown to the user and to viewers', async t => {
  const { app, browser } = await enrolledServer(t)
  await addUser(app, 'eve', 'viewer')
  await addUser(app, 'bob')
  const shown = { body: { second_factors: ['totp'] } }
  t.match(await browser.call('GET', '/v1/users/ann'), shown)
  t.match(await browserOf(app, await login(app, 'eve')).call('GET', '/v1/users/ann'), shown)
  t.equal((await browserOf(app, await login(app, 'bob')).call('GET', '/v1/users/ann')).status, 403)
})

t.test('without the key that sealed the secrets, the server does not start', async t => {
  const { app, secret } = await enrolledServer(t)
  const file = join(app.dir, 'store.key')
  renameSync(file, `${file}.away`)
  await t.rejects(app.restart(), { message: /store\.key is missing/ })
  renameSync(`${file}.away`, file)
  await app.restart()
  t.equal((await answer(app, { challenge: await challengeOf(app), code: codeNow(app, secret) })).status, 200)
})
