// The page with notifications and channels, in English and German.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openReceiver, secretFile } from '../../notify/test/fixture.ts'
import { axeFindings, completeSetup, openPage, skipReason, startServer } from './browser.ts'

t.test(
  'a superadmin tests a channel, and sees its results and what was sent',
  { skip: skipReason },
  async t => {
    const hook = await openReceiver(t)
    const dir = t.testdir()
    const config = join(dir, 'sluice.toml')
    writeFileSync(
      config,
      `[plugins.notify.channels.ops]\ntype = "webhook"\nurl = "${hook.url}/secret-path"\nsecret_file = "${secretFile(t)}"\n`
    )
    const server = await startServer(join(dir, 'data'), {}, ['--config', config])
    t.teardown(server.kill)
    const { page, errors, close } = await openPage()
    t.teardown(close)
    await completeSetup(page, server.link)

    await page.goto(`${server.origin}/notifications`)
    await page.getByRole('button', { name: 'Send a test to ops' }).click()
    await page.getByText('Delivered.').waitFor()
    t.match(JSON.parse((await hook.until(1)).text), { type: 'test' })
    hook.answer(503)
    await page.getByRole('button', { name: 'Send a test to ops' }).click()
    await page.getByText('response status 503').waitFor()
    await page.getByText('Not delivered.').waitFor()
    t.notMatch(await page.content(), /secret-path/)

    const list = page.getByRole('group', { name: 'Newest notifications' })
    await list.getByText('Superadmin signed in from a new network').waitFor()
    await list.getByText('admin from 127.0.0.0/24').waitFor()
    t.same(await axeFindings(page), [])
    t.same(errors, [])

    const storageState = await page.context().storageState()
    const german = await openPage({ storageState, locale: 'de-DE' })
    t.teardown(german.close)
    await german.page.goto(`${server.origin}/notifications`)
    await german.page.getByRole('heading', { name: 'Benachrichtigungen', exact: true }).waitFor()
  }
)
