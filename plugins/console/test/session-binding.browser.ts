// Another program on the host of the API, such as a tenant's target behind a forwarded port: cookies have no port, so the
// browser sends it the session cookie, and its pages can plant cookies.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { admin, callAs, completeSetup, openPage, signIn, skipReason, startServer } from './browser.ts'

/** A site on another port of the same host. It records the cookies that it gets. */
async function startNeighbor(t: Test) {
  const cookies: string[] = []
  const server = createServer(({ headers }, response) => {
    cookies.push(headers.cookie ?? '')
    response.setHeader('content-type', 'text/html').end('a page of the tenant')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { cookies, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

t.test(
  'a page on another port gets the cookie, and neither opens nor locks anything with it',
  { skip: skipReason },
  async t => {
    const server = await startServer(`${t.testdir()}/data`)
    t.teardown(server.kill)
    const { page, errors, close } = await openPage()
    t.teardown(close)
    await completeSetup(page, server.link)
    const neighbor = await startNeighbor(t)
    const getMe = (headers: Record<string, string>) => fetch(`${server.origin}/v1/users/me`, { headers })

    await page.goto(neighbor.origin)

    const [cookie = ''] = neighbor.cookies
    t.match(cookie, /^svc_session=[\w-]{43}$/, 'the neighbor got the cookie')
    t.equal((await getMe({ cookie })).status, 401)
    t.equal((await getMe({ cookie, 'x-svc-session-key': 'a'.repeat(64) })).status, 401)
    t.equal((await getMe({ cookie, authorization: 'Basic YTpi' })).status, 401)
    const keys = await page.evaluate(() =>
      Object.keys((globalThis as { localStorage?: object }).localStorage ?? {})
    )
    t.notOk(keys.includes('sluice-session-key'), 'the key is out of its reach')

    /** Sets cookies as a script of the neighbor's page. */
    const plant = async (cookies: readonly string[]): Promise<void> => {
      await page.goto(neighbor.origin)
      await page.evaluate(cookies => {
        const { document } = globalThis as unknown as { document: { cookie: string } }
        for (const one of cookies) document.cookie = one
      }, cookies)
    }
    const below = ['', '/v1', '/v1/', '/v1/users', '/v1/users/', '/v1/users/me', '/v1/changes', '/v1/rules']
    for (const count of [1, 64, 100]) {
      const pathOf = (i: number) => (count === 1 ? '/v1' : (below[i] ?? `/v1/${i}`))
      await plant(Array.from({ length: count }, (_, i) => `svc_session=${'x'.repeat(43)}; path=${pathOf(i)}`))
      await page.goto(server.origin)
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
      t.match(await callAs(page, 'GET', '/v1/users/me'), { user_id: admin.user }, `${count} planted cookies`)
    }

    await plant(Array.from({ length: 10 }, (_, i) => `large-${i}=${'x'.repeat(3_000)}; path=/`))
    await page.goto(server.origin)
    await page.goto(server.origin)
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await signIn(page, admin)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    t.same(errors, [])
  }
)

t.test('a browser that lost the key signs in again', { skip: skipReason }, async t => {
  const server = await startServer(`${t.testdir()}/data`)
  t.teardown(server.kill)
  const { page, close } = await openPage()
  t.teardown(close)
  await completeSetup(page, server.link)

  await page.evaluate(() =>
    (globalThis as unknown as { localStorage: { clear(): void } }).localStorage.clear()
  )
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await signIn(page, admin)
  await page.getByRole('heading', { name: 'Overview' }).waitFor()

  const keyOf = () =>
    page.evaluate(() =>
      (
        globalThis as unknown as { localStorage: { getItem(name: string): string | null } }
      ).localStorage.getItem('sluice-session-key')
    )
  const before = await keyOf()
  await page.getByRole('button', { name: /Account/ }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  t.equal(await keyOf(), before, 'the server knows this browser by its key the next time')
})
