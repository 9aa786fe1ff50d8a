// Measures the speed of the pages with 10,000 rules: node plugins/console/test/measure.ts
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Page } from 'playwright-core'
import { newId } from '../../../kernel/platform/id.ts'
import {
  admin,
  callAs,
  completeSetup,
  freePort,
  openPage,
  type RunningServer,
  signIn,
  skipReason,
  startAgent,
  startServer
} from './browser.ts'

if (skipReason) throw new Error(skipReason)
const rules = 10_000
const runs = 5
const dir = mkdtempSync(join(tmpdir(), 'sluice-console-'))
const data = join(dir, 'data')
let server: RunningServer | null = null

try {
  server = await startServer(data)
  await fill(server)
  await server.kill()
  multiply(join(data, 'sluice.db'))
  server = await startServer(data)
  console.log(
    `first page usable:        ${await median(() => firstPage(server?.origin ?? ''))} ms (at most 1000)`
  )
  const { page, close } = await openPage()
  await page.goto(server.origin)
  await signIn(page, admin)
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  console.log(`${rules} rules, seen after:  ${await median(() => listing(page, 'seen'))} ms (at most 500)`)
  console.log(`${rules} rules, read after:  ${await median(() => listing(page, 'read'))} ms`)
  console.log(`frames while it scrolls:  ${await median(() => framesPerSec(page))} a second (at least 50)`)
  await close()
} finally {
  await server?.kill()
  rmSync(dir, { recursive: true })
}

/** Creates the administrator, and an offline client with one rule. */
async function fill({ link }: RunningServer): Promise<void> {
  const { page, close } = await openPage()
  await completeSetup(page, link)
  const { uri } = await callAs<{ uri: string }>(page, 'POST', '/v1/client-enrollments', { name: 'paris' })
  const agent = startAgent(join(dir, 'agent'), uri)
  await page.goto(new URL('/clients', link).href)
  await page.getByRole('row').filter({ hasText: 'paris' }).getByText('connected', { exact: true }).waitFor()
  const targets = [{ host: 'app.internal.example', port: 8080 }]
  await callAs(page, 'POST', '/v1/rules', { client: 'paris', listen_port: await freePort(), targets })
  await agent.kill()
  await close()
}

/** Copies the rule in the store. */
function multiply(file: string): void {
  const store = new DatabaseSync(file)
  const columns = store
    .prepare("select name from pragma_table_info('rules')")
    .all()
    .map(({ name }) => String(name))
  const others = columns.filter(name => !['id', 'listen_from', 'listen_to'].includes(name)).join(', ')
  const copy = store.prepare(
    `insert into rules (id, listen_from, listen_to, ${others}) select ?, ?, ?, ${others} from rules limit 1`
  )
  store.exec('begin')
  for (let i = 1; i < rules; i++) copy.run(newId(Date.now()), 10_000 + i, 10_000 + i)
  store.exec('commit')
  store.close()
}

/** Returns the time from an empty cache to the figures of the overview. */
async function firstPage(origin: string): Promise<number> {
  const { page, close } = await openPage()
  await page.goto(`${origin}/rules/nowhere`)
  await signIn(page, admin)
  await page.getByRole('navigation').waitFor()
  const state = await page.context().storageState()
  await close()
  const fresh = await openPage({ storageState: state })
  const began = performance.now()
  await fresh.page.goto(origin, { waitUntil: 'commit' })
  await fresh.page.locator('.figure').first().waitFor()
  const took = performance.now() - began
  await fresh.close()
  return took
}

/** Returns the time from the click until rows are visible, or all are read. */
async function listing(page: Page, until: 'seen' | 'read'): Promise<number> {
  await page.goto(new URL('/', page.url()).href)
  await page.locator('.figure').first().waitFor()
  const began = performance.now()
  await page.getByRole('navigation').getByRole('link', { name: 'Rules' }).click()
  await page.locator('.body [role=row]').nth(5).waitFor()
  if (until === 'read') await page.getByText('10,000', { exact: true }).waitFor()
  return performance.now() - began
}

function framesPerSec(page: Page): Promise<number> {
  return page.evaluate(async () => {
    const { document, requestAnimationFrame: next } = globalThis as unknown as Browser
    const table = document.querySelector('.table')
    const began = performance.now()
    let frames = 0
    while (performance.now() - began < 3000) {
      await new Promise(resolve => next(() => resolve(null)))
      table.scrollTop += 90
      frames++
    }
    return (frames * 1000) / (performance.now() - began)
  })
}

/** The part of the DOM in use; Node has no types for it. */
interface Browser {
  readonly document: { querySelector(selector: string): { scrollTop: number } }
  requestAnimationFrame(work: () => void): void
}

async function median(measure: () => Promise<number>): Promise<string> {
  const found: number[] = []
  for (let i = 0; i < runs; i++) found.push(await measure())
  return (found.sort((a, b) => a - b)[Math.floor(runs / 2)] ?? Number.NaN).toFixed(0)
}
