import { mkdirSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import type { Kernel } from '../../../kernel/plugin.ts'
import { testServer } from '../../../kit/test-server.ts'
import { openConsoleSite } from '../console-site.ts'

const browser = { authorization: '', accept: 'text/html,*/*' }

const open = (folder: string) => {
  const lines: string[] = []
  const add = (event: string, message: string): void => void lines.push(`${event} ${message}`)
  const log = { debug: add, info: add, warn: add, error: add }
  const deps = { log, setup: { takeToken: () => 'TOKEN' } } as unknown as Kernel &
    Parameters<typeof openConsoleSite>[0]
  return { lines, site: openConsoleSite(deps, pathToFileURL(`${folder}/`)) }
}

const built = (t: Test): string => {
  const folder = t.testdir()
  mkdirSync(`${folder}/assets`)
  writeFileSync(
    `${folder}/index.html`,
    '<meta nonce="__NONCE__"><script src="/assets/a-1.js" nonce="__NONCE__">'
  )
  return folder
}

t.test('each response has a different nonce and allows only scripts of the server', async t => {
  const { site } = open(built(t))

  const first = site.page()
  const second = site.page()

  const [, nonce = ''] = /nonce="([^"]+)"/.exec(String(first.body)) ?? []
  t.match(first.headers?.['content-security-policy'], `style-src 'self' 'nonce-${nonce}'`)
  t.match(first.headers?.['content-security-policy'], "script-src 'self';")
  t.match(first.headers?.['content-security-policy'], "frame-ancestors 'none'")
  t.notMatch(first.body, '__NONCE__')
  t.not(first.body, second.body)
})

t.test('the log shows the setup link', async t => {
  const { site, lines } = open(built(t))

  site.listening('https://sluice.example.com')

  t.same(lines, ['console.setup open https://sluice.example.com/#setup=TOKEN'])
})

t.test('without built pages, the log and the page say what to run', async t => {
  const { site, lines } = open(t.testdir())

  t.match(site.page(), { status: 503, type: /^text\/plain/, body: /npm run build:console/ })
  t.match(lines, [/console.not_built/])
})

t.test('a browser gets the page for any path outside /v1, a program gets an error', async t => {
  const server = await testServer(t)
  const get = async (path: string, headers: Record<string, string>) => {
    const { status, headers: got } = await server.call('GET', path, undefined, headers)
    return `${status} ${String(got['content-type']).split(';')[0]}`
  }

  const page = await get('/', browser)
  t.match(page, /^(200 text\/html|503 text\/plain)$/)
  t.equal(await get('/rules/01KCD3F0P7Q4Y6Z8V1T5S9R2NB', browser), page)
  t.equal(await get('/rules', { authorization: '' }), '404 application/json')
  t.equal(await get('/v1/nothing', browser), '404 application/json')
  t.equal(await get('/assets/nothing.js', browser), '404 application/json')
  t.equal(await get('/assets/..%2findex.html', browser), '404 application/json')
})
