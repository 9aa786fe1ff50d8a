// Takes screenshots of every page in dist/screenshots: npm run screenshots. Pages with records at all widths in both themes.
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import {
  callAs,
  completeSetup,
  freePort,
  openPage,
  signIn,
  skipReason,
  startAgent,
  startServer
} from './browser.ts'
import { fill, tenant } from './fill.ts'
import { clientIdOf, openTarget } from './seed.ts'
import { settled, walk } from './walk.ts'

if (skipReason) throw new Error(skipReason)
const root = join(import.meta.dirname, '../../..')
const out = join(root, 'dist/screenshots')
rmSync(out, { recursive: true, force: true })
mkdirSync(out, { recursive: true })
const data = mkdtempSync(join(root, '.sluice-test-screenshots-'))
const server = await startServer(join(data, 'data'))
const { page, close } = await openPage()
const { origin } = server
const main = page.getByRole('main')
const dialog = page.getByRole('dialog')

const light = ['light', 1280, 'light'] as const
const phone = ['phone', 390, 'light'] as const
const allForms = [light, ['dark', 1280, 'dark'], phone] as const
const everyForm: Forms = [390, 1280, 1440, 1920].flatMap(width =>
  (['light', 'dark'] as const).map(scheme => [`${width}-${scheme}`, width, scheme] as const)
)

const button = (name: string | RegExp) => () => main.getByRole('button', { name }).first().click()

/** Opens the menu of a row and clicks an item. */
const item = (row: string | RegExp, name: string) => async () => {
  await button(row)()
  await page.getByRole('menuitem', { name, exact: true }).click()
}

const anyRule = async (): Promise<{ readonly listen_port: number }> => {
  const [rule] = await callAs<{ listen_port: number }[]>(page, 'GET', '/v1/rules?limit=1')
  if (!rule) throw new Error('there is no rule')
  return rule
}

const fileOf = (name: string): string => name.toLowerCase().replaceAll(' ', '-')

try {
  await page.goto(server.link)
  await page.getByRole('heading', { name: 'Welcome' }).waitFor()
  await picture('setup')
  await completeSetup(page, server.link)
  await all('empty-')
  await fill(page)
  await all('', everyForm)
  await overPages()
  await rulesAndForms()
  await dialogs()
  await withTraffic()
  await clientOffline()
  await notThere()
  await inGerman()
  await page.getByRole('button', { name: /Account/ }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await picture('sign-in')
  await signIn(page, tenant)
  await page.getByRole('navigation').waitFor()
  await all('tenant-')
  await server.kill()
  await page.getByText('The server does not respond').waitFor()
  await picture('lost')
} finally {
  await close()
  await server.kill()
  rmSync(data, { recursive: true })
}

async function all(prefix: string, forms?: Forms): Promise<void> {
  const seen = await walk(page, origin, ({ name }) => picture(prefix + name, forms))
  console.log(`${prefix || 'filled-'}* ${seen.join(' ')}`)
}

async function open(path: string): Promise<void> {
  await page.goto(origin + path)
  await settled(page)
}

/** Opens a dialog, takes screenshots of it and closes it. */
async function asked(name: string, press: () => Promise<void>): Promise<void> {
  await press()
  await dialog.locator('form, p, ul, dl, table').first().waitFor()
  await picture(name, [light, phone])
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
}

/** Overlays and the page for unknown paths. */
async function overPages(): Promise<void> {
  await page.goto(`${origin}/nowhere`)
  await page.getByRole('heading', { name: 'Page not found' }).waitFor()
  await picture('not-found')
  await asked('keys', () => page.keyboard.press('?'))
  await page.keyboard.press('Control+k')
  await dialog.getByRole('combobox').fill('lo')
  await picture('palette')
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: /Account/ }).click()
  await page.getByRole('menu').waitFor()
  await picture('account-menu')
  await page.keyboard.press('Escape')
}

async function rulesAndForms(): Promise<void> {
  await open('/rules')
  await main.getByRole('searchbox').fill('nothing like it')
  await picture('rules-none-found', [light])
  await open('/rules?state=paused&owner=ann')
  await picture('rules-filtered', [light, phone])
  await open('/rules')
  await main.getByRole('checkbox').nth(1).check()
  await picture('rules-selected', [light, phone])
  await asked('rules-delete', button('Delete'))
  await button('Columns')()
  await page.getByRole('menu').waitFor()
  await picture('rules-columns', [light])

  await open('/rules/new')
  for (const [value, name] of [
    ['ids', 'clients'],
    ['selector', 'selector']
  ] as const) {
    await main.getByLabel('Run on').selectOption(value)
    await picture(`rule-form-${name}`, [light, phone])
  }
  await open('/rules/new')
  await button('Add target')()
  await unfold()
  await main.getByLabel('Load balancing', { exact: true }).selectOption({ index: 2 })
  await picture('rule-form-all', allForms)
  await main.getByLabel('Protocol').selectOption('udp')
  await picture('rule-form-udp', [light, phone])
  await open('/rules/new')
  const { listen_port } = await anyRule()
  await main.getByLabel('Listen port').fill(String(listen_port))
  await main.getByLabel('Target host', { exact: true }).fill('127.0.0.1')
  await main.getByLabel('Target port', { exact: true }).fill('80')
  await button('Create rule')()
  await main.locator('[aria-invalid=true]').first().waitFor()
  await picture('rule-form-refused', [light, phone])
}

