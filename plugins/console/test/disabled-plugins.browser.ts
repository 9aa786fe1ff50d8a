// Pages of a server on which plugins are disabled.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { callAs, completeSetup, freePort, openPage, skipReason, startServer } from './browser.ts'
import { clientIdOf } from './seed.ts'
import { settled } from './walk.ts'

const disabled = ['traffic', 'host-health', 'audit', 'links']

t.test('a section of a disabled plugin is left out', { skip: skipReason }, async t => {
  const dir = t.testdir()
  const config = join(dir, 'sluice.toml')
  writeFileSync(config, disabled.map(name => `[plugins.${name}]\nenabled = false\n`).join(''))
  const server = await startServer(join(dir, 'data'), {}, ['--config', config])
  t.teardown(server.kill)
  const { page, errors, close } = await openPage()
  t.teardown(close)
  await completeSetup(page, server.link)
  const client = await clientIdOf(page)
  const rules: string[] = []
  for (let i = 0; i < 2; i++) {
    const body = { client, listen_port: await freePort(), targets: [{ host: '127.0.0.1', port: 9 }] }
    rules.push((await callAs<{ rule_id: string }>(page, 'POST', '/v1/rules', body)).rule_id)
  }
  const headings = page.getByRole('main').getByRole('heading', { level: 2 })
  for (const [path, shown] of [
    ['/', ['Agent versions']],
    [`/clients/${client}`, ['Rules', 'Owners', 'Agent capabilities']],
    [`/rules/${rules[0]}`, ['Now', 'Targets']]
  ] as const) {
    await page.goto(server.origin + path)
    await page.getByRole('heading', { level: 2, name: shown[0], exact: true }).waitFor()
    await settled(page)
    const found = await headings.allTextContents()
    t.match(
      shown.filter(name => !found.includes(name)),
      [],
      `${path} shows its other sections`
    )
    t.same(
      found.filter(name => /Traffic|traffic|Host|changes|Links/.test(name)),
      [],
      `${path} leaves out sections`
    )
    t.equal(await page.getByRole('alert').count(), 0, `${path} shows no error`)
  }
  const navigation = page.getByRole('navigation')
  t.equal(await navigation.getByRole('link', { name: 'Rules' }).count(), 1)
  t.equal(await navigation.getByRole('link', { name: 'Links' }).count(), 0)
  t.same(errors, [])
  await page.goto(`${server.origin}/audit`)
  await page.getByText('The server does not offer this. The plugin may be disabled.').waitFor()
})
