// Makes pictures of every page, in both themes and of the width of a phone, in dist/screenshots: npm run screenshots
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { openPage, setUp, signIn, skipReason, startUp } from './browser.ts'
import { fill, tenant } from './fill.ts'
import { walk } from './walk.ts'

if (skipReason) throw new Error(skipReason)
const root = join(import.meta.dirname, '../../..')
const out = join(root, 'dist/screenshots')
rmSync(out, { recursive: true, force: true })
mkdirSync(out, { recursive: true })
const data = mkdtempSync(join(root, '.sluice-test-screenshots-'))
const server = await startUp(join(data, 'data'))
const { page, close } = await openPage()
try {
  await page.goto(server.link)
  await page.getByRole('heading', { name: 'Welcome' }).waitFor()
  await inEachForm(page, 'setup')
  await setUp(page, server.link)
  await all('empty-')
  await fill(page)
  await all('')
  await opened()
  await page.getByRole('button', { name: /Account/ }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await inEachForm(page, 'sign-in')
  await signIn(page, tenant)
  await page.getByRole('navigation').waitFor()
  await all('tenant-')
  await server.kill()
  await page.getByText('The server does not answer').waitFor()
  await inEachForm(page, 'lost')
} finally {
  await close()
  await server.kill()
  rmSync(data, { recursive: true })
}

async function all(prefix: string): Promise<void> {
  const seen = await walk(page, server.origin, ({ name }) => inEachForm(page, prefix + name))
  console.log(`${prefix || 'filled-'}* ${seen.join(' ')}`)
}

/** What opens over a page, and a page that is not there. */
async function opened(): Promise<void> {
  await page.goto(`${server.origin}/nowhere`)
  await page.getByRole('heading', { name: 'There is no such page.' }).waitFor()
  await inEachForm(page, 'not-found')
  await page.keyboard.press('?')
  await page.getByRole('dialog').waitFor()
  await inEachForm(page, 'keys')
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog').getByRole('combobox').fill('lo')
  await inEachForm(page, 'palette')
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: /Account/ }).click()
  await page.getByRole('menu').waitFor()
  await inEachForm(page, 'account-menu')
  await page.keyboard.press('Escape')
}

async function inEachForm(page: Page, name: string): Promise<void> {
  for (const [form, width, scheme] of [
    ['light', 1280, 'light'],
    ['dark', 1280, 'dark'],
    ['phone', 390, 'light']
  ] as const) {
    await page.setViewportSize({ width, height: 800 })
    await page.emulateMedia({ colorScheme: scheme })
    await page.screenshot({ path: join(out, `${name}-${form}.png`), animations: 'disabled' })
  }
  await page.setViewportSize({ width: 1280, height: 800 })
}
