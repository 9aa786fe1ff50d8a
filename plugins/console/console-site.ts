// The built pages as the site of the HTTP host.
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
  'The pages of the console are not built. In a checkout, run: npm run build:console\n' +
  'The API of this server works without them.\n'

export interface Console extends Site {
  /** Another one after each build; null: the pages are missing. */
  readonly version: string | null
}

/** What index.html has where each response gets a nonce of its own. Vite writes it: web/vite.config.ts. */
export const nonceMark = '__NONCE__'

export function openConsole({ log, setup }: Deps, folder = dist): Console {
  const index = new URL('index.html', folder)
  const html = existsSync(index) ? readFileSync(index, 'utf8') : null
  if (html === null)
    log.warn('console.not_built', 'the pages of the console are missing: run npm run build:console')
  return {
    version: html && createHash('sha256').update(html).digest('hex').slice(0, 16), // it names all assets, with their hashes
    assets: new URL('assets/', folder),
    page: () =>
      html === null ? { status: 503, type: 'text/plain; charset=utf-8', body: notBuilt } : pageOf(html),
    listening(origin) {
      const token = setup.takeToken()
      // A warning, as the setup token itself is one: nobody can sign in without it.
      if (token !== null) log.warn('console.setup', `open ${origin}/#setup=${token}`)
      else log.info('console.ready', `the console is ${origin}/`)
    }
  }
}

/** Mantine and Vite make style elements: they are allowed by the nonce. Scripts are files, and need none. */
function pageOf(html: string): Media {
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
