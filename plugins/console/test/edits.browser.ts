// Edits of clients, grants, tokens, lists and settings, with edit conflicts.
import t, { type Test } from 'tap'
import {
  callAs,
  completeSetup,
  type OpenPage,
  openPage,
  type RunningServer,
  skipReason,
  startAgent,
  startServer
} from './browser.ts'

type Walk = Pick<OpenPage, 'page'> & { readonly t: Test; readonly server: RunningServer }

t.test(
  'an administrator edits records, also in conflict with somebody else',
  { skip: skipReason },
  async t => {
    const server = await startServer(`${t.testdir()}/data`)
    t.teardown(server.kill)
    const { page, errors, close } = await openPage()
    t.teardown(close)
    await completeSetup(page, server.link)
    const walk = { page, server }

    await t.test('an enrollment command can be created and cancelled', t => cancelsCommand({ ...walk, t }))
    await t.test('an enrollment key is shown once, and its pending client can be approved', t =>
      createsKey({ ...walk, t })
    )
    await t.test('a client can be edited in a conflict and gets a new command', t =>
      editsClient({ ...walk, t })
    )
    await t.test('a grant can be edited in a conflict and deleted', t => changesGrant({ ...walk, t }))
    await t.test('a token can be rotated', t => rotates({ ...walk, t }))
    await t.test('a source list can be edited in a conflict and deleted', t => editsList({ ...walk, t }))
    await t.test('the server address can be set in a conflict', t => setsEndpoint({ ...walk, t }))
    t.same(errors, [])
  }
)

/** Opens a page and waits for its title. */
async function open({ page, server }: Walk, path: string, title: string): Promise<void> {
  await page.goto(server.origin + path)
  await page.getByRole('heading', { name: title, exact: true, level: 1 }).waitFor()
}

/** Uses the last match, because the list behind the dialog may show one of the values, too. */
const both = async ({ page }: Walk, theirs: string, mine: string): Promise<void> => {
  for (const name of [theirs, mine]) await page.getByRole('cell', { name, exact: true }).last().waitFor()
}

async function cancelsCommand(walk: Walk): Promise<void> {
  const { page } = walk
  await open(walk, '/clients/new', 'Clients')
  await page.getByLabel('Name', { exact: true }).fill('lyon')
  await page.getByRole('button', { name: 'Create command' }).click()
  await page.getByText(/agent join/).waitFor()
  await page.getByText(/Valid for \d/).waitFor()

  await open(walk, '/clients', 'Clients')
  await page.getByRole('button', { name: 'Cancel the command for lyon' }).click()
  await page.getByRole('heading', { name: 'Commands not run yet' }).waitFor({ state: 'detached' })
}

