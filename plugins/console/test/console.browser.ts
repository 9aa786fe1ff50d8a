// The first minute and the main pages, in Chromium with a real server and agent.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { admin, axeFindings, completeSetup, openPage, skipReason, startServer } from './browser.ts'
import { scrolledSideways } from './walk.ts'

t.test('the first minute ends with a forwarded byte, and pages pass axe', { skip: skipReason }, async t => {
  const server = await startServer(`${t.testdir()}/data`)
  t.teardown(server.kill)
  const { page, errors, close } = await openPage()
  t.teardown(close)

  /** Expects no axe findings in both themes. */
  const checkAxe = async (what: string): Promise<void> => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      t.same(await axeFindings(page), [], `${what}, ${colorScheme}`)
    }
  }

  await page.goto(server.link)
  await page.getByRole('heading', { name: 'Welcome' }).waitFor()
  await checkAxe('the setup form')
  await completeSetup(page, server.link)
  t.notMatch(page.url(), /#/, 'the URL no longer contains the token')
  await page.getByRole('button', { name: 'Create rule' }).waitFor()
  await checkAxe('the overview')
  t.equal(await page.getByRole('navigation').count(), 1)
  t.equal(await page.getByRole('main').count(), 1)

  const target = createServer((_, response) => response.end('a byte')).listen(0, '127.0.0.1')
  await once(target, 'listening')
  t.teardown(() => target.close())
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  await new Promise(done => probe.close(done))

  await page.getByLabel('Listen port').fill(String(port))
  await page.getByLabel('Target host').fill('127.0.0.1')
  await page.getByLabel('Target port').fill(String((target.address() as AddressInfo).port))
  await page.getByRole('button', { name: 'Create rule' }).click()
  await page.getByText('Waiting for the first connection').waitFor()
  t.equal(
    await (await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: 'close' } })).text(),
    'a byte'
  )
  await page
    .getByText(/Connections: 1|\d+ B total/)
    .first()
    .waitFor()

  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Search and commands' }).fill('rul')
  await checkAxe('the palette')
  await page.keyboard.press('Enter')
  await page.getByRole('cell', { name: `${port}/tcp`, exact: true }).waitFor()
  await checkAxe('the rules')
  await page.getByLabel(`Select ${port}/tcp`).check()
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click()
  await page.getByRole('cell', { name: 'paused' }).first().waitFor()

  await page.goto(`${server.origin}/clients`)
  await page.getByRole('main').getByRole('link', { name: 'local' }).click()
  await page.getByRole('heading', { name: 'Rules' }).waitFor()
  await checkAxe('a client')
  await page.goto(`${server.origin}/clients/new`)
  await page.getByLabel('Name').fill('paris')
  await page.getByRole('button', { name: 'Create command' }).click()
  await page.getByText(/sluice agent join/).waitFor()
  await checkAxe('an enrollment command')

  await page.goto(`${server.origin}/rules`)
  await page.getByRole('button', { name: /Account/ }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await checkAxe('the sign-in')
  await page.getByLabel('User').fill(admin.user)
  await page.getByLabel('Password', { exact: true }).fill('a wrong password')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').waitFor()
  await page.getByLabel('Password', { exact: true }).fill(admin.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Rules' }).waitFor()

  await page.setViewportSize({ width: 390, height: 800 })
  t.same(await scrolledSideways(page), [], 'the page fits on a phone')
  await page
    .getByRole('list', { name: 'rules' })
    .getByRole('listitem')
    .first()
    .getByText('Traffic now')
    .waitFor()
  await server.kill()
  await page.getByText('The server does not respond').waitFor()
  await checkAxe('a lost server')

  t.same(errors, [], 'no errors and no CSP violations')
})
