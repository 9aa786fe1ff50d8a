// From an empty directory to a forwarded byte in the browser, within a minute.
import { once } from 'node:events'
import { createServer } from 'node:net'
import t from 'tap'
import { freePort, openPage, setUp, skipReason, startUp } from './browser.ts'

t.test('the first byte is forwarded within a minute', { skip: skipReason, timeout: 60_000 }, async t => {
  const target = createServer(socket => void socket.once('data', bytes => socket.end(bytes)))
  t.teardown(() => target.close())
  const port = await freePort()
  const targetPort = await freePort()
  const { page, errors, close } = await openPage()
  t.teardown(close)

  const began = Date.now()
  const server = await startUp(`${t.testdir()}/data`)
  t.teardown(server.kill)
  await setUp(page, server.link)
  await page.getByLabel('Client port').fill(String(port))
  await page.getByLabel('Target host').fill('127.0.0.1')
  await page.getByLabel('Target port').fill(String(targetPort))
  await page.getByRole('button', { name: 'Create rule' }).click()
  await page.getByText('Waiting for the first connection').waitFor()
  const send = page.getByRole('button', { name: 'Send a test byte' })
  await send.click()
  await page.getByRole('cell', { name: 'refuses connections' }).waitFor()

  await once(target.listen(targetPort, '127.0.0.1'), 'listening')
  await send.click()
  await page.getByText(/a byte was sent through the port; 1 byte came back/).waitFor()
  await page
    .getByText(/forwarded: [12] B|^1 B total/)
    .first()
    .waitFor()
  t.comment(`byte shown after ${Date.now() - began} ms`)
  t.same(errors, [])
})