async function createsKey(walk: Walk): Promise<void> {
  const { page, server, t } = walk
  await open(walk, '/clients', 'Clients')
  await page.getByRole('button', { name: 'Create key' }).click()
  const form = page.getByRole('dialog')
  await form.getByLabel('Label', { exact: true }).fill('web servers')
  await form.getByLabel('Uses').fill('2')
  await form.getByLabel('Clients wait for approval').check()
  await form.getByRole('button', { name: 'Create key' }).click()
  const command = await form.getByText(/sluice agent join/).textContent()
  await form.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('cell', { name: '0 / 2' }).waitFor()

  const agent = startAgent(`${t.testdir()}/agent`, /svc:[^']+/.exec(command ?? '')?.[0] ?? '')
  t.teardown(agent.kill)
  await page.getByRole('cell', { name: '1 / 2' }).waitFor()
  const clients = await callAs<{ client_id: string; state: string }[]>(page, 'GET', '/v1/clients')
  const pending = clients.find(({ state }) => state === 'pending')
  await page.goto(`${server.origin}/clients/${pending?.client_id}`)
  await page.getByRole('button', { name: 'Approve' }).click()
  await page.getByRole('button', { name: 'Approve' }).waitFor({ state: 'detached' })

  await open(walk, '/clients', 'Clients')
  await page.getByRole('button', { name: 'Delete the key web servers' }).click()
  await form.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('cell', { name: 'web servers', exact: true }).waitFor({ state: 'detached' })
  await agent.kill()
  await callAs(page, 'POST', `/v1/clients/${pending?.client_id}/revoke`)
  await callAs(page, 'DELETE', `/v1/clients/${pending?.client_id}`)
}

async function editsClient(walk: Walk): Promise<void> {
  const { page } = walk
  const [client] = await callAs<{ client_id: string }[]>(page, 'GET', '/v1/clients')
  const path = `/v1/clients/${client?.client_id}`
  await open(walk, `/clients/${client?.client_id}`, 'local')
  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  const form = page.getByRole('dialog')
  await form.getByLabel('Name', { exact: true }).fill('paris')
  await callAs(page, 'PATCH', path, { client_name: 'berlin', labels: { site: 'theirs' } })
  await form.getByRole('button', { name: 'Save' }).click()
  await both(walk, 'berlin', 'paris')
  await form.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('heading', { name: 'paris', level: 1 }).waitFor()
  await page.getByRole('definition').filter({ hasText: 'site=theirs' }).waitFor() // an unchanged field keeps their value

  await page.getByRole('button', { name: 'Enroll again' }).click()
  await form.getByRole('button', { name: 'Create command' }).click()
  await form.getByText(/Valid for \d/).waitFor()
  await page.keyboard.press('Escape')
}

async function changesGrant(walk: Walk): Promise<void> {
  const { page } = walk
  await callAs(page, 'POST', '/v1/users', { user_id: 'ann', display_name: 'Ann' })
  const { grant_id } = await callAs<{ grant_id: string }>(page, 'POST', '/v1/grants', {
    user_id: 'ann',
    client_id: '*',
    listen_port_start: 8000,
    listen_port_end: 8999,
    protocols: ['tcp'],
    targets: null
  })
  await open(walk, '/users/ann', 'ann')
  const form = page.getByRole('dialog')
  const menu = page.getByRole('button', { name: /^Actions for .*8000/ })
  await menu.click()
  await page.getByRole('menuitem', { name: 'Edit' }).click()
  await form.locator('[data-autofocus]:focus').waitFor() // the first field has the focus
  await form.getByLabel('Note').fill('for the shop')
  await callAs(page, 'PATCH', `/v1/grants/${grant_id}`, { note: 'for the office' })
  await form.getByRole('button', { name: 'Save' }).click()
  await both(walk, 'for the office', 'for the shop')
  await form.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('cell', { name: 'for the shop', exact: true }).waitFor()
  await menu.click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await form.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('cell', { name: 'for the shop', exact: true }).waitFor({ state: 'detached' })
}

async function rotates({ page, t }: Walk): Promise<void> {
  const form = page.getByRole('dialog')
  await page.getByRole('button', { name: 'Create token' }).click()
  await form.getByLabel('Label', { exact: true }).fill('deploy@ci')
  await form.getByRole('button', { name: 'Create', exact: true }).click()
  const token = form.getByText(/^svct_/)
  const first = await token.textContent()
  await form.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('button', { name: 'Actions for deploy@ci' }).click()
  await page.getByRole('menuitem', { name: 'Rotate' }).click()
  await form.getByText('Rotate the token deploy@ci?').waitFor()
  await form.getByRole('button', { name: 'Rotate' }).click()
  t.not(await token.textContent(), first)
  await form.getByRole('button', { name: 'Done' }).click()
  await token.waitFor({ state: 'detached' })
}

async function editsList(walk: Walk): Promise<void> {
  const { page } = walk
  await callAs(page, 'PUT', '/v1/source-lists/office', { entries: ['192.0.2.0/24'] })
  await open(walk, '/sources/office', '@office')
  await page.getByLabel('Addresses and prefixes').fill('198.51.100.0/24')
  await callAs(page, 'PUT', '/v1/source-lists/office', { entries: ['203.0.113.0/24'] })
  await page.getByRole('button', { name: 'Save list' }).click()
  await both(walk, '203.0.113.0/24', '198.51.100.0/24')
  await page.getByRole('button', { name: 'Save list' }).click()
  await page.getByText('List office saved.').waitFor()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No source lists yet.').waitFor()
}

async function setsEndpoint(walk: Walk): Promise<void> {
  const { page } = walk
  const set = (advertised_endpoint: string | null) =>
    callAs(page, 'PUT', '/v1/settings/advertised-endpoint', { advertised_endpoint })
  await open(walk, '/settings', 'Settings')
  await page.getByLabel('Custom address').fill('localhost:7443')
  await set('localhost:8443')
  await page.getByRole('button', { name: 'Save' }).click()
  await both(walk, 'localhost:8443', 'localhost:7443')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('set here').waitFor()
  await waitsForTheForm(walk)
}

/** A click in a form that is about to reload would be lost, so its buttons are disabled. */
async function waitsForTheForm({ page }: Walk): Promise<void> {
  const save = page.getByRole('button', { name: 'Save' })
  const read = Promise.withResolvers<void>()
  let isSaved = false // reads before the save belong to earlier changes
  await page.route('**/v1/settings/advertised-endpoint', async route => {
    if (route.request().method() !== 'GET') isSaved = true
    else if (isSaved) await read.promise
    await route.continue()
  })
  const clear = page.getByRole('button', { name: 'Use configuration' })
  await page.getByLabel('Custom address').fill('localhost:9443')
  await save.click()
  await clear.and(page.locator(':disabled')).waitFor()
  read.resolve()
  await clear.click()
  await page.getByText('this machine only').waitFor()
}
