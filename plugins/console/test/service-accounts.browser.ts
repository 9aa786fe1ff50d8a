// A service account and its token with few scopes, from the forms of the console.
import t from 'tap'
import { axeFindings, callAs, completeSetup, openPage, skipReason, startServer } from './browser.ts'

interface Row {
  readonly scopes: readonly string[] | null
  readonly allowed_sources: readonly string[] | null
}

t.test('a service account gets a token with chosen scopes', { skip: skipReason }, async t => {
  const server = await startServer(`${t.testdir()}/data`)
  t.teardown(server.kill)
  const { page, errors, close } = await openPage()
  t.teardown(close)
  await completeSetup(page, server.link)
  const form = page.getByRole('dialog')

  await page.goto(`${server.origin}/users`)
  await page.getByRole('link', { name: 'New user' }).click()
  await form.getByLabel('User', { exact: true }).fill('deploy')
  await form.getByLabel('Display name').fill('Deployment')
  await form.getByLabel('Kind', { exact: true }).selectOption('service account')
  t.equal(await form.getByLabel('Sign-in', { exact: true }).count(), 0, 'it cannot sign in')
  await form.getByRole('button', { name: 'Create user' }).click()

  await page.getByRole('heading', { name: 'deploy', level: 1 }).waitFor()
  await page.getByText('service account').first().waitFor()
  t.equal(await page.getByRole('button', { name: 'Reset password' }).count(), 0)

  await page.getByRole('button', { name: 'Create token' }).click()
  await form.getByLabel('Label', { exact: true }).fill('ci')
  await form.getByLabel('Access', { exact: true }).selectOption('chosen scopes')
  await form.getByLabel('rule:read', { exact: true }).check()
  await form.getByLabel('rule:write', { exact: true }).check()
  await form.getByLabel('Allowed sources').fill('192.0.2.0/24\n10.0.0.0/33')
  await form.getByRole('button', { name: 'Create', exact: true }).click()
  await form.getByText(/^Line 2: /).waitFor()
  await form.getByLabel('Allowed sources').fill('192.0.2.0/24')
  await form.getByRole('button', { name: 'Create', exact: true }).click()
  await form.getByText(/^svct_/).waitFor()
  await form.getByRole('button', { name: 'Done' }).click()

  await page.getByText('rule:read, rule:write').waitFor()
  t.match(await callAs<Row[]>(page, 'GET', '/v1/users/deploy/credentials'), [
    { scopes: ['rule:read', 'rule:write'], allowed_sources: ['192.0.2.0/24'] }
  ])
  t.same(await axeFindings(page), [])
  t.same(errors, [])
})
