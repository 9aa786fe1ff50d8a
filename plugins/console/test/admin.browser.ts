// Tasks of an administrator, and the view of a tenant, in Chromium with a real server and agent.
import { hostname } from 'node:os'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import {
  admin,
  axeFindings,
  completeSetup,
  freePort,
  type OpenPage,
  openPage,
  type RunningServer,
  skipReason,
  startServer
} from './browser.ts'
import { api, clientIdOf, getOnce, openTarget } from './seed.ts'
import { settled } from './walk.ts'

interface Walk {
  readonly t: Test
  readonly server: RunningServer
  readonly seen: OpenPage
  readonly page: Page
}

const own = { first: '', password: 'another long enough password' }

t.test('an administrator creates, limits and audits a tenant', { skip: skipReason }, async t => {
  const server = await startServer(`${t.testdir()}/data`)
  t.teardown(server.kill)
  const seen = await openPage()
  t.teardown(seen.close)
  await completeSetup(seen.page, server.link)
  const walk: Walk = { t, server, seen, page: seen.page }

  await t.test('a user gets a temporary password, a grant, a quota and a token', t =>
    createTenant({ ...walk, t })
  )
  await t.test('a rule of the tenant uses most of the quota', t => useQuota({ ...walk, t }))
  await t.test('bans and source lists can be managed', t => manageAccess({ ...walk, t }))
  await t.test('settings can be changed and plugins listed', t => changeSettings({ ...walk, t }))
  await t.test('the audit log can be filtered and followed', t => readAuditLog({ ...walk, t }))
  await t.test('an edit conflict shows both versions', t => editInConflict({ ...walk, t }))
  await t.test('a tenant sees only their own records', t => browseAsTenant({ ...walk, t }))
  await t.test('deleting a user names the affected records', t => deleteUser({ ...walk, t }))
  t.same(seen.errors, [], 'no errors and no CSP violations')
})

/** Expects no axe findings in both themes. */
async function checkAxe({ t, page }: Pick<Walk, 't' | 'page'>, what: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    t.same(await axeFindings(page), [], `${what}, ${colorScheme}`)
  }
}

async function open({ page, server }: Walk, path: string, title: string): Promise<void> {
  await page.goto(server.origin + path)
  await page.getByRole('heading', { name: title, exact: true, level: 1 }).waitFor()
  await settled(page)
}

