// Makes pictures of every page, in both themes and of the width of a phone, in dist/screenshots: npm run screenshots
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { openPage, setUp, skipReason, startUp } from './browser.ts'
import { openTarget, seed, useUp } from './seed.ts'

if (skipReason) throw new Error(skipReason)
const root = join(import.meta.dirname, '../../..')
const out = join(root, 'dist/screenshots')
mkdirSync(out, { recursive: true })
const data = mkdtempSync(join(root, '.sluice-test-screenshots-'))

/** A path, and what is seen when it is there. */
const views = {
  overview: ['/', 'Overview'],
  rules: ['/rules', 'Rules'],
  'new-rule': ['/rules/new', 'New rule'],
  edges: ['/edges', 'Edges'],
  'new-edge': ['/edges/new', 'Add edge'],
  users: ['/users', 'Users'],
  'new-user': ['/users/new', 'New user'],
  user: ['/users/ann', 'ann'],
  quotas: ['/quotas', 'Quotas'],
  'new-quota': ['/quotas/new', 'Set quota'],
  traffic: ['/traffic?range=hour', 'Traffic'],
  bans: ['/bans', 'Bans'],
  'new-ban': ['/bans/new', 'Ban a source'],
  sources: ['/sources', 'Source lists'],
  source: ['/sources/office', '@office'],
  audit: ['/audit', 'Audit'],
  settings: ['/settings', 'Settings'],
  plugins: ['/plugins', 'Plugins'],
  plugin: ['/plugins/quota', 'quota'],
  'my-account': ['/account', 'My account'],
  'not-found': ['/nowhere', 'There is no such page.']
} as const

/** Of records that are not there before there are some. */
const filledOnly: readonly string[] = ['user', 'source']

/** What to make pictures of: npm run screenshots -- user quotas; without words everything. */
const wanted = process.argv.slice(2)

const server = await startUp(join(data, 'data'))
const { page, close } = await openPage()
try {
  await page.goto(server.link)
  await page.getByRole('heading', { name: 'Welcome' }).waitFor()
  await inEachForm(page, 'setup')
  await setUp(page, server.link)
  await all('empty-')
  await addRules(page)
  await seed(page)
  const target = await openTarget(85_000)
  await useUp(page, 'bob', target)
  target.close()
  await all('')
  await page.getByRole('button', { name: /Account/ }).click()
  await inEachForm(page, 'account')
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await inEachForm(page, 'sign-in')
} finally {
  await close()
  await server.kill()
  rmSync(data, { recursive: true })
}

async function all(prefix: string): Promise<void> {
  for (const [name, [path, title]] of Object.entries(views)) {
    if ((prefix !== '' && filledOnly.includes(name)) || (wanted.length > 0 && !wanted.includes(name)))
      continue
    await page.goto(server.origin + path)
    await page.getByText(title).first().waitFor()
    await page.waitForLoadState('networkidle')
    await inEachForm(page, prefix + name)
  }
}

async function inEachForm(page: Page, name: string): Promise<void> {
  for (const [form, width, scheme] of [
    ['light', 1280, 'light'],
    ['dark', 1280, 'dark'],
    ['phone', 390, 'light']
  ] as const) {
    await page.setViewportSize({ width, height: 800 })
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' })
    await page.screenshot({ path: join(out, `${name}-${form}.png`), animations: 'disabled' })
  }
  await page.setViewportSize({ width: 1280, height: 800 })
}

async function addRules(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const send = (url: string, body?: object) =>
      fetch(url, {
        method: body ? 'POST' : 'GET',
        headers: { 'content-type': 'application/json', 'x-svc-csrf': '1' },
        ...(body && { body: JSON.stringify(body) })
      })
    const clients = (await (await send('/v1/clients')).json()) as { client_id: string }[]
    for (let i = 0; i < 40; i++)
      await send('/v1/rules', {
        client: clients[0]?.client_id,
        listen_port: 18_000 + i,
        targets: [{ host: `app-${i % 7}.internal.example`, port: 8000 + (i % 3) }],
        ...(i % 9 === 4 && { paused: true })
      })
  })
}
