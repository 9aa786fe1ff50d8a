// A page that stays open for a day grows no memory and no list. The clock of the browser is a fake one.

import type { Page } from 'playwright-core'
import t from 'tap'
import { callAs, openPage, setUp, skipReason, startUp } from './browser.ts'
import { fill } from './fill.ts'

const stepsOfHour = 3
const awakeMs = 15_000 // of each step: every timer fires as often as it is due
const leapMs = 20 * 60_000 - awakeMs // then each fires once, as when a tab was in the background

/** Lets hours pass, with a change in each step. */
async function pass(page: Page, hours: number): Promise<void> {
  for (let step = 0; step < hours * stepsOfHour; step++) {
    const [rule] = await callAs<{ rule_id: string; paused: boolean }[]>(page, 'GET', '/v1/rules?limit=1')
    await callAs(page, 'POST', `/v1/rules/${rule?.rule_id}/${rule?.paused ? 'resume' : 'pause'}`)
    await page.clock.runFor(awakeMs)
    await page.clock.fastForward(leapMs)
    await callAs(page, 'GET', '/v1/changes') // what the page has asked before is answered
  }
}

/** What the page keeps: nodes and listeners, also those that are no longer shown, and bytes. */
async function kept(page: Page) {
  const session = await page.context().newCDPSession(page)
  await session.send('HeapProfiler.collectGarbage')
  const { nodes, jsEventListeners: listeners } = await session.send('Memory.getDOMCounters')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  await session.detach()
  const shown = await page.locator('main *').count()
  return { nodes, listeners, shown, megabytes: usedSize / 1e6 }
}

t.test(
  'a day of the overview and a day of the rules leave nothing behind',
  { skip: skipReason, timeout: 600_000 },
  async t => {
    const server = await startUp(`${t.testdir()}/data`)
    t.teardown(server.kill)
    const { page, errors, close } = await openPage()
    t.teardown(close)
    await page.clock.install()
    await setUp(page, server.link)
    await fill(page)

    for (const path of ['/', '/rules']) {
      await page.goto(server.origin + path)
      await page.locator('main h1').waitFor()
      await pass(page, 2) // what fills up and stays, such as the points of a chart, is there
      const before = await kept(page)
      await pass(page, 22)
      const after = await kept(page)
      t.comment(path, before, after)
      t.ok(after.shown <= before.shown * 1.05 + 20, 'no more is shown')
      t.ok(after.nodes <= before.nodes * 1.2 + 200, 'no more nodes are kept')
      t.ok(after.listeners <= before.listeners * 1.2 + 50, 'no more listeners are kept')
      t.ok(after.megabytes <= before.megabytes * 1.2 + 2, 'no more memory is kept')
    }
    t.same(errors, [])
  }
)