async function createTenant(walk: Walk): Promise<void> {
  const { page, t } = walk
  await open(walk, '/users', 'Users')
  await checkAxe(walk, 'the users')
  await page.getByRole('link', { name: 'New user' }).click()
  const form = page.getByRole('dialog')
  await form.getByLabel('User', { exact: true }).fill('Ann!')
  await form.getByLabel('Display name').fill('Ann Miller')
  await form.getByLabel('Labels').fill('team=data')
  await form.getByRole('button', { name: 'Create user' }).click()
  await form.getByLabel('User', { exact: true }).and(page.locator('[aria-invalid=true]')).waitFor()
  await checkAxe(walk, 'a new user with an invalid id')
  await form.getByLabel('User', { exact: true }).fill('ann')
  await form.getByRole('button', { name: 'Create user' }).click()
  await form.getByText('Temporary password of ann').waitFor()
  await checkAxe(walk, 'a temporary password')
  own.first = (await form.locator('code').textContent()) ?? ''
  t.ok(own.first.length >= 12)
  await form.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('heading', { name: 'ann', level: 1 }).waitFor()
  await page.getByText(own.first).waitFor({ state: 'detached' }) // shown only once

  await page.getByRole('button', { name: 'New grant' }).click()
  await form.getByLabel('First port').fill('1')
  await form.getByLabel('Last port').fill('65535')
  await form.getByLabel('Targets').fill('nowhere:here')
  await form.getByRole('button', { name: 'Create grant' }).click()
  await form.getByLabel('Targets').and(page.locator('[aria-invalid=true]')).waitFor()
  await form.getByLabel('Targets').fill('')
  await form.getByRole('button', { name: 'Create grant' }).click()
  await page.getByRole('cell', { name: 'all clients', exact: true }).waitFor()

  await page.getByRole('button', { name: 'Set quota' }).click()
  await form.getByLabel('Bytes per month').fill('0.1')
  await form.getByLabel('Unit').selectOption('MB')
  await checkAxe(walk, 'the quota form')
  await form.getByRole('button', { name: 'Set quota' }).click()
  await page.getByRole('cell', { name: /of 100 kB/ }).waitFor()

  await page.getByText('No limits on this client.').waitFor()
  await page.getByRole('button', { name: 'Set limits' }).click()
  await form.getByLabel('Bandwidth out').fill('80 Mbit/s')
  await checkAxe(walk, 'the limits form')
  await form.getByRole('button', { name: 'Save' }).click()
  await page.getByText('80 Mbit/s', { exact: true }).waitFor()
  await page.getByText('Bandwidth in').waitFor({ state: 'detached' }) // only what is set
  await page.getByRole('button', { name: 'Change limits' }).click()
  await form.getByRole('button', { name: 'Remove limits' }).waitFor()
  await page.keyboard.press('Escape')

  await page.getByRole('button', { name: 'Create token' }).click()
  await form.getByLabel('Label').fill('deploy@ci')
  await form.getByRole('button', { name: 'Create', exact: true }).click()
  await form.getByText(/^svct_/).waitFor()
  await checkAxe(walk, 'a new token')
  await form.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('cell', { name: 'deploy@ci', exact: true }).waitFor()
  await page.getByText(/^svct_/).waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Actions for deploy@ci' }).click()
  await page.getByRole('menuitem', { name: 'Revoke' }).click()
  await form.getByText('Revoke the token deploy@ci?').waitFor()
  await form.getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('cell', { name: 'revoked', exact: true }).waitFor()
  await checkAxe(walk, 'a user')
}

async function useQuota(walk: Walk): Promise<void> {
  const { page, t } = walk
  const target = await openTarget(85_000)
  t.teardown(target.close)
  const port = await freePort()
  const targets = [{ host: '127.0.0.1', port: target.port }]
  await api(page, 'POST', '/v1/rules', {
    client: await clientIdOf(page),
    owner: 'ann',
    listen_port: port,
    targets
  })
  await getOnce(port)

  await open(walk, '/quotas', 'Quotas')
  await page.getByRole('cell', { name: 'nearly used up', exact: true }).waitFor({ timeout: 30_000 })
  await page.getByRole('cell', { name: /85%: 85\.\d kB of 100 kB/ }).waitFor()
  await checkAxe(walk, 'the quotas')
  await open(walk, '/traffic?user=ann&range=hour', 'Traffic')
  await page.getByRole('img', { name: /Throughput: In up to/ }).waitFor()
  await page
    .getByRole('cell', { name: /85\.\d kB/ })
    .first()
    .waitFor()
  await checkAxe(walk, 'the traffic')
  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download CSV' }).click()
  t.equal((await download).suggestedFilename(), 'traffic-ann-hour.csv')

  await open(walk, '/quotas', 'Quotas')
  await page.getByRole('button', { name: /^Actions for Quota of ann/ }).click()
  await page.getByRole('menuitem', { name: 'Reset usage' }).click()
  const form = page.getByRole('dialog')
  await form.getByText(/now 85\.\d kB/).waitFor()
  await form.getByRole('button', { name: 'Reset usage' }).click()
  await page.getByRole('cell', { name: '0%: 0 B of 100 kB', exact: true }).waitFor()
}

