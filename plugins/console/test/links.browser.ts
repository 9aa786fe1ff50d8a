// Links in the console: endpoints, rules with a path, the page of links, exit grants.
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import {
  axeFindings,
  callAs,
  completeSetup,
  freePort,
  openPage,
  signIn,
  skipReason,
  startAgent,
  startServer
} from './browser.ts'
import { openTarget } from './seed.ts'
import { scrolledSideways, settled } from './walk.ts'

const widths = [390, 1280, 1440, 1920]
const tenant = { user: 'ann', password: 'a password of a tenant' }

/** Checks the page at each width and in both themes. */
async function checkPage(t: Test, page: Page, what: string): Promise<void> {
  await settled(page)
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 })
    t.same(await scrolledSideways(page), [], `${what}: ${width} px`)
  }
  await page.setViewportSize({ width: 1280, height: 800 })
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    t.same(await axeFindings(page), [], `${what}: ${colorScheme}: axe`)
  }
}

/** Starts an agent and waits until it is connected. */
async function addClient(t: Test, page: Page, name: string) {
  const { uri } = await callAs<{ uri: string }>(page, 'POST', '/v1/client-enrollments', { name })
  const agent = startAgent(join(t.testdirName, name), uri)
  t.teardown(agent.kill)
  await page.goto(`${new URL(page.url()).origin}/clients`)
  const row = page.getByRole('main').getByRole('row').filter({ hasText: name })
  await row.getByText('connected', { exact: true }).waitFor()
  const all = await callAs<{ client_id: string; client_name: string }[]>(page, 'GET', '/v1/clients')
  return { id: all.find(({ client_name }) => client_name === name)?.client_id ?? '', kill: agent.kill }
}

