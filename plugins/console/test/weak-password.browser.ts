// A weak password in the forms that set one, in both languages.
import t from 'tap'
import { openPage, skipReason, startServer } from './browser.ts'

t.test('a form explains why it refuses a common password', { skip: skipReason }, async t => {
  const server = await startServer(`${t.testdir()}/data`)
  t.teardown(server.kill)
  const forms = [
    [
      'en-GB',
      'Password',
      'Repeat password',
      'Create administrator',
      /easy to guess.*several unrelated words/
    ],
    ['de-DE', 'Passwort', 'Passwort wiederholen', 'Administrator anlegen', /leicht zu erraten/]
  ] as const
  for (const [locale, password, repeated, submit, message] of forms) {
    const { page, close } = await openPage({ locale })
    t.teardown(close)
    await page.goto(server.link)
    await page.getByLabel(password, { exact: true }).fill('password1234')
    await page.getByLabel(repeated).fill('password1234')
    await page.getByRole('button', { name: submit }).click()
    await page.getByText(message).waitFor()
  }
})