async function manageAccess(walk: Walk): Promise<void> {
  const { page } = walk
  const form = page.getByRole('dialog')
  await open(walk, '/bans/new', 'Bans')
  await form.getByLabel('Source', { exact: true }).fill('0.0.0.0/0')
  await form.getByRole('button', { name: 'Ban' }).click()
  await form.getByLabel('Source', { exact: true }).and(page.locator('[aria-invalid=true]')).waitFor()
  await form.getByLabel('Source', { exact: true }).fill('203.0.113.9')
  await form.getByLabel(/^Reason/).fill('scans ports')
  await checkAxe(walk, 'the ban form')
  await form.getByRole('button', { name: 'Ban' }).click()
  await page.getByRole('cell', { name: 'scans ports', exact: true }).waitFor()
  await checkAxe(walk, 'the bans')
  await page.getByRole('button', { name: 'Lift' }).click()
  await form.getByRole('button', { name: 'Lift' }).click()
  await page.getByText('No active bans.').waitFor()
  await page.getByLabel('Show', { exact: true }).selectOption('Last 30 days')
  await page.getByRole('cell', { name: 'lifted by admin', exact: true }).waitFor()

  await open(walk, '/sources/new', 'Source lists')
  await form.getByLabel('Name').fill('office')
  await form.getByLabel('Addresses and prefixes').fill('192.0.2.0/24 # the first floor\n2001:db8::/32')
  await form.getByRole('button', { name: 'Save list' }).click()
  await page.getByRole('heading', { name: '@office' }).waitFor()
  await page.getByLabel('Addresses and prefixes').fill('192.0.2.0/33')
  await page.getByRole('button', { name: 'Save list' }).click()
  await page.getByLabel('Addresses and prefixes').and(page.locator('[aria-invalid=true]')).waitFor()
  await checkAxe(walk, 'an invalid source list')
  await open(walk, '/sources', 'Source lists')
  await page.getByRole('cell', { name: '@office', exact: true }).waitFor()
  await checkAxe(walk, 'the source lists')
}

async function changeSettings(walk: Walk): Promise<void> {
  const { page } = walk
  await open(walk, '/settings', 'Settings')
  await page.getByText(/^[0-9a-f]{64}$/).waitFor()
  const servers = page.getByRole('group', { name: 'Servers' }).getByRole('row')
  await servers.filter({ has: page.getByRole('cell', { name: hostname() }) }).waitFor()
  walk.t.equal(await servers.count(), 2, 'the head row and a single server')
  await page.getByLabel('Custom address').fill('nowhere.example:7443')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByLabel('Custom address').and(page.locator('[aria-invalid=true]')).waitFor()
  await checkAxe(walk, 'settings with an invalid address')
  await page.getByLabel('Custom address').fill('localhost:7443')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('set here').waitFor()
  await page.getByRole('button', { name: 'Use configuration' }).click()
  await page.getByText('this machine only').waitFor()

  await open(walk, '/plugins', 'Plugins')
  await checkAxe(walk, 'the plugins')
  await page.getByLabel('Search plugins').fill('quota')
  await page.getByRole('link', { name: 'quota', exact: true }).click()
  await page.getByText('quota_hold_secs').waitFor()
  await checkAxe(walk, 'a plugin')
}

async function readAuditLog(walk: Walk): Promise<void> {
  const { page, t } = walk
  await open(walk, '/audit', 'Audit log')
  await page.getByRole('cell', { name: 'settings.update', exact: true }).first().waitFor()
  await checkAxe(walk, 'the audit log can be filtered and followed')
  await page.getByLabel('Action').fill('quota.*')
  await page.getByRole('button', { name: 'Filter', exact: true }).click()
  await page.getByRole('cell', { name: 'quota.update', exact: true }).waitFor()
  t.equal(await page.getByRole('cell', { name: 'user.create', exact: true }).count(), 0)
  await page.getByRole('row').filter({ hasText: 'quota.update' }).getByRole('button').click()
  await page.getByRole('dialog').getByText('PATCH /v1/users/ann/quotas/').waitFor()
  await checkAxe(walk, 'an audit entry')
  await page.keyboard.press('Escape')
  await api(page, 'DELETE', `/v1/users/ann/quotas/${await clientIdOf(page)}`)
  await page.getByRole('cell', { name: 'quota.delete', exact: true }).waitFor() // live
  await page.getByLabel('User').fill('nobody-of-this-name')
  await page.getByRole('button', { name: 'Filter', exact: true }).click()
  await page.getByText('No entries match.').waitFor()
}

