import t from 'tap'
import { addUser, browser, depsOf, login, onboarded, root } from './fixture.ts'

const path = '/v1/users/me/password'
const good = {
  current_password: root.password,
  new_password: 'another long password',
  new_password_confirm: 'another long password'
}

t.test('a change ends the other sessions and keeps this one', async t => {
  const home = await onboarded(t)
  const page = await browser(home)
  const other = await browser(home)

  t.equal((await page.call('POST', path, good)).status, 204)

  t.equal((await page.call('GET', '/v1/users/me')).status, 200)
  t.equal((await other.call('GET', '/v1/users/me')).status, 401)
  t.equal((await login(home)).status, 401)
  t.equal((await login(home, { password: good.new_password })).status, 200)
})

t.test('what a change refuses', async t => {
  const cases: [object, number, string][] = [
    [{ current_password: 'not the right one' }, 401, 'invalid_login'],
    [{ new_password: 'eleven byte', new_password_confirm: 'eleven byte' }, 422, 'password_too_short'],
    [{ new_password: 'é'.repeat(513) }, 422, 'password_too_long'],
    [{ new_password_confirm: 'a typo in it' }, 422, 'password_mismatch'],
    [{ new_password: undefined }, 400, 'validation.schema']
  ]
  const home = await onboarded(t)
  const page = await browser(home)
  for (const [body, status, code] of cases)
    t.match(await page.call('POST', path, { ...good, ...body }), { status, body: { error: { code } } }, code)
  t.equal((await login(home)).status, 200, 'the old one still holds')
})

t.test('guessing at the current password is throttled, apart from the login', async t => {
  const home = await onboarded(t)
  const page = await browser(home)
  for (let i = 0; i < 5; i++)
    await page.call('POST', path, { ...good, current_password: `guess number ${i}` })

  t.match(await page.call('POST', path, good), { status: 429, body: { error: { code: 'rate_limited' } } })
  t.equal((await login(home, {}, '127.0.0.1')).status, 200)
})

t.test('of two changes at once the second must know the new password', async t => {
  const home = await onboarded(t)
  const pages = [await browser(home), await browser(home)]

  const replies = await Promise.all(pages.map(page => page.call('POST', path, good)))

  t.strictSame(replies.map(({ status }) => status).sort(), [204, 401])
})

t.test('the operator token has no password', async t => {
  const home = await onboarded(t)

  const reply = await home.call('POST', path, good)

  t.match(reply, { status: 404, body: { error: { code: 'user_not_found' } } })
})

t.test('a temporary password ends after 24 hours', async t => {
  const home = await onboarded(t)
  await addUser(home, 'ann')
  const { temporary_password: password } = await depsOf(home).recovery.reset('ann', 'keep')

  t.match(await login(home, { user_id: 'ann', password }), { body: { password_change_required: true } })
  await home.clock.advance(24 * 3_600_000)

  t.match(await login(home, { user_id: 'ann', password }), { status: 401 })
})
