import t, { type Test } from 'tap'
import { definePlugin } from '../../../kernel/plugin.ts'
import { afterCommit } from '../../../kernel/store/after-commit.ts'
import { noon } from '../../stats/test/fixture.ts'
import { type Level, levelSlot } from '../exports.ts'
import { plugins, quotaFixture } from './fixture.ts'

async function levelsFixture(t: Test, bytes: number) {
  const notified: Level[] = []
  const listener = definePlugin({
    name: 'listener',
    version: '1.0.0',
    kernel: '^2.0.0',
    needs: { quota: '^1.0.0' },
    fills: [levelSlot.fill(async (level, em) => afterCommit(em, () => notified.push(level)))]
  })
  const on = await quotaFixture(t, { plugins: [...plugins, listener] })
  await on.put({ monthly_bytes: bytes })
  return { on, percents: () => notified.map(({ percent }) => percent), notified }
}

t.test('a level is notified once in a period, when it is reached', async t => {
  const { on, notified, percents } = await levelsFixture(t, 35)
  await on.use(27, 1)
  t.same(percents(), [])

  await on.use(28, 2)
  await on.use(34, 3)
  t.same(notified, [
    {
      userId: 'ann',
      clientId: on.clientId,
      percent: 80,
      bytesUsed: 28,
      monthlyBytes: 35,
      periodEnd: Date.UTC(2026, 1) / 1000
    }
  ])
  await on.use(35, 4)
  await on.patch({ clear_period_usage: true })
  await on.use(80, 5)

  t.same(percents(), [80, 100])
})

t.test('both levels may be reached at once, also by a smaller size', async t => {
  const { on, percents } = await levelsFixture(t, 1000)
  await on.use(100, 1)

  await on.put({ monthly_bytes: 100 })

  t.same(percents(), [80, 100])
})

t.test('a quota of 0 has reached both levels when it is set', async t => {
  const { percents } = await levelsFixture(t, 0)

  t.same(percents(), [80, 100])
})

t.test('levels are notified again in the next period', async t => {
  const { on, percents } = await levelsFixture(t, 1000)
  await on.call('DELETE', `/v1/users/ann/quotas/${on.clientId}`)
  await on.put({ monthly_bytes: 100, billing_anchor: noon / 1000 + 8 - 31 * 86_400 })
  await on.use(90, 1)
  t.same(percents(), [80])

  await on.clock.advance(8_000)
  await on.use(90 + 79, 2)
  t.same(percents(), [80])
  await on.use(90 + 80, 3)

  t.same(percents(), [80, 80])
})

t.test('a plugin that fails at a level does not stop the statistics of the client', async t => {
  const listener = definePlugin({
    name: 'listener',
    version: '1.0.0',
    kernel: '^2.0.0',
    needs: { quota: '^1.0.0' },
    fills: [levelSlot.fill(() => Promise.reject(new Error('no mail server')))]
  })
  const on = await quotaFixture(t, { plugins: [...plugins, listener] })
  await on.put({ monthly_bytes: 100 })
  await on.use(90, 1)

  t.match(await on.status(), { bytes_used: 90 })
  t.match(
    on.log.filter(({ event }) => event === 'quota.listener_failed'),
    [{ fields: { plugin: 'listener', error: /no mail server/ } }]
  )
})