async function editInConflict(walk: Walk): Promise<void> {
  const { page } = walk
  await open(walk, '/users/ann', 'ann')
  await page.getByRole('button', { name: 'Edit', exact: true }).first().click()
  const form = page.getByRole('dialog')
  await form.getByLabel('Display name').fill('Ann of mine')
  await api(page, 'PATCH', '/v1/users/ann', { display_name: 'Ann of theirs' })
  await form.getByRole('button', { name: 'Save' }).click()
  await form.getByRole('cell', { name: 'Ann of theirs', exact: true }).waitFor()
  await form.getByRole('cell', { name: 'Ann of mine', exact: true }).waitFor()
  await checkAxe(walk, 'an edit conflict')
  await form.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Ann of mine').waitFor()
}

async function browseAsTenant({ t, server }: Walk): Promise<void> {
  const seen = await openPage({ viewport: { width: 390, height: 800 } })
  t.teardown(seen.close)
  const { page } = seen
  const walk: Walk = { t, server, seen, page }
  const refused: string[] = []
  page.on('response', response => {
    if (response.status() === 403) refused.push(response.url())
  })
  await page.goto(`${server.origin}/account`)
  await page.getByLabel('User').fill('ann')
  await page.getByLabel('Password', { exact: true }).fill(own.first)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('Your password is temporary').waitFor()
  await checkAxe(walk, 'the form for a temporary password')
  refused.length = 0
  await page.getByLabel('Current password').fill(own.first)
  await page.getByLabel('New password', { exact: true }).fill(own.password)
  await page.getByLabel('Repeat new password').fill(own.password)
  await page.getByRole('button', { name: 'Change password' }).click()
  await page.getByRole('heading', { name: 'My account' }).waitFor()

  await page.getByRole('listitem').filter({ hasText: 'all clients' }).waitFor()
  await page.getByText('80 Mbit/s', { exact: true }).waitFor()
  await checkAxe(walk, 'the account of a tenant')
  await page.getByRole('button', { name: 'Create token' }).click()
  await page.getByRole('dialog').getByLabel('Label').fill('laptop')
  await page.getByRole('dialog').getByRole('button', { name: 'Create', exact: true }).click()
  await page
    .getByRole('dialog')
    .getByText(/^svct_/)
    .waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Done' }).click()
  await open(walk, '/quotas', 'Quotas')
  t.equal(await page.getByRole('link', { name: 'Set quota' }).count(), 0)
  await checkAxe(walk, 'the quotas of a tenant')
  await open(walk, '/traffic?range=hour', 'Traffic')
  await page.getByRole('img', { name: /Throughput: In up to/ }).waitFor()
  await checkAxe(walk, 'the traffic of a tenant')
  for (const path of ['/users', '/audit', '/settings', '/plugins', '/bans', '/sources']) {
    await page.goto(server.origin + path)
    await page.getByRole('heading', { name: 'Page not found' }).waitFor()
  }
  const links = await page
    .getByRole('navigation', { includeHidden: true })
    .getByRole('link', { includeHidden: true })
    .allTextContents()
  t.same(
    links.filter(name => /Users|Audit|Settings|Plugins|Bans|Source/.test(name)),
    []
  )
  t.same(refused, [], 'no request is forbidden')
  t.same(seen.errors, [])
}

async function deleteUser(walk: Walk): Promise<void> {
  const { page, t } = walk
  await open(walk, '/users/ann', 'ann')
  await page.getByRole('button', { name: 'Delete user' }).click()
  const form = page.getByRole('dialog')
  await form.getByText(/1 rule, 1 grant, 1 token/).waitFor()
  await form.getByText('Open connections that will be closed: 0').waitFor()
  await checkAxe(walk, 'the confirmation of a deletion')
  await form.getByRole('button', { name: 'Delete user' }).click()
  await page.getByRole('heading', { name: 'Users' }).waitFor()
  await page.getByRole('cell', { name: 'ann', exact: true }).waitFor({ state: 'detached' })
  await open(walk, '/account', 'My account')
  await page.getByRole('cell', { name: /this session/ }).waitFor()
  await checkAxe(walk, 'the account of an administrator')
  await page.getByLabel('Language').selectOption('Deutsch')
  await page.getByRole('heading', { name: 'Mein Konto' }).waitFor()
  t.ok(admin.user)
}
