// A real server with a real agent, and Chromium in front of it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import axe from 'axe-core'
import { type BrowserContextOptions, chromium, type Page } from 'playwright-core'

export const chromiumPath = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(path => existsSync(path))
export const isBuilt = existsSync(new URL('../dist/index.html', import.meta.url))

/** Why there is nothing to test here, or false. */
export const skipReason: string | false =
  (!chromiumPath && 'Chromium is not installed: apt-get install chromium') ||
  (!isBuilt && 'the pages are not built: npm run build:console')

export interface Running {
  readonly link: string // ORIGIN/#setup=TOKEN
  readonly origin: string
  kill(): Promise<void>
}

/** Runs `sluice up`; resolves when it has told what to do next. */
export async function startUp(dataDir: string): Promise<Running> {
  const bin = new URL('../../../kernel/bin.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [bin, 'up', '--data-dir', dataDir], {
    env: {
      ...process.env,
      SVC_OPERATOR_HTTP_LISTEN: '127.0.0.1:0',
      SVC_METRICS_LISTEN: '127.0.0.1:0',
      SVC_CONTROL_LISTEN: '127.0.0.1:0'
    },
    stdio: ['ignore', 'pipe', 'pipe']
  })
  let errors = ''
  child.stderr.on('data', chunk => {
    errors += chunk
  })
  let link = ''
  for await (const line of createInterface({ input: child.stdout })) {
    link ||= /https?:\/\/\S+\/(#setup=\S+)?$/.exec(line)?.[0] ?? ''
    if (link !== '') break
  }
  if (link === '') throw new Error(`sluice up ended: ${errors}`)
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null) return
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
  return { link, origin: new URL(link).origin, kill }
}

export interface Seen {
  readonly page: Page
  /** Errors in the console of the browser, uncaught ones, and violations of the Content-Security-Policy. */
  readonly errors: string[]
  close(): Promise<void>
}

export async function openPage(options: BrowserContextOptions = {}): Promise<Seen> {
  const browser = await chromium.launch({ executablePath: chromiumPath ?? '', args: ['--no-sandbox'] })
  const context = await browser.newContext({
    locale: 'en-GB',
    viewport: { width: 1280, height: 800 },
    ...options
  })
  const page = await context.newPage()
  page.setDefaultTimeout(15_000)
  const errors: string[] = []
  page.on('pageerror', error => errors.push(String(error)))
  page.on('console', message => {
    // Of a 401 before the sign-in, and while the server is away, the browser itself says so.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      errors.push(message.text())
  })
  return { page, errors, close: () => browser.close() }
}

/** Returns what axe finds wrong with the page, a line each. */
export async function axeFindings(page: Page): Promise<string[]> {
  await page.evaluate(axe.source) // not a script element: the policy would refuse it
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: typeof import('axe-core') }
    const { violations } = await axe.run({ resultTypes: ['violations'] })
    return violations.flatMap(({ id, help, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${help}: ${html} ${failureSummary}`)
    )
  })
}

export const admin = { user: 'admin', password: 'a long enough password' }

/** Follows the link of the first minute, and makes the administrator. */
export async function setUp(page: Page, link: string): Promise<void> {
  await page.goto(link)
  await page.getByLabel('Password', { exact: true }).fill(admin.password)
  await page.getByLabel('Password again').fill(admin.password)
  await page.getByRole('button', { name: 'Create administrator' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
}