async function dialogs(): Promise<void> {
  await open('/clients/new')
  await dialog.getByLabel('Name', { exact: true }).fill('oslo')
  await asked('client-command', () => dialog.getByRole('button', { name: 'Create command' }).click())
  await open('/clients')
  await picture('clients-pending', [light, phone])
  await open(`/clients/${await clientIdOf(page)}`)
  for (const name of ['Edit', 'Enroll again', 'Revoke']) await asked(`client-${fileOf(name)}`, button(name))
  await open('/users/ann')
  await picture('user-ann')
  for (const name of ['New grant', 'Create token', 'Edit']) await asked(`user-${fileOf(name)}`, button(name))
  for (const name of ['Edit', 'Delete'])
    await asked(`grant-${fileOf(name)}`, item(/^Actions for all clients/, name))
  for (const name of ['Edit', 'Reset usage', 'Delete'])
    await asked(`quota-${fileOf(name)}`, item(/^Actions for Quota/, name))
  await asked('token-revoke', item('Actions for grafana', 'Revoke'))
  await asked('user-reset', button('Reset password'))
  await asked('user-delete', button('Delete user'))
  await open('/audit')
  await asked('audit-details', button('Details'))
  await open('/sources/office')
  await asked('source-list-delete', button('Delete'))
  await open('/account')
  await asked('password', button('Change password'))
  await open('/bans')
  await asked('ban-lift', button('Lift'))
  await asked('under-attack', button('Under attack: tighten all limits'))
  await callAs(page, 'PUT', '/v1/under-attack', { for_secs: 3600 })
  await page.getByText('Limits are tightened').waitFor()
  await picture('under-attack-on', [light, phone])
}

/** Charts and connections with traffic. */
async function withTraffic(): Promise<void> {
  const target = await openTarget(1000)
  const port = await freePort()
  const { rule_id } = await callAs<{ rule_id: string }>(page, 'POST', '/v1/rules', {
    client: await clientIdOf(page),
    listen_port: port,
    targets: [{ host: '127.0.0.1', port: target.port }]
  })
  const callers = Array.from({ length: 5 }, () => connect(port, '127.0.0.1'))
  await Promise.all(callers.map(caller => once(caller, 'connect')))
  for (const caller of callers) caller.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  await open('/connections')
  await main.getByRole('row').nth(5).waitFor()
  await picture('connections-open')
  await open('/')
  await main.locator('canvas').nth(1).waitFor({ timeout: 60_000 })
  await picture('overview-charts')
  await open(`/rules/${rule_id}`)
  await main.locator('canvas').nth(1).waitFor({ timeout: 60_000 })
  await button('Check')()
  await page.getByText('The connection is forwarded.').waitFor()
  await picture('rule-charts')
  for (const caller of callers) caller.destroy()
  target.close()
}

/** An offline client with a rule. */
async function clientOffline(): Promise<void> {
  const { uri } = await callAs<{ uri: string }>(page, 'POST', '/v1/client-enrollments', { name: 'lyon' })
  const agent = startAgent(join(data, 'lyon'), uri)
  await open('/clients')
  await main.getByRole('row').filter({ hasText: 'lyon' }).getByText('connected', { exact: true }).waitFor()
  await callAs(page, 'POST', '/v1/rules', {
    client: 'lyon',
    listen_port: await freePort(),
    targets: [{ host: 'db.example', port: 5432 }]
  })
  await agent.kill()
  await main.getByRole('row').filter({ hasText: 'lyon' }).getByText('disconnected').waitFor()
  await picture('clients-offline', [light, phone])
  await main.getByRole('link', { name: 'lyon' }).click()
  await main.getByRole('heading', { name: 'Rules' }).waitFor()
  await settled(page)
  await picture('client-offline', [light, phone])
  await open('/')
  await picture('overview-offline', [light, phone])
}

/** A page that loads, and one that fails. */
async function notThere(): Promise<void> {
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
  await page.route(
    url => url.pathname === '/v1/users',
    async route => {
      await answered
      await route.fulfill({ status: 500, json: { error: { code: 'internal', message: 'It broke.' } } })
    }
  )
  await page.goto(`${origin}/users`)
  await main.locator('[aria-busy=true]').waitFor()
  await picture('loading', [light, phone], 'unsettled')
  answer()
  await main.getByRole('alert').waitFor()
  await picture('failed', [light, phone])
  await page.unrouteAll({ behavior: 'ignoreErrors' })
}

async function inGerman(): Promise<void> {
  const choose = (language: string) =>
    page.evaluate(language => {
      const { localStorage } = globalThis as unknown as { localStorage: Map<string, string> & Stored }
      localStorage.setItem('sluice.language', language)
    }, language)
  await choose('de')
  await all('german-', [light, phone])
  await open('/rules/new')
  await unfold()
  await picture('german-rule-form-all', [light, phone])
  await open('/users/ann')
  await picture('german-user-ann', [light, phone])
  await choose('en')
  await open('/')
}

interface Stored {
  setItem(key: string, value: string): void
}

async function unfold(): Promise<void> {
  for (const fold of await main.locator('details > summary').all()) await fold.click()
}

type Forms = readonly (readonly [name: string, width: number, scheme: 'light' | 'dark'])[]

async function picture(name: string, forms: Forms = allForms, state?: 'unsettled'): Promise<void> {
  for (const [form, width, colorScheme] of forms) {
    await page.setViewportSize({ width, height: 800 })
    await page.emulateMedia({ colorScheme })
    if (state === undefined)
      await page.locator('main .mantine-Skeleton-root').first().waitFor({ state: 'detached' })
    await page.evaluate(() =>
      (globalThis as unknown as { scrollTo(x: number, y: number): void }).scrollTo(0, 0)
    )
    const fullPage = !(await dialog.isVisible()) // a dialog covers the viewport only
    await page.screenshot({ path: join(out, `${name}-${form}.png`), animations: 'disabled', fullPage })
  }
  await page.setViewportSize({ width: 1280, height: 800 })
}
