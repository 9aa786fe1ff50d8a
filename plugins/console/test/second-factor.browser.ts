// The second factor on the pages: set up, sign in, confirm, remove; and the policy that demands it.
import type { Page } from 'playwright-core'
import t from 'tap'
import { settableClock } from '../../../test/support/settable-clock.ts'
import { codeAt, stepAt } from '../../second-factor/totp.ts'
import {
  admin,
  axeFindings,
  callAs,
  completeSetup,
  freePort,
  openPage,
  signIn,
  skipReason,
  startServer
} from './browser.ts'

const codeLabel = 'Code of your authenticator app'

/** Returns the key that the open form shows. */
async function secretOn(page: Page): Promise<string> {
  const key = page.locator('.command code').first()
  await key.waitFor()
  return (await key.textContent()) ?? ''
}

async function signOut(page: Page): Promise<void> {
  await page.getByRole('button', { name: /Account/ }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
}

/** Answers the dialog of a session that is not fresh. */
async function confirmWith(page: Page, label: string, answer: string): Promise<void> {
  const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' })
  if (label !== 'Password') await dialog.getByRole('button', { name: label }).click()
  await dialog.getByLabel(label, { exact: true }).fill(answer)
  await dialog.getByRole('button', { name: 'Confirm' }).click()
  await dialog.waitFor({ state: 'detached' })
}

t.test(
  'a user sets up an app, signs in with it, confirms changes and removes it',
  { skip: skipReason },
  async t => {
    const clock = settableClock(t)
    const data = `${t.testdir()}/data`
    const env = { ...clock.env, SVC_OPERATOR_HTTP_LISTEN: `127.0.0.1:${await freePort()}` }
    let server = await startServer(data, env)
    t.teardown(() => server.kill())
    const { page, errors, close } = await openPage()
    t.teardown(close)
    await completeSetup(page, server.link)

    await page.goto(`${server.origin}/account`)
    await page.getByText('None. The password alone opens a session.').waitFor()
    await page.getByRole('button', { name: 'Set up an authenticator app' }).click()
    const secret = await secretOn(page)
    await page.getByRole('img', { name: 'QR code for the authenticator app' }).waitFor()
    t.same(await axeFindings(page), [])
    const started = stepAt(Date.now())
    await page.getByLabel(codeLabel).fill(codeAt(secret, started - 40))
    await page.getByRole('button', { name: 'Confirm', exact: true }).click()
    await page.getByText(/This code is wrong/).waitFor()
    await page.getByLabel(codeLabel).fill(codeAt(secret, started))
    await page.getByRole('button', { name: 'Confirm', exact: true }).click()
    await page.getByRole('button', { name: 'Done' }).waitFor()
    t.same(await axeFindings(page), [])
    const codes = (await secretOn(page)).split('\n')
    t.equal(codes.length, 10)
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByText('authenticator app', { exact: true }).waitFor()

    await signOut(page)
    await signIn(page, admin)
    await page.getByLabel(codeLabel).waitFor()
    t.same(await axeFindings(page), [])
    await page.getByLabel(codeLabel).fill(codeAt(secret, started))
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText(/This code is wrong/).waitFor()
    await page.getByRole('button', { name: 'Start over' }).click()
    await signIn(page, admin)
    await page.getByRole('button', { name: 'Recovery code' }).click()
    await page.getByLabel('Recovery code').fill(codes[0] ?? '')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('password, recovery codes').waitFor()

    await server.kill()
    clock.set(16 * 60)
    server = await startServer(data, env)
    await page.goto(`${server.origin}/account`)
    await page.getByRole('button', { name: 'New recovery codes' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'New recovery codes' }).click()
    await page.getByLabel('Password', { exact: true }).waitFor()
    t.same(await axeFindings(page), [])
    await confirmWith(page, codeLabel, codeAt(secret, stepAt(Date.now() + 16 * 60_000)))
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('button', { name: 'Remove the app' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove the app' }).click()
    await page.getByText('None. The password alone opens a session.').waitFor()

    await server.kill()
    clock.set(40 * 60)
    server = await startServer(data, env)
    await page.goto(`${server.origin}/account`)
    await page.getByRole('button', { name: 'Set up an authenticator app' }).click()
    const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' })
    await dialog.getByLabel('Password', { exact: true }).fill('a wrong password')
    await dialog.getByRole('button', { name: 'Confirm' }).click()
    await dialog
      .getByText(/password/i)
      .first()
      .waitFor()
    await confirmWith(page, 'Password', admin.password)
    t.match(await secretOn(page), /^[A-Z2-7]{32}$/, 'the request is sent again')
    t.same(errors, [])
  }
)

t.test('with the policy all, the gate asks for a second factor', { skip: skipReason }, async t => {
  const server = await startServer(`${t.testdir()}/data`, { SVC_SECOND_FACTOR: 'all' })
  t.teardown(server.kill)
  const { page, errors, close } = await openPage({ locale: 'de-DE' })
  t.teardown(close)
  await page.goto(server.link)
  await page.getByLabel('Passwort', { exact: true }).fill(admin.password)
  await page.getByLabel('Passwort wiederholen').fill(admin.password)
  await page.getByRole('button', { name: 'Administrator anlegen' }).click()
  await page.getByText('Ihr Konto braucht einen zweiten Faktor.').waitFor()
  t.same(await axeFindings(page), [])
  await page.reload()
  await page.getByText('Ihr Konto braucht einen zweiten Faktor.').waitFor()
  const secret = await secretOn(page)
  await page.getByLabel('Code aus Ihrer Authenticator-App').fill(codeAt(secret, stepAt(Date.now())))
  await page.getByRole('button', { name: 'Bestätigen' }).click()
  await page.getByRole('button', { name: 'Fertig' }).click()
  await page.getByRole('navigation').waitFor()
  t.match(await callAs(page, 'GET', '/v1/users/admin'), { second_factors: ['totp'] })
  t.same(errors, [])
})

t.test('an administrator drops the second factors of a user', { skip: skipReason }, async t => {
  const server = await startServer(`${t.testdir()}/data`)
  t.teardown(server.kill)
  const { page, close } = await openPage()
  t.teardown(close)
  await completeSetup(page, server.link)
  const user = { user: 'ann', password: 'a battery that staples horses' }
  await callAs(page, 'POST', '/v1/users', {
    user_id: user.user,
    display_name: 'Ann',
    initial_password: user.password
  })
  const other = await openPage()
  t.teardown(other.close)
  await other.page.goto(server.origin)
  await signIn(other.page, user)
  await other.page.getByRole('navigation').waitFor()
  const { secret } = await callAs<{ secret: string }>(other.page, 'POST', '/v1/users/me/totp')
  await callAs(other.page, 'POST', '/v1/users/me/totp/confirm', { code: codeAt(secret, stepAt(Date.now())) })

  await page.goto(`${server.origin}/users/ann`)
  await page.getByText('authenticator app', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Drop second factors' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Drop second factors' }).click()
  await page.getByText('ann has no second factor any more.').waitFor()
  await signOut(other.page)
  await signIn(other.page, user)
  await other.page.getByRole('navigation').waitFor()
})
