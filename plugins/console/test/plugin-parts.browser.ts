// Pages and cards of plugins: of the example status-page, and of a plugin that fails.
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { axeFindings, callAs, completeSetup, openPage, signIn, skipReason, startServer } from './browser.ts'

const statusPage = join(import.meta.dirname, '../../../test/third-party/status-page')

/** A plugin with a page that throws and a card with a broken script. */
const failing = `import { consoleCardSlot, consolePageSlot, definePlugin } from 'sluice/plugin'
const file = name => new URL(name, import.meta.url)
export default definePlugin({
  name: 'failing',
  version: '1.0.0',
  kernel: '^2.0.0',
  fills: [
    consolePageSlot.fill({ name: 'failing', title: { en: 'Failing page' }, module: file('./page.js'), element: 'failing-page' }),
    consoleCardSlot.fill({ on: 'overview', title: { en: 'Failing card' }, module: file('./card.js'), element: 'failing-card' })
  ]
})
`
const throwing = `customElements.define('failing-page', class extends HTMLElement {
  connectedCallback() { throw new Error('it does not work') }
})
`

function write(dir: string): string {
  cpSync(statusPage, join(dir, 'status-page'), { recursive: true, filter: from => !from.endsWith('/test') })
  mkdirSync(join(dir, 'failing'))
  writeFileSync(join(dir, 'failing/plugin.js'), failing)
  writeFileSync(join(dir, 'failing/package.json'), '{ "type": "module" }')
  writeFileSync(join(dir, 'failing/page.js'), throwing)
  writeFileSync(join(dir, 'failing/card.js'), 'this is no script')
  const config = join(dir, 'sluice.toml')
  writeFileSync(config, '[plugins."./status-page"]\nowner = "admin"\n[plugins."./failing"]\n')
  return config
}

t.test('plugins add pages and cards; one that fails shows a notice', { skip: skipReason }, async t => {
  const dir = t.testdir()
  const server = await startServer(join(dir, 'data'), {}, ['--config', write(dir)])
  t.teardown(server.kill)
  const { page, errors, close } = await openPage()
  t.teardown(close)
  await completeSetup(page, server.link)

  await page.getByText('0 in the last hour').waitFor()
  const form = { method: 'POST', body: new URLSearchParams({ works: 'no' }), redirect: 'manual' } as const
  t.equal((await fetch(`${server.origin}/status/reports`, form)).status, 303)
  await page.getByText('1 in the last hour').click()
  await page.getByRole('heading', { name: 'Reports of visitors' }).waitFor()
  t.same(await axeFindings(page), [])
  await page.getByRole('button', { name: 'Forget all' }).click()
  await page.getByText('Nobody has reported anything').waitFor()
  t.same(errors, [])

  await page.getByRole('navigation').getByRole('link', { name: 'Failing page' }).click()
  await page.getByRole('alert').getByText('it does not work').waitFor()
  await page.getByRole('navigation').getByRole('link', { name: 'Overview' }).click()
  await page.getByText('Failing card (plugin failing) failed').waitFor()
  await page.getByText('0 in the last hour').waitFor()

  await t.test('a page stays while the cards of plugins load', async t => {
    const held = Promise.withResolvers<void>()
    const requested = Promise.withResolvers<void>()
    const late = await openPage({ storageState: await page.context().storageState() })
    t.teardown(late.close)
    await late.page.route('**/assets/PluginCards-*.js', async route => {
      requested.resolve()
      await held.promise
      await route.continue()
    })
    await late.page.goto(server.origin)
    await requested.promise
    const heading = late.page.getByRole('heading', { level: 1 })
    await heading.waitFor()
    // The page may not show that it waits in any later frame either.
    await late.page.evaluate(
      'new Promise(shown => requestAnimationFrame(() => requestAnimationFrame(shown)))'
    )
    t.ok(await heading.isVisible())
    held.resolve()
    await late.page.getByText('0 in the last hour').waitFor()
  })

  await callAs(page, 'POST', '/v1/users', {
    user_id: 'ann',
    display_name: 'Ann',
    role: 'user',
    initial_password: 'a password of the tenant'
  })
  const tenant = await openPage()
  t.teardown(tenant.close)
  await tenant.page.goto(server.origin)
  await signIn(tenant.page, { user: 'ann', password: 'a password of the tenant' })
  await tenant.page.getByRole('link', { name: 'Failing page' }).waitFor()
  t.equal(await tenant.page.getByRole('link', { name: 'Reports of visitors' }).count(), 0)
})
