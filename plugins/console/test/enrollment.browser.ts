// A reinstalled host keeps its client record.
import t from 'tap'
import { callAs, completeSetup, openPage, skipReason, startAgent, startServer } from './browser.ts'

t.test('a new command connects a reinstalled host as the same client', { skip: skipReason }, async t => {
  const dir = t.testdir()
  const server = await startServer(`${dir}/data`)
  t.teardown(server.kill)
  const { page, errors, close } = await openPage()
  t.teardown(close)
  await completeSetup(page, server.link)
  const uriShown = async (): Promise<string> => {
    const command = await page.locator('code', { hasText: 'agent join' }).textContent()
    return /[a-z+]+:\/\/[^\s'"]+/.exec(command ?? '')?.[0] ?? ''
  }
  const clientIds = async () => {
    const all = await callAs<{ client_id: string; client_name: string }[]>(page, 'GET', '/v1/clients')
    return all.filter(({ client_name }) => client_name === 'paris').map(({ client_id }) => client_id)
  }

  await page.goto(`${server.origin}/clients/new`)
  await page.getByLabel('Name', { exact: true }).fill('paris')
  await page.getByRole('button', { name: 'Create command' }).click()
  await page.getByText(/Valid for \d.*Waiting for the client/).waitFor()
  const first = startAgent(`${dir}/first`, await uriShown())
  t.teardown(first.kill)
  await page.getByText('paris is connected.').waitFor()
  const before = await clientIds()
  await first.kill()

  await page.goto(`${server.origin}/clients/${before[0]}`)
  await page.getByRole('button', { name: 'Enroll again' }).click()
  const dialog = page.getByRole('dialog', { name: 'Enroll paris again' })
  await dialog.getByRole('button', { name: 'Create command' }).click()
  await dialog.getByText(/Valid for \d.*Waiting for the client/).waitFor()
  const second = startAgent(`${dir}/second`, await uriShown())
  t.teardown(second.kill)
  await dialog.getByText('paris is connected.').waitFor()

  t.equal(before.length, 1)
  t.same(await clientIds(), before)
  t.same(errors, [])
})
