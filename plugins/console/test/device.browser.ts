// `sluice login` in a terminal, and its approval in the console.
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { spawnChild } from '../../../test/support/child-process.ts'
import { program } from '../../../test/support/process.ts'
import { axeFindings, completeSetup, openPage, skipReason, startServer } from './browser.ts'

t.test('a command line is signed in by its code in the browser', { skip: skipReason }, async t => {
  const dir = t.testdir()
  const server = await startServer(join(dir, 'data'))
  t.teardown(server.kill)
  const { page, errors, close } = await openPage()
  t.teardown(close)
  await completeSetup(page, server.link)
  const login = spawnChild(process.execPath, [program(), 'login'], {
    env: { ...process.env, SVC_SERVER: server.origin, XDG_CONFIG_HOME: join(dir, 'config') },
    stdio: ['ignore', 'pipe', 'pipe']
  })
  const ended = once(login, 'close')
  let shown = ''
  login.stdout.on('data', chunk => {
    shown += chunk
  })
  while (!shown.includes('waiting')) shown += (await once(login.stderr, 'data'))[0]
  const [, link = '', code = ''] = /or open (\S+code=(\S+))/.exec(shown) ?? []

  await page.goto(link)
  const field = page.getByLabel('Code')
  t.equal(await field.inputValue(), code, 'the link fills the code in, and sends nothing')
  await field.fill('BBBB-BBBB')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('No device waits with this code.').waitFor()
  t.same(await axeFindings(page), [])
  await field.fill(code.toLowerCase())
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText(/^cli@/).waitFor()
  await page.getByText('everything that the user may do').waitFor()
  t.same(await axeFindings(page), [])
  await page.getByRole('button', { name: 'Approve' }).click()
  await page.getByText('The device is signed in.').waitFor()

  t.same(await ended, [0, null])
  await page.getByRole('link', { name: 'My account' }).first().click()
  await page.getByText(/^cli@/).waitFor()
  await page.getByRole('link', { name: 'Sign in a device' }).waitFor()
  t.same(errors, [])
})
