// From an empty directory to a forwarded byte, by clicks alone. The limit of the test is a minute.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { freePort, openPage, setUp, skipReason, startUp } from './browser.ts'

t.test('the first byte is forwarded within a minute', { skip: skipReason, timeout: 60_000 }, async t => {
  const target = createServer((_, response) => response.end('a byte')).listen(0, '127.0.0.1')
  await once(target, 'listening')
  t.teardown(() => target.close())
  const port = await freePort()
  const { page, errors, close } = await openPage()
  t.teardown(close)

  const began = Date.now()
  const server = await startUp(`${t.testdir()}/data`)
  t.teardown(server.kill)
  await setUp(page, server.link)
  await page.getByLabel('Port on the edge').fill(String(port))
  await page.getByLabel('Target host').fill('127.0.0.1')
  await page.getByLabel('Target port').fill(String((target.address() as AddressInfo).port))
  await page.getByRole('button', { name: 'Create rule' }).click()
  await page.getByText('Waiting for the first connection').waitFor()
  const reply = await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: 'close' } })
  t.equal(await reply.text(), 'a byte')
  t.comment(`forwarded after ${Date.now() - began} ms`)
  await page
    .getByText(/Connections: 1|\d+ B in all/)
    .first()
    .waitFor()

  t.comment(`seen on the page after ${Date.now() - began} ms`)
  t.same(errors, [])
})
