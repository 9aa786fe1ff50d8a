// A page that stays open for a day does not grow. The browser runs on a fake clock.

import type { Page } from 'playwright-core'
import t from 'tap'
import { callAs, completeSetup, openPage, skipReason, startServer } from './browser.ts'
import { fill } from './fill.ts'

const stepsOfHour = 3
const awakeMs = 15_000 // of each step: all timers fire normally
const leapMs = 20 * 60_000 - awakeMs // then each timer fires once, as in a background tab

/** Advances the clock, with a change of a rule in each step. */
async function pass(page: Page, hours: number): Promise<void> {
  for (let step = 0; step < hours * stepsOfHour; step++) {
    const [rule] = await callAs<{ rule_id: string; paused: boolean }[]>(page, 'GET', '/v1/rules?limit=1')
    await callAs(page, 'POST', `/v1/rules/${rule?.rule_id}/${rule?.paused ? 'resume' : 'pause'}`)
    await page.clock.runFor(awakeMs)
    await page.clock.fastForward(leapMs)
    await callAs(page, 'GET', '/v1/changes') // earlier requests of the page are answered
  }
}

/** Counts DOM nodes, listeners (also detached ones), visible elements and heap size. */
async function measure(page: Page) {
  const session = await page.context().newCDPSession(page)
  await session.send('HeapProfiler.collectGarbage')
  const { nodes, jsEventListeners: listeners } = await session.send('Memory.getDOMCounters')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  await session.detach()
  const shown = await page.locator('main *').count()
  return { nodes, listeners, shown, megabytes: usedSize / 1e6 }
}

t.test('a page that is open for a day does not leak', { skip: skipReason, timeout: 600_000 }, async t => {
  const server = await startServer(`${t.testdir()}/data`)
  t.teardown(server.kill)
  const { page, errors, close } = await openPage()
  t.teardown(close)
  await page.clock.install()
  await completeSetup(page, server.link)
  await fill(page)
  await page.goto(server.origin)
  await page.getByText('Throughput').waitFor({ timeout: 150_000 }) // traffic of a whole minute has arrived

  for (const path of ['/', '/rules']) {
    await page.goto(server.origin + path)
    await page.locator('main h1').waitFor()
    await pass(page, 2) // fills bounded buffers, such as chart points
    const before = await measure(page)
    await pass(page, 22)
    const after = await measure(page)
    t.comment(path, before, after)
    t.ok(after.shown <= before.shown * 1.05 + 20, 'visible elements')
    t.ok(after.nodes <= before.nodes * 1.2 + 200, 'DOM nodes')
    t.ok(after.listeners <= before.listeners * 1.2 + 50, 'listeners')
    t.ok(after.megabytes <= before.megabytes * 1.2 + 2, 'heap size')
  }
  t.same(errors, [])
})
