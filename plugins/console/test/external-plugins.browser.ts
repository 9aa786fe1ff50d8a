// A rule field and a page of external plugins, in the rule form and in the palette.
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  axeFindings,
  callAs,
  completeSetup,
  freePort,
  openPage,
  skipReason,
  startAgent,
  startServer
} from './browser.ts'
import { getOnce, openTarget } from './seed.ts'

const folder = join(import.meta.dirname, '../../../test/third-party')

interface Rule {
  readonly rule_id: string
  readonly source_acl?: { readonly allow: string[]; readonly deny: string[] } | null
}

/** Installs two external plugins. Returns the configuration files of server and agent. */
function installPlugins(dir: string) {
  for (const name of ['source-acl', 'status-page'])
    cpSync(join(folder, name), join(dir, name), { recursive: true, filter: from => !from.endsWith('/test') })
  const server = join(dir, 'server.toml')
  const agent = join(dir, 'agent.toml')
  writeFileSync(server, '[plugins."./source-acl"]\n[plugins."./status-page"]\nowner = "admin"\n')
  writeFileSync(agent, '[plugins."./source-acl"]\n')
  return { server, agent }
}

t.test(
  'a rule field of an external plugin is offered, stored, shown and applied',
  { skip: skipReason },
  async t => {
    const dir = t.testdir()
    const configs = installPlugins(dir)
    const server = await startServer(join(dir, 'data'), {}, ['--config', configs.server])
    t.teardown(server.kill)
    const { page, errors, close } = await openPage()
    t.teardown(close)
    await completeSetup(page, server.link)
    const { uri } = await callAs<{ uri: string }>(page, 'POST', '/v1/client-enrollments', { name: 'paris' })
    const agent = startAgent(join(dir, 'paris'), uri, ['--config', configs.agent])
    t.teardown(agent.kill)
    const target = await openTarget(10)
    t.teardown(target.close)
    const port = await freePort()

    await page.goto(`${server.origin}/clients`)
    await page.getByRole('row').filter({ hasText: 'paris' }).getByText('connected', { exact: true }).waitFor()
    await page.goto(`${server.origin}/rules/new`)
    await page.getByLabel('Client', { exact: true }).selectOption({ label: 'local' })
    await page.getByText(/^Not available on local, .*: Source acl/).waitFor()
    await page.getByLabel('Client', { exact: true }).selectOption({ label: 'paris' })
    await page.getByLabel('Listen port').fill(String(port))
    await page.getByLabel('Target host', { exact: true }).fill('127.0.0.1')
    await page.getByLabel('Target port', { exact: true }).fill(String(target.port))
    await page.locator('summary', { hasText: 'More fields' }).click()
    const field = page.getByRole('group', { name: 'Source acl' })
    await field.getByText('Source addresses that may use the rule.').waitFor()
    await field.getByLabel('Deny').fill('192.0.2.1/24')
    await page.getByRole('button', { name: 'Create rule' }).click()
    await field.getByText(/has host bits/).waitFor()
    t.same(await axeFindings(page), [])
    await field.getByLabel('Deny').fill('127.0.0.0/8')
    await page.getByRole('button', { name: 'Create rule' }).click()
    await page.getByRole('heading', { level: 1, name: `paris:${port}/tcp` }).waitFor()
    await page.getByRole('definition').filter({ hasText: '127.0.0.0/8' }).waitFor()

    const [rule] = await callAs<Rule[]>(page, 'GET', '/v1/rules')
    t.same(rule?.source_acl, { allow: [], deny: ['127.0.0.0/8'] })
    await t.rejects(getOnce(port), 'a denied caller')

    await page.getByRole('link', { name: 'Edit' }).click()
    await page.getByRole('heading', { level: 1, name: 'Edit rule' }).waitFor()
    await field.getByLabel('Deny').fill('192.0.2.0/24')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('definition').filter({ hasText: '192.0.2.0/24' }).waitFor()
    await getOnce(port)

    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Search and commands' }).fill('visitors')
    await page.getByRole('option', { name: /Reports of visitors/ }).click()
    await page.getByRole('heading', { name: 'Reports of visitors' }).waitFor()
    t.same(errors, [])
  }
)
