// Changes of tokens, passwords and sessions take effect at once.
import t from 'tap'
import { admin, callAs, completeSetup, openPage, signIn, skipReason, startServer } from './browser.ts'

const ann = { user: 'ann', password: 'a password of the tenant' }

t.test('tokens, passwords and sessions change and end', { skip: skipReason }, async t => {
  const server = await startServer(`${t.testdir()}/data`)
  t.teardown(server.kill)
  const { page, errors, close } = await openPage()
  t.teardown(close)
  await completeSetup(page, server.link)
  const form = page.getByRole('dialog')
  await callAs(page, 'POST', '/v1/users', {
    user_id: ann.user,
    display_name: 'Ann',
    role: 'user',
    initial_password: ann.password
  })
  const issued = await callAs<{ token: string }>(page, 'POST', '/v1/users/ann/credentials', {
    label: 'laptop'
  })
  const statusWith = async (token: string): Promise<number> =>
    (await fetch(`${server.origin}/v1/users/me`, { headers: { authorization: `Bearer ${token}` } })).status
  await page.goto(`${server.origin}/users/ann`)

  await t.test('rotating a token invalidates the old one', async t => {
    t.equal(await statusWith(issued.token), 200)
    await page.getByRole('button', { name: 'Actions for laptop' }).click()
    await page.getByRole('menuitem', { name: 'Rotate' }).click()
    await form.getByRole('button', { name: 'Rotate' }).click()
    const token = (await form.getByText(/^svct_/).textContent()) ?? ''
    await form.getByRole('button', { name: 'Done' }).click()
    await page.getByText(token).waitFor({ state: 'detached' })
    t.equal(await statusWith(issued.token), 401)
    t.equal(await statusWith(token), 200)
  })

  await t.test('resetting a password ends the sessions of the user', async t => {
    const own = await openPage()
    t.teardown(own.close)
    await own.page.goto(`${server.origin}/rules`)
    await signIn(own.page, ann)
    await own.page.getByRole('heading', { name: 'Rules', level: 1 }).waitFor()
    await page.getByRole('button', { name: 'Reset password' }).click()
    await form.getByLabel('Keep tokens valid').check()
    await form.getByRole('button', { name: 'Reset password' }).click()
    await form.getByText('Sessions ended: 1. Tokens revoked: 0.').waitFor()
    const password = (await form.locator('code').textContent()) ?? ''
    await form.getByRole('button', { name: 'Done' }).click()
    await own.page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await signIn(own.page, { user: ann.user, password })
    await own.page.getByRole('heading', { name: 'Choose a new password' }).waitFor()
    t.same(own.errors, [])
  })

  await t.test('a session that ends elsewhere shows the sign-in form', async t => {
    const other = await openPage()
    t.teardown(other.close)
    await other.page.goto(`${server.origin}/rules`)
    await signIn(other.page, admin)
    await other.page.getByRole('heading', { name: 'Rules', level: 1 }).waitFor()
    await page.goto(`${server.origin}/account`)
    await page.getByRole('cell', { name: /this session/ }).waitFor()
    await page.getByRole('button', { name: 'End', exact: true }).click()
    await form.getByText('That browser must sign in again.').waitFor()
    await form.getByRole('button', { name: 'End', exact: true }).click()
    await page.getByText('Session ended.').waitFor()
    await other.page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.getByRole('button', { name: 'End', exact: true }).waitFor({ state: 'detached' })
  })
  t.same(errors, [])
})
