import t from 'tap'
import { addUser, depsOf, login, onboardedServer, root, signedInBrowser } from './fixture.ts'

const path = '/v1/users/me/password'
const good = {
  current_password: root.password,
  new_password: 'another long password',
  new_password_confirm: 'another long password'
}

t.test('a password change ends the other sessions but not this one', async t => {
  const app = await onboardedServer(t)
  const page = await signedInBrowser(app)
  const other = await signedInBrowser(app)

  t.equal((await page.call('POST', path, good)).status, 204)

  t.equal((await page.call('GET', '/v1/users/me')).status, 200)
  t.equal((await other.call('GET', '/v1/users/me')).status, 401)
  t.equal((await login(app)).status, 401)
  t.equal((await login(app, { password: good.new_password })).status, 200)
})

t.test('a password change refuses wrong and weak passwords', async t => {
  const cases: [object, number, string][] = [
    [{ current_password: 'not the right one' }, 401, 'invalid_login'],
    [{ new_password: 'eleven byte', new_password_confirm: 'eleven byte' }, 422, 'password_too_short'],
    [{ new_password: 'é'.repeat(513) }, 422, 'password_too_long'],
    [{ new_password_confirm: 'a typo in it' }, 422, 'password_mismatch'],
    [{ new_password: root.password, new_password_confirm: root.password }, 422, 'password_unchanged'],
    [{ new_password: undefined }, 400, 'validation.schema']
  ]
  const app = await onboardedServer(t)
  const page = await signedInBrowser(app)
  for (const [body, status, code] of cases)
    t.match(await page.call('POST', path, { ...good, ...body }), { status, body: { error: { code } } }, code)
  t.equal((await login(app)).status, 200, 'the old password is still valid')
})

t.test('guesses at the current password are throttled separately from the login', async t => {
  const app = await onboardedServer(t)
  const page = await signedInBrowser(app)
  for (let i = 0; i < 5; i++)
    await page.call('POST', path, { ...good, current_password: `guess number ${i}` })

  t.match(await page.call('POST', path, good), { status: 429, body: { error: { code: 'rate_limited' } } })
  t.equal((await login(app, {}, '127.0.0.1')).status, 200)
})

t.test('the second of two concurrent changes must know the new password', async t => {
  const app = await onboardedServer(t)
  const pages = [await signedInBrowser(app), await signedInBrowser(app)]

  const replies = await Promise.all(pages.map(page => page.call('POST', path, good)))

  t.strictSame(replies.map(({ status }) => status).sort(), [204, 401])
})

t.test('the operator token has no password', async t => {
  const app = await onboardedServer(t)

  const reply = await app.call('POST', path, good)

  t.match(reply, { status: 404, body: { error: { code: 'user_not_found' } } })
})

t.test('a temporary password expires after 24 hours', async t => {
  const app = await onboardedServer(t)
  await addUser(app, 'ann')
  const { temporary_password: password } = await depsOf(app).recovery.reset('ann', 'keep')

  t.match(await login(app, { user_id: 'ann', password }), { body: { password_change_required: true } })
  await app.clock.advance(24 * 3_600_000)

  t.match(await login(app, { user_id: 'ann', password }), { status: 401 })
})
