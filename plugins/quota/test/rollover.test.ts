import t from 'tap'
import type { CommittedBytes } from '../../stats/exports.ts'
import type { Quota } from '../entities.ts'
import { periodAt } from '../period.ts'
import { currentPeriod, netUsage, rollOver, withCommitted, withExhaustion } from '../usage.ts'
import { openRandom } from './random.ts'

const start = Date.UTC(2024, 0, 31, 6)
const dayMs = 86_400_000

const quota: Quota = {
  userId: 'ann',
  clientId: 'edge',
  monthlyBytes: 1000,
  anchor: start / 1000,
  periodStart: start / 1000,
  used: 0,
  credit: 0,
  exhaustedAt: null,
  levelNotified: null,
  holdSecs: 60,
  enforced: false,
  instanceId: null,
  createdAt: start,
  updatedAt: start
}

const delivered = (
  atMs: number,
  bytesIn: number,
  span: CommittedBytes['span'] = 'minute'
): CommittedBytes => ({
  clientId: 'edge',
  owner: 'ann',
  ruleId: 'rule',
  span,
  startSecs: Math.floor(atMs / 60_000) * 60,
  bytesIn,
  bytesOut: 0,
  datagramsIn: 0,
  datagramsOut: 0,
  connections: 0,
  refused: 0
})

t.test('over 20 years of a jumping clock, no period comes back and each begins without usage', async t => {
  const random = openRandom(5)
  let row = quota
  let now = start
  for (let step = 0; now < start + 20 * 365 * dayMs; step++) {
    now += (random(10) < 7 ? 1 : -1) * random(20 * dayMs)
    const before = row
    row = rollOver(row, now)
    const period = currentPeriod(row, now)
    const isNext = row.periodStart > before.periodStart
    if (row.periodStart < before.periodStart) t.fail(`step ${step}: the period went back`)
    if (isNext && row.used + row.credit > 0) t.fail(`step ${step}: usage was carried over`)
    if (!isNext && row.used !== before.used) t.fail(`step ${step}: usage was lost within a period`)
    if (periodAt(row.anchor, row.periodStart).end !== period.end) t.fail(`step ${step}: wrong end`)
    row = withCommitted(row, [delivered(now, random(300))], now)
    if (random(8) === 0) row = withExhaustion({ ...row, credit: row.used }, now)
    if ((row.exhaustedAt !== null) !== netUsage(row) >= row.monthlyBytes)
      t.fail(`step ${step}: wrong exhaustion`)
  }
})

t.test('a span counts in the period in which it ends', async t => {
  const createdAt = start + 30_500 // in the middle of a minute
  const row = { ...quota, createdAt }
  for (const [difference, used] of [
    [delivered(start - 60_000, 5), 0],
    [delivered(start, 5), 5],
    [delivered(start - 3_540_000, 5, 'hour'), 5],
    [delivered(start - 3_600_000, 5, 'hour'), 0]
  ] as const)
    t.equal(withCommitted(row, [difference], createdAt).used, used)
})

t.test('a quota of 0 bytes is exhausted from the start of its period', async t => {
  const next = rollOver({ ...quota, monthlyBytes: 0 }, start + 40 * dayMs)

  t.equal(next.exhaustedAt, Date.UTC(2024, 1, 29, 6))
})
