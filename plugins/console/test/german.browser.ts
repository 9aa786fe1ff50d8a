// The German pages contain no English text.
import t from 'tap'
import { de } from '../web/text/de.ts'
import { en } from '../web/text/en.ts'
import { axeFindings, callAs, completeSetup, freePort, openPage, skipReason, startServer } from './browser.ts'

const paths = [
  '/',
  '/rules',
  '/rules/new',
  '/connections',
  '/clients',
  '/clients/new',
  '/links',
  '/users',
  '/users/new',
  '/users/admin',
  '/quotas',
  '/traffic',
  '/bans',
  '/bans/new',
  '/sources',
  '/sources/new',
  '/notifications',
  '/audit',
  '/settings',
  '/plugins',
  '/account'
]

/** Returns all texts without parameters. */
const textsOf = (all: object): string[] =>
  Object.values(all).flatMap(value => {
    if (typeof value === 'string') return [value]
    return typeof value === 'object' && value !== null ? textsOf(value) : []
  })

t.test('German pages contain no English text', { skip: skipReason, timeout: 120_000 }, async t => {
  const german = new Set(textsOf(de))
  const english = new Set(textsOf(en).filter(text => !german.has(text)))
  t.ok(english.size > 300)
  const server = await startServer(`${t.testdir()}/data`)
  t.teardown(server.kill)
  const first = await openPage()
  await completeSetup(first.page, server.link)
  await callAs(first.page, 'POST', '/v1/rules', {
    client: 'local',
    listen_port: await freePort(),
    targets: [{ host: '192.0.2.1', port: 80 }]
  })
  const storageState = await first.page.context().storageState()
  await first.close()
  await t.test('a page is loaded after its texts, which it reads when it is evaluated', async t => {
    const { page, close } = await openPage({ locale: 'de-DE', storageState })
    t.teardown(close)
    const order: string[] = []
    page.on('response', response => {
      if (/assets\/de-/.test(response.url())) order.push('texts')
    })
    page.on('request', request => {
      if (/assets\/ListAndDetail-.*js/.test(request.url())) order.push('page')
    })

    await page.goto(`${server.origin}/users/new`)

    await page.getByRole('dialog').getByLabel(de.users.name).waitFor()
    await page.getByRole('columnheader', { name: de.users.role, includeHidden: true }).waitFor()
    t.same(order, ['texts', 'page'])
  })

  const { page, errors, close } = await openPage({ locale: 'de-DE', storageState })
  t.teardown(close)

  await page.goto(server.origin)
  for (const { name } of await callAs<{ name: string }[]>(page, 'GET', '/v1/plugins')) english.delete(name)
  for (const path of paths) {
    await page.goto(server.origin + path)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.getByText(de.loading, { exact: true }).first().waitFor({ state: 'detached' })
    const shown = await page.evaluate(() => {
      const { document } = globalThis as unknown as Browser
      return [...document.querySelectorAll('*')].flatMap(({ childNodes, attributes }) => [
        ...[...childNodes].filter(({ nodeType }) => nodeType === 3).map(({ nodeValue }) => nodeValue ?? ''),
        ...['aria-label', 'placeholder', 'title'].map(name => attributes.getNamedItem(name)?.value ?? '')
      ])
    })
    t.same(
      shown.filter(text => english.has(text.trim())),
      [],
      path
    )
    t.same(await axeFindings(page), [], `${path}: axe`)
  }
  t.equal(await page.evaluate(() => (globalThis as unknown as Browser).document.documentElement.lang), 'de')
  t.same(errors, [])
})

/** The part of the DOM in use; Node has no types for it. */
interface Browser {
  readonly document: {
    readonly documentElement: { readonly lang: string }
    querySelectorAll(selector: string): Iterable<{
      readonly childNodes: Iterable<{ readonly nodeType: number; readonly nodeValue: string | null }>
      readonly attributes: { getNamedItem(name: string): { readonly value: string } | null }
    }>
  }
}
