// Starts a real server with an agent, and Chromium.
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import axe from 'axe-core'
import { type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { spawnChild } from '../../../test/support/child-process.ts'

export { freePort } from '../../../test/support/ports.ts'

export const chromiumPath = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(path => existsSync(path))
export const isBuilt = existsSync(new URL('../dist/index.html', import.meta.url))

/** The reason to skip browser tests, or false. */
export const skipReason: string | false =
  (!chromiumPath && 'Chromium is not installed: apt-get install chromium') ||
  (!isBuilt && 'the pages are not built: npm run build:console')

export interface RunningServer {
  readonly link: string // ORIGIN/#setup=TOKEN, or ORIGIN/
  readonly origin: string
  readonly child: ChildProcess
  kill(): Promise<void>
}

const bin = new URL('../../../kernel/bin.ts', import.meta.url).pathname
const anyPort = '127.0.0.1:0'

/** Runs `sluice up`; resolves when it prints its link. */
export async function startServer(
  dataDir: string,
  env: Readonly<Record<string, string>> = {},
  args: readonly string[] = []
): Promise<RunningServer> {
  const listen = {
    SVC_OPERATOR_HTTP_LISTEN: anyPort,
    SVC_METRICS_LISTEN: anyPort,
    SVC_CONTROL_LISTEN: anyPort
  }
  const child = spawnChild(process.execPath, [bin, 'up', '--data-dir', dataDir, ...args], {
    env: { ...process.env, ...listen, ...env },
    stdio: ['ignore', 'pipe', 'pipe']
  })
  let errors = ''
  child.stderr.on('data', chunk => {
    errors += chunk
  })
  let link = ''
  for await (const line of createInterface({ input: child.stdout })) {
    link ||= /(?:Console|in a browser): (\S+)$/.exec(line)?.[1] ?? ''
    if (link !== '') break
  }
  if (link === '') throw new Error(`sluice up ended: ${errors}`)
  return { link, origin: new URL(link).origin, child, kill: () => stop(child, 'SIGTERM') }
}

/** Runs another agent, which enrolls with the URI. */
export function startAgent(
  stateDir: string,
  uri: string,
  args: readonly string[] = []
): Pick<RunningServer, 'child' | 'kill'> {
  const child = spawnChild(process.execPath, [bin, 'agent', 'run', '--state-dir', stateDir, ...args], {
    env: { ...process.env, SVC_ENROLL_URI: uri, SVC_METRICS_LISTEN: anyPort },
    stdio: 'ignore'
  })
  return { child, kill: () => stop(child, 'SIGKILL') }
}

async function stop(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill(signal)
  await once(child, 'exit')
}

export interface OpenPage {
  readonly page: Page
  /** Uncaught errors, console errors and CSP violations. */
  readonly errors: string[]
  close(): Promise<void>
}

export async function openPage(options: BrowserContextOptions = {}): Promise<OpenPage> {
  const browser = await chromium.launch({ executablePath: chromiumPath ?? '', args: ['--no-sandbox'] })
  const context = await browser.newContext({
    locale: 'en-GB',
    viewport: { width: 1280, height: 800 },
    reducedMotion: 'reduce', // keeps elements still for axe and for clicks
    ...options
  })
  const page = await context.newPage()
  page.setDefaultTimeout(15_000)
  return { page, errors: errorsOf(page), close: () => browser.close() }
}

/** Returns a list that collects the errors of the page from now on. */
export function errorsOf(page: Page): string[] {
  const errors: string[] = []
  page.on('pageerror', error => errors.push(String(error)))
  page.on('console', message => {
    // The browser itself logs a 401 before the sign-in, and a lost server.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      errors.push(message.text())
  })
  return errors
}

/** Returns the findings of axe, one per line. */
export async function axeFindings(page: Page): Promise<string[]> {
  await page.evaluate(axe.source) // the CSP would block a script element
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: typeof import('axe-core') }
    const { violations } = await axe.run({ resultTypes: ['violations'] })
    return violations.flatMap(({ id, help, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${help}: ${html} ${failureSummary}`)
    )
  })
}

export const admin = { user: 'admin', password: 'a long enough password' }

/** Opens the setup link, creates the administrator, and waits for the local agent to connect. */
export async function completeSetup(page: Page, link: string): Promise<void> {
  await page.goto(link)
  await page.getByLabel('Password', { exact: true }).fill(admin.password)
  await page.getByLabel('Repeat password').fill(admin.password)
  await page.getByRole('button', { name: 'Create administrator' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await page.getByRole('button', { name: 'Create rule' }).waitFor() // shown once a client is connected
}

export async function signIn(page: Page, { user, password }: typeof admin): Promise<void> {
  await page.getByLabel('User').fill(user)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

/** Calls the API as the user of the page. Throws on an error reply. */
export const callAs = <B>(page: Page, method: string, path: string, body?: unknown): Promise<B> =>
  page.evaluate(
    async ([method, path, body]) => {
      const { localStorage } = globalThis as unknown as {
        localStorage: { getItem(name: string): string | null }
      }
      const key = localStorage.getItem('sluice-session-key')
      const headers = {
        'x-svc-csrf': '1',
        ...(key !== null && { 'x-svc-session-key': key }),
        ...(body !== undefined && { 'content-type': 'application/json' })
      }
      const response = await fetch(path, {
        method,
        headers,
        ...(body !== undefined && { body: JSON.stringify(body) })
      })
      const text = await response.text()
      if (!response.ok) throw new Error(`${method} ${path}: ${text}`)
      return text === '' ? undefined : JSON.parse(text)
    },
    [method, path, body] as const
  )
