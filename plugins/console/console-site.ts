// The built pages, served by the HTTP host.
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import type { Media } from '../../kernel/http/route.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Setup } from '../auth/exports.ts'
import type { Site } from '../http/exports.ts'

export interface Deps extends Kernel {
  readonly setup: Setup
}

const dist = new URL('./dist/', import.meta.url)
const notBuilt =
  'The console pages are not built. In a checkout, run: npm run build:console\n' +
  'The API of this server works without them.\n'

export interface ConsoleSite extends Site {
  /** Differs after each build; null if the pages are not built. */
  readonly version: string | null
}

/** Placeholder in index.html; each response gets its own nonce. Vite writes it: web/vite.config.ts. */
const nonceMark = '__NONCE__'

export function openConsoleSite({ log, setup }: Deps, folder = dist): ConsoleSite {
  const index = new URL('index.html', folder)
  const html = existsSync(index) ? readFileSync(index, 'utf8') : null
  if (html === null)
    log.warn('console.not_built', 'the console pages are not built: run npm run build:console')
  return {
    version: html && createHash('sha256').update(html).digest('hex').slice(0, 16), // index.html names all assets with their hashes
    assets: new URL('assets/', folder),
    page: () =>
      html === null ? { status: 503, type: 'text/plain; charset=utf-8', body: notBuilt } : toPage(html),
    listening(origin) {
      const token = setup.takeToken()
      // A warning, because nobody can sign in before the link was opened.
      if (token !== null) log.warn('console.setup', `open ${origin}/#setup=${token}`)
      else log.info('console.ready', `the console is at ${origin}/`)
    }
  }
}

/** The nonce allows the style elements that Mantine and Vite create. Scripts are files and need none. */
function toPage(html: string): Media {
  const nonce = randomBytes(16).toString('base64')
  return {
    type: 'text/html; charset=utf-8',
    body: html.replaceAll(nonceMark, nonce),
    headers: {
      'content-security-policy':
        `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; img-src 'self' data:; ` +
        "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    }
  }
}
