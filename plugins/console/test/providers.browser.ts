// Sign-in at a provider on the pages: the button, refusals, linked accounts, and the confirmation of a session.
import { writeFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { clientSecret, realProvider } from '../../oidc/test/oidc-provider.ts'
import { axeFindings, callAs, completeSetup, freePort, openPage, skipReason, startServer } from './browser.ts'

const button = 'Continue with Corporate login'

async function open(t: Test) {
  const listen = `127.0.0.1:${await freePort()}`
  const origin = `http://${listen}`
  const provider = await realProvider(t, `${origin}/v1/auth/oidc/corp/callback`)
  const config = `${t.testdir()}/server.toml`
  writeFileSync(
    config,
    `operator_http_public_origin = "${origin}"
[plugins.oidc.providers.corp]
issuer = "${provider.issuer}"
client_id = "sluice"
title = "Corporate login"
`
  )
  const env = { SVC_OPERATOR_HTTP_LISTEN: listen, SVC_OIDC_CORP_SECRET: clientSecret, SVC_CONFIG: config }
  const server = await startServer(`${t.testdirName}/data`, env)
  t.teardown(() => server.kill())
  const { page, errors, close } = await openPage()
  t.teardown(close)
  await completeSetup(page, server.link)
  return { origin, provider, page, errors, context: page.context() }
}

async function signOut(page: Page): Promise<void> {
  await page.getByRole('button', { name: /Account/ }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByRole('button', { name: button }).waitFor()
}

t.test('a user links an account of a provider, and signs in there', { skip: skipReason }, async t => {
  const { origin, provider, page, errors, context } = await open(t)
  const forgetProvider = () => context.clearCookies({ name: /^_/ })

  await signOut(page)
  t.same(await axeFindings(page), [])
  provider.choose('stranger')
  await page.getByRole('button', { name: button }).click()
  await page.getByText('The server does not know you').waitFor()
  t.equal(new URL(page.url()).hash, '', 'a reload does not show the refusal again')
  t.same(await axeFindings(page), [])

  await page.goto(`${origin}/account`)
  await page.getByLabel('User').fill('admin')
  await page.getByLabel('Password', { exact: true }).fill('a long enough password')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('No identities.').waitFor()
  await forgetProvider()
  provider.choose('ann')
  await page.getByRole('button', { name: 'Add identity' }).click()
  await page.getByRole('button', { name: button }).click()
  await page.getByRole('cell', { name: 'ann', exact: true }).waitFor()
  t.equal(page.url(), `${origin}/account`)
  t.same(await axeFindings(page), [])

  await signOut(page)
  await forgetProvider()
  await page.goto(`${origin}/clients#provider=corp`)
  const focused = page.getByRole('button', { name: button })
  await focused.waitFor()
  await page.locator(`button:focus`, { hasText: button }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Clients' }).waitFor()
  t.equal(new URL(page.url()).pathname, '/clients')
  const [session] = await callAs<readonly object[]>(page, 'GET', '/v1/users/me/sessions')
  t.match(session, { method: 'oidc', provider: 'corp', factors: ['oidc'] })
  t.same(errors, [])
})
