// Walks every page as a superadmin and as a tenant, in both themes.

import t, { type Test } from 'tap'
import { axeFindings, callAs, completeSetup, openPage, signIn, skipReason, startServer } from './browser.ts'
import { fill, tenant } from './fill.ts'
import { scrolledSideways, settled, walk } from './walk.ts'

async function checkPages(
  t: Test,
  seen: Awaited<ReturnType<typeof openPage>>,
  origin: string
): Promise<string[]> {
  const { page, errors } = seen
  const refused: string[] = []
  page.on('response', response => {
    const path = new URL(response.url()).pathname
    if ([401, 403].includes(response.status()) && path.startsWith('/v1/')) refused.push(path)
  })
  const kinds = await walk(page, origin, async ({ title }) => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await settled(page)
      t.same(await axeFindings(page), [], `${title}, ${colorScheme}`)
    }
    for (const width of [390, 1280, 1440, 1920]) {
      await page.setViewportSize({ width, height: 800 })
      await settled(page)
      t.same(await scrolledSideways(page), [], `${title} at ${width} px`)
    }
    await page.setViewportSize({ width: 1280, height: 800 })
    t.equal(await page.getByRole('navigation').count(), 1, `${title} has one navigation`)
    t.equal(await page.getByRole('main').count(), 1, `${title} has one main part`)
  })
  t.same(errors.splice(0), [], 'no errors and no CSP violations')
  t.same(refused, [], 'no request is refused')
  return kinds
}

t.test(
  'every page passes axe, fits phones and screens, and shows no errors for a superadmin and a tenant',
  { skip: skipReason, timeout: 900_000 },
  async t => {
    const server = await startServer(`${t.testdir()}/data`)
    t.teardown(server.kill)
    const boss = await openPage()
    t.teardown(boss.close)
    await completeSetup(boss.page, server.link)
    await fill(boss.page)

    const all = await checkPages(t, boss, server.origin)
    const own = await openPage()
    t.teardown(own.close)
    await own.page.goto(server.origin)
    await signIn(own.page, tenant)
    await own.page.getByRole('navigation').waitFor()
    const some = await checkPages(t, own, server.origin)

    t.ok(all.includes('/clients/ID'))
    t.same(
      some.filter(kind => !all.includes(kind)),
      [],
      'a tenant sees no page that a superadmin lacks'
    )
    t.ok((await callAs<{ role: string }>(own.page, 'GET', '/v1/users/me')).role === 'user')
  }
)
