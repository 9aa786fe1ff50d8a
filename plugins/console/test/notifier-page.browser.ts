// The page of the example notifier: a user chooses kinds and a URL, and sends a test note.
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openReceiver } from '../../../test/third-party/notifier/test/receiver.ts'
import { axeFindings, completeSetup, openPage, skipReason, startServer } from './browser.ts'

const example = join(import.meta.dirname, '../../../test/third-party/notifier')

t.test(
  'a user chooses notes and a URL, sends a test note, and never sees the URL',
  { skip: skipReason },
  async t => {
    const dir = t.testdir()
    const receiver = await openReceiver(t)
    cpSync(example, join(dir, 'notifier'), { recursive: true, filter: from => !from.endsWith('/test') })
    const config = join(dir, 'sluice.toml')
    writeFileSync(config, `[plugins."./notifier"]\norigins = ["${receiver.origin}"]\n`)
    const server = await startServer(join(dir, 'data'), {}, ['--config', config])
    t.teardown(server.kill)
    const { page, errors, close } = await openPage()
    t.teardown(close)
    await completeSetup(page, server.link)

    await page.getByRole('navigation').getByRole('link', { name: 'My notes' }).click()
    await page.getByText('Waiting notes: 0. Last attempt: -').waitFor()
    t.same(await axeFindings(page), [])
    await page.getByRole('button', { name: 'Send a test note' }).click()
    await page
      .getByRole('alert')
      .getByText(/no URL is stored/)
      .waitFor()
    await page.getByLabel('A rule fails').check()
    await page.getByLabel('New URL').fill('https://elsewhere.example/hook')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').getByText(`allowed origin: ${receiver.origin}`).waitFor()

    await page.getByLabel('New URL').fill(`${receiver.origin}/hidden`)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Waiting notes: 0. Last attempt: -').waitFor()
    await page.getByRole('button', { name: 'Send a test note' }).click()
    t.match(await receiver.note(1), { event: 'test', path: '/hidden' })
    await page.getByText('Last attempt: delivered').waitFor()
    t.same(errors, [])

    await page.reload()
    t.ok(await page.getByLabel('A rule fails').isChecked())
    t.notMatch(await page.content(), '/hidden')
  }
)
