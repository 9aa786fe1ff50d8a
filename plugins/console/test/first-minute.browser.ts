// From an empty directory to a forwarded byte in the browser, within a minute.
import { once } from 'node:events'
import { createServer } from 'node:net'
import t from 'tap'
import { completeSetup, freePort, openPage, skipReason, startServer } from './browser.ts'

t.test('the first byte is forwarded within a minute', { skip: skipReason, timeout: 60_000 }, async t => {
  const target = createServer(socket => void socket.once('data', bytes => socket.end(bytes)))
  t.teardown(() => target.close())
  const clientPort = await freePort()
  const targetPort = await freePort()
  const { page, errors, close } = await openPage()
  t.teardown(close)

  const startedAt = Date.now()
  const server = await startServer(`${t.testdir()}/data`)
  t.teardown(server.kill)
  await completeSetup(page, server.link)
  await page.getByLabel('Listen port').fill(String(clientPort))
  await page.getByLabel('Target host').fill('127.0.0.1')
  await page.getByLabel('Target port').fill(String(targetPort))
  await page.getByRole('button', { name: 'Create rule' }).click()
  await page.getByText('Waiting for the first connection').waitFor()
  const sendButton = page.getByRole('button', { name: 'Send a test byte' })
  await sendButton.click()
  await page.getByRole('cell', { name: 'refuses connections' }).waitFor()

  await once(target.listen(targetPort, '127.0.0.1'), 'listening')
  await sendButton.click()
  await page.getByText(/a byte was sent through the port; 1 byte came back/).waitFor()
  // The first steps show the sum of both directions; the overview, which replaces them, a total per direction.
  await page
    .getByText(/forwarded: [12] B|^1 B total/)
    .first()
    .waitFor()
  t.comment(`byte shown after ${Date.now() - startedAt} ms`)
  t.same(errors, [])
})
