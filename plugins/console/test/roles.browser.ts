// Walks every page as a viewer and as an operator: the server refuses no request, and a viewer sees no way to change anything.

import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { callAs, completeSetup, openPage, signIn, skipReason, startServer } from './browser.ts'
import { fill } from './fill.ts'
import { settled, walk } from './walk.ts'

const password = 'a password of the role'

/** Signs in as a new user of this role, in its own browser. */
async function openAs(t: Test, role: string, boss: Page, origin: string) {
  const user = `x-${role}`
  const body = { user_id: user, display_name: user, role, initial_password: password }
  await callAs(boss, 'POST', '/v1/users', { ...body, password_change_required: false })
  const seen = await openPage()
  t.teardown(seen.close)
  await seen.page.goto(origin)
  await signIn(seen.page, { user, password })
  await seen.page.getByRole('navigation').waitFor()
  const refused: string[] = []
  seen.page.on('response', response => {
    const { pathname } = new URL(response.url())
    if ([401, 403].includes(response.status()) && pathname.startsWith('/v1/')) refused.push(pathname)
  })
  return { ...seen, refused }
}

const changing =
  /^(new|add|create|edit|delete|duplicate|pause|resume|lift|turn|revoke|renew|reset|disable|enable|cancel|close|change|save|store|clear|rotate|issue|actions)\b/i

/** Returns the names of buttons and links that change something. */
async function changingControls(page: Page): Promise<string[]> {
  const main = page.getByRole('main')
  const names = await Promise.all(
    [main.getByRole('button'), main.getByRole('link')].map(controls => controls.allTextContents())
  )
  return names.flat().filter(name => changing.test(name))
}

t.test(
  'the console offers each role what the server allows it',
  { skip: skipReason, timeout: 900_000 },
  async t => {
    const server = await startServer(`${t.testdir()}/data`)
    t.teardown(server.kill)
    const boss = await openPage()
    t.teardown(boss.close)
    await completeSetup(boss.page, server.link)
    await fill(boss.page)
    const offered: string[] = []
    const every = await walk(boss.page, server.origin, async () => {
      offered.push(...(await changingControls(boss.page)))
    })
    t.ok(offered.length > 20, 'a superadmin is offered changes')

    const viewer = await openAs(t, 'viewer', boss.page, server.origin)
    const changes: string[] = []
    const ofViewer = await walk(viewer.page, server.origin, async ({ title }) => {
      if (!title.startsWith('/account'))
        for (const name of await changingControls(viewer.page)) changes.push(`${title}: ${name}`)
    })
    t.same(changes, [], 'a viewer is offered no change')
    t.same(viewer.refused, [], 'no request of a viewer is refused')
    for (const path of ['/users', '/audit', '/bans', '/sources', '/settings', '/plugins', '/account'])
      t.ok(ofViewer.includes(path), path)
    await viewer.page.goto(`${server.origin}/rules/new`)
    await settled(viewer.page)
    t.equal(await viewer.page.getByRole('main').locator('form').count(), 0, 'no form for a rule')

    const operator = await openAs(t, 'operator', boss.page, server.origin)
    const ofOperator = await walk(operator.page, server.origin, async ({ title }) => {
      const names = (await changingControls(operator.page)).join()
      if (title === '/users' || title === '/settings') t.equal(names, '', title)
      if (title === '/bans' || title === '/rules' || title === '/clients') t.not(names, '', title)
    })
    t.same(operator.refused, [], 'no request of an operator is refused')
    t.same(
      ofOperator.filter(kind => !every.includes(kind)),
      [],
      'an operator sees no page that a superadmin lacks'
    )
    t.ok(ofOperator.includes('/clients/new') && !ofOperator.includes('/users/new'))
    t.same([...viewer.errors, ...operator.errors], [])
  }
)
