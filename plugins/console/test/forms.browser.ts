// Errors of forms: all at once, at their fields, in the words of the console.
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { admin, completeSetup, openPage, skipReason, startServer } from './browser.ts'

/** Returns the errors that the fields of the form show. */
const errorsAtFields = (page: Page): Promise<string[]> =>
  page.locator('.mantine-InputWrapper-error').allTextContents()

/** Fails if the page shows a name, path or id of the API. */
async function showsNoApiWords(t: Test, page: Page): Promise<void> {
  const texts = await page.locator('main, [role=dialog], .notices').allInnerTexts()
  t.notMatch(texts.join('\n'), /[a-z]_[a-z]|\/[a-z]+\/|\b[0-9A-HJKMNP-TV-Z]{26}\b/)
}

t.test(
  'a form names all wrong fields at once, in the words of the console',
  { skip: skipReason },
  async t => {
    const server = await startServer(`${t.testdir()}/data`)
    t.teardown(server.kill)
    const { page, errors, close } = await openPage()
    t.teardown(close)

    // the setup, checked in the browser
    await page.goto(server.link)
    await page.getByLabel('User').fill('Ann Miller')
    await page.getByLabel('Display name').fill('')
    await page.getByLabel('Password', { exact: true }).fill('short')
    await page.getByLabel('Repeat password').fill('other')
    await page.getByRole('button', { name: 'Create administrator' }).click()
    t.same(await errorsAtFields(page), [
      'Use 1 to 32 lowercase letters, digits, - and _, and begin with a letter.',
      'Fill in this field.',
      'The password needs at least 12 characters.',
      'The passwords do not match.'
    ])
    await page.reload()
    await completeSetup(page, server.link)

    // a rule: what is missing, then what the server refuses
    await page.goto(`${server.origin}/rules/new`)
    await page.getByRole('button', { name: 'Create rule' }).click()
    t.same(await errorsAtFields(page), Array(3).fill('Fill in this field.'))
    t.same(errors, [])
    await page.getByLabel('Listen port').fill('80000')
    await page.getByLabel('Target host', { exact: true }).fill('http://x')
    await page.getByLabel('Target port', { exact: true }).fill('70000')
    await page.getByRole('button', { name: 'Create rule' }).click()
    await page.getByText('The number is too large.').nth(1).waitFor()
    t.same(await errorsAtFields(page), Array(2).fill('The number is too large.'))
    await showsNoApiWords(t, page)

    // a port that is in use, and grants with a wrong range
    await page.getByLabel('Listen port').fill(String(new URL(server.origin).port))
    await page.getByLabel('Target host', { exact: true }).fill('127.0.0.1')
    await page.getByLabel('Target port', { exact: true }).fill('80')
    await page.getByRole('button', { name: 'Create rule' }).click()
    await page.getByText('Another program or rule uses this port on the client.').waitFor()
    await showsNoApiWords(t, page)
    await page.goto(`${server.origin}/users/admin`)
    await page.getByRole('button', { name: 'New grant' }).click()
    await page.getByLabel('First port').fill('200')
    await page.getByLabel('Last port').fill('100')
    await page.getByRole('button', { name: 'Create grant' }).click()
    await page.getByText('Enter ports from 1 to 65535, the lower one first.').waitFor()
    await showsNoApiWords(t, page)
  }
)

t.test('a wrong password is said in the language of the page', { skip: skipReason }, async t => {
  const server = await startServer(`${t.testdir()}/data`)
  t.teardown(server.kill)
  const first = await openPage()
  await completeSetup(first.page, server.link)
  await first.close()
  for (const [locale, said] of [
    ['en-GB', 'User or password is wrong.'],
    ['de-DE', 'Benutzer oder Passwort ist falsch.']
  ] as const) {
    const { page, close } = await openPage({ locale })
    t.teardown(close)
    await page.goto(server.origin)
    await page.locator('[name=user_id]').fill(admin.user)
    await page.locator('[name=password]').fill('not this one')
    await page.locator('[type=submit]').click()
    await page.getByText(said).waitFor()
  }
})