t.test('links in the console', { skip: skipReason, timeout: 300_000 }, async t => {
  const server = await startServer(join(t.testdir(), 'data'))
  t.teardown(server.kill)
  const { page, errors, close } = await openPage()
  t.teardown(close)
  const main = page.getByRole('main')
  const dialog = page.getByRole('dialog')
  const { origin } = server
  const open = async (path: string): Promise<void> => {
    await page.goto(origin + path)
    await settled(page)
  }
  await completeSetup(page, server.link)
  const { id: lyon } = await addClient(t, page, 'lyon')
  const { id: oslo, kill: killOslo } = await addClient(t, page, 'oslo')
  const target = await openTarget(100)
  t.teardown(target.close)
  const port = await freePort()

  await t.test('the page of links says what a link is while there is none', async t => {
    await open('/')
    await page.getByRole('navigation').getByRole('link', { name: 'Links' }).click()
    await main.getByText('A link is an encrypted path between two clients.').waitFor()
    await checkPage(t, page, 'no links')
  })

  await t.test('a rule without a way to its exit is refused at the field of the path', async t => {
    await open('/rules/new')
    await main.getByLabel('Listen port').fill(String(port))
    await main.getByLabel('Target host', { exact: true }).fill('127.0.0.1')
    await main.getByLabel('Target port', { exact: true }).fill(String(target.port))
    const through = main.getByLabel('Through', { exact: true })
    t.same(await through.locator('option').allTextContents(), ['directly', 'lyon', 'oslo'])
    await through.selectOption('lyon')
    await main.getByRole('button', { name: 'Create rule' }).click()
    await main.getByText('Neither of two neighbors on the path listens for links.').waitFor()
    t.equal(await through.getAttribute('aria-invalid'), 'true')
    await checkPage(t, page, 'a refused path')
  })

  await t.test('an endpoint is set on the page of the client', async t => {
    await open(`/clients/${lyon}`)
    await main.getByText('This client does not listen for links.').waitFor()
    await main.getByRole('button', { name: 'Set endpoint' }).click()
    await dialog.getByLabel('Port').fill('70000')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('Give a port from 1 to 65535').waitFor()
    t.equal(await dialog.getByLabel('Port').getAttribute('aria-invalid'), 'true')
    t.equal(await dialog.getByLabel('Hosts to dial').getAttribute('aria-invalid'), null)
    await dialog.getByLabel('Port').fill(String(await freePort()))
    await dialog.getByLabel('Hosts to dial').fill('127.0.0.1')
    t.same(await axeFindings(page), [])
    await dialog.getByRole('button', { name: 'Save' }).click()
    await main.getByText('Is dialed at').waitFor()
    await checkPage(t, page, 'an endpoint')
    await callAs(page, 'PATCH', `/v1/clients/${oslo}`, {
      link: { port: await freePort(), hosts: ['127.0.0.1'] }
    })
  })

  await t.test('the form of a rule sends the path, and its page shows each hop', async t => {
    await open('/rules/new')
    await main.getByLabel('Listen port').fill(String(port))
    await main.getByLabel('Target host', { exact: true }).fill('127.0.0.1')
    await main.getByLabel('Target port', { exact: true }).fill(String(target.port))
    await main.getByLabel('Through', { exact: true }).selectOption('lyon')
    await main.getByLabel('Then through (2)').selectOption('oslo')
    await main.getByRole('button', { name: 'Create rule' }).click()
    const path = main.getByRole('list', { name: 'Through' })
    await path.getByText(/lyonup, \d/).waitFor()
    await path.getByText(/osloup, \d/).waitFor()
    const caller = connect(port, '127.0.0.1')
    await once(caller, 'connect')
    caller.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
    await once(caller, 'data')
    await main.getByRole('row').filter({ hasText: '→ lyon → oslo' }).waitFor()
    await checkPage(t, page, 'a rule with a path')
    caller.destroy()
  })

  await t.test('a target may have a path of its own, or none', async t => {
    await page.getByRole('link', { name: 'Edit' }).click()
    await main.getByRole('button', { name: 'Add target' }).click()
    await main.getByLabel('Target host 2').fill('127.0.0.1')
    await main.getByLabel('Target port 2').fill(String(target.port))
    await main.getByLabel('Through 2', { exact: true }).selectOption('directly')
    await checkPage(t, page, 'the path of a target')
    await main.getByRole('button', { name: 'Save' }).click()
    await main.getByRole('heading', { name: 'Targets' }).waitFor()
    const [rule] = await callAs<{ via: string[]; targets: { via?: null }[] }[]>(page, 'GET', '/v1/rules')
    t.same(rule?.via, [lyon, oslo])
    t.same(
      rule?.targets.map(({ via }) => via),
      [undefined, null]
    )
  })

  await t.test('the page of links shows state and rules, changes settings and measures', async t => {
    await open('/links')
    const link = main.getByRole('row').filter({ hasText: 'lyon → oslo' })
    await link.getByText('up', { exact: true }).waitFor()
    await checkPage(t, page, 'links')
    await main.getByRole('button', { name: 'Actions for lyon → oslo' }).click()
    await page.getByRole('menuitem', { name: 'Settings' }).click()
    await dialog.getByLabel('Direction').selectOption('direct')
    await dialog.getByLabel('Note (optional)').fill('new uplink')
    t.same(await axeFindings(page), [])
    await dialog.getByRole('button', { name: 'Save' }).click()
    await link.getByText('lyon dials', { exact: true }).waitFor()
    await main.getByRole('button', { name: 'Actions for lyon → oslo' }).click()
    await page.getByRole('menuitem', { name: 'Test' }).click()
    await dialog.getByRole('button', { name: 'Test' }).click()
    await dialog.getByText('The link works.').waitFor()
    t.same(await axeFindings(page), [])
    await page.keyboard.press('Escape')
    await open(`/links?client=${oslo}&state=up`)
    t.equal(await main.getByRole('row').filter({ hasText: '→' }).count(), 1)
    await link.getByRole('link', { name: '1', exact: true }).click()
    await main.getByRole('button', { name: 'Remove filter: Link: lyon → oslo' }).waitFor()
    t.equal(await main.getByRole('link', { name: String(port) }).count(), 1)
  })

  await t.test('the page of a client rotates its key and removes its endpoint', async t => {
    await open(`/clients/${lyon}`)
    await main.getByRole('button', { name: 'Rotate link key' }).click()
    await dialog.getByRole('button', { name: 'Rotate link key' }).click()
    await page.getByText('The agent makes a new link key.').waitFor()
    await main.getByRole('button', { name: 'Remove endpoint' }).click()
    await dialog.getByRole('button', { name: 'Remove endpoint' }).click()
    await main.getByText('This client does not listen for links.').waitFor()
    const { link } = await callAs<{ link: object | null }>(page, 'GET', `/v1/clients/${lyon}`)
    t.equal(link, null)
  })

  await t.test('an exit grant is created, and the form offers its client to the user', async t => {
    const user = { user_id: tenant.user, display_name: 'Ann', initial_password: tenant.password }
    await callAs(page, 'POST', '/v1/users', { ...user, password_change_required: false })
    const [local] = (
      await callAs<{ client_id: string; client_name: string }[]>(page, 'GET', '/v1/clients')
    ).filter(({ client_name }) => client_name === 'local')
    await callAs(page, 'POST', '/v1/grants', {
      user_id: tenant.user,
      client_id: local?.client_id,
      listen_port_start: 1024,
      listen_port_end: 65_535,
      protocols: ['tcp']
    })
    await open(`/users/${tenant.user}`)
    await main.getByRole('button', { name: 'New grant' }).click()
    await dialog.getByLabel('Allows').selectOption('exit')
    await dialog.getByLabel('Client', { exact: true }).selectOption('oslo')
    await dialog.getByRole('checkbox', { name: 'local' }).check()
    t.same(await axeFindings(page), [])
    await dialog.getByRole('button', { name: 'Create grant' }).click()
    await main.getByText('For rules on: local').waitFor()
    await checkPage(t, page, 'an exit grant')

    const seen = await openPage()
    t.teardown(seen.close)
    await seen.page.goto(`${origin}/rules/new`)
    await signIn(seen.page, tenant)
    await settled(seen.page)
    await seen.page.getByLabel('Client', { exact: true }).selectOption('local')
    const through = seen.page.getByLabel('Through', { exact: true })
    t.same(await through.locator('option').allTextContents(), ['directly', 'oslo'])
    t.same(seen.errors, [])
  })

  await t.test(
    'a path through a client that is offline is refused at its field, or waits for it',
    async t => {
      await killOslo()
      await open('/rules/new')
      await main.getByLabel('Client', { exact: true }).selectOption('local')
      await main.getByLabel('Listen port').fill(String(await freePort()))
      await main.getByLabel('Target host', { exact: true }).fill('127.0.0.1')
      await main.getByLabel('Target port', { exact: true }).fill(String(target.port))
      const through = main.getByLabel('Through', { exact: true })
      await through.locator('option', { hasText: 'oslo (offline)' }).waitFor({ state: 'attached' })
      await through.selectOption({ label: 'oslo (offline)' })
      await main.getByRole('button', { name: 'Create rule' }).click()
      await main.locator('[name=via][aria-invalid=true]').waitFor()
      await main.getByLabel('Save the rule now and apply it when oslo is back online').check()
      await main.getByRole('button', { name: 'Create rule' }).click()
      await main.getByText('pending', { exact: true }).first().waitFor()
      const [rule] = await callAs<{ via: string[] }[]>(page, 'GET', '/v1/rules?state=pending')
      t.same(rule?.via, [oslo])
    }
  )

  t.same(errors, [])
})
