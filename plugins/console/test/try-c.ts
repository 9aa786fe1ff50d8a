import { mkdtempSync, rmSync } from 'node:fs'
import { callAs, openPage, setUp, signIn, startUp } from './browser.ts'

const data = mkdtempSync('/tmp/console-c/try-')
const server = await startUp(`${data}/d`)
const { page, errors, close } = await openPage()
try {
  await setUp(page, server.link)
  await callAs(page, 'POST', '/v1/users', {
    user_id: 'ann',
    display_name: 'Ann',
    role: 'user',
    password_change_required: true,
    initial_password: 'a temporary password'
  })
  await page.context().clearCookies()
  await page.goto(`${server.origin}/rules`)
  page.on('response', async r =>
    console.log(r.status(), r.url().slice(22), r.status() > 399 ? await r.text() : '')
  )
  await signIn(page, { user: 'ann', password: 'a temporary password' })
  await page.waitForTimeout(3000)
  await page.screenshot({ path: '/tmp/console-c/1.png' })
  console.log(errors)
} finally {
  await close()
  await server.kill()
  rmSync(data, { recursive: true })
}
