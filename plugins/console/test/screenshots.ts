// Makes pictures of every page, in both themes and of the width of a phone, in dist/screenshots: npm run screenshots
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { openPage, setUp, skipReason, startUp } from './browser.ts'

if (skipReason) throw new Error(skipReason)
const root = join(import.meta.dirname, '../../..')
const out = join(root, 'dist/screenshots')
mkdirSync(out, { recursive: true })
const data = mkdtempSync(join(root, '.sluice-test-screenshots-'))

/** A path, and what is seen when it is there. */
type View = readonly [path: string, title: string]

const views = {
  overview: ['/', 'Overview'],
  rules: ['/rules', 'Rules'],
  'new-rule': ['/rules/new', 'New rule'],
  connections: ['/connections', 'Connections'],
  edges: ['/edges', 'Edges'],
  'new-edge': ['/edges/new', 'Add edge'],
  'not-found': ['/nowhere', 'There is no such page.']
} as const

const server = await startUp(join(data, 'data'))
const { page, close } = await openPage()
try {
  await page.goto(server.link)
  await page.getByRole('heading', { name: 'Welcome' }).waitFor()
  await inEachForm(page, 'setup')
  await setUp(page, server.link)
  await all('empty-')
  await addRules(page)
  await all('')
  const [rule, edge] = await firstOfEach(page)
  await all('', {
    rule: [`/rules/${rule}`, 'Why does it work'],
    'edit-rule': [`/rules/${rule}/edit`, 'Edit rule'],
    edge: [`/edges/${edge}`, 'Its rules']
  })
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

async function all(prefix: string, some: Readonly<Record<string, View>> = views): Promise<void> {
  for (const [name, [path, title]] of Object.entries(some)) {
    await page.goto(server.origin + path)
    await page.getByText(title).first().waitFor()
    await page.locator('[aria-busy]').waitFor({ state: 'detached' }) // never idle: it streams
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
    await page.screenshot({ path: join(out, `${name}-${form}.png`) })
  }
  await page.setViewportSize({ width: 1280, height: 800 })
}

/** Returns the ids of a rule and of an edge. */
async function firstOfEach(page: Page): Promise<readonly [string | undefined, string | undefined]> {
  return page.evaluate(async () => {
    const read = async <R>(url: string): Promise<R[]> => (await (await fetch(url)).json()) as R[]
    const [rule] = await read<{ rule_id: string }>('/v1/rules')
    const [edge] = await read<{ client_id: string }>('/v1/clients')
    return [rule?.rule_id, edge?.client_id] as const
  })
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
