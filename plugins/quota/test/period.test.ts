import t from 'tap'
import { firstOfMonth, periodAt } from '../period.ts'
import { openRandom } from './random.ts'

const secs = (text: string): number => Date.parse(text) / 1000
const hour = 3600

t.test('a period is a calendar month from its anchor', async t => {
  for (const [anchor, at, start, end] of [
    ['2026-01-01T00:00:00Z', '2026-01-15T12:00:00Z', '2026-01-01T00:00:00Z', '2026-02-01T00:00:00Z'],
    ['2026-01-01T00:00:00Z', '2026-01-31T23:59:59Z', '2026-01-01T00:00:00Z', '2026-02-01T00:00:00Z'],
    ['2026-01-01T00:00:00Z', '2026-02-01T00:00:00Z', '2026-02-01T00:00:00Z', '2026-03-01T00:00:00Z'],
    ['2024-01-31T06:30:05Z', '2026-02-28T06:30:04Z', '2026-01-31T06:30:05Z', '2026-02-28T06:30:05Z'],
    ['2024-01-31T06:30:05Z', '2026-02-28T06:30:05Z', '2026-02-28T06:30:05Z', '2026-03-31T06:30:05Z'],
    ['2024-01-31T06:30:05Z', '2028-02-29T06:30:05Z', '2028-02-29T06:30:05Z', '2028-03-31T06:30:05Z'],
    ['2024-02-29T00:00:00Z', '2025-03-01T00:00:00Z', '2025-02-28T00:00:00Z', '2025-03-29T00:00:00Z'],
    ['1999-12-30T00:00:00Z', '2100-02-28T00:00:00Z', '2100-02-28T00:00:00Z', '2100-03-30T00:00:00Z']
  ] as const)
    t.same(periodAt(secs(anchor), secs(at)), { start: secs(start), end: secs(end) }, `${anchor} at ${at}`)
})

const dayIn = (time: number): number => new Date(time * 1000).getUTCDate()
const lastDayOf = (time: number): number => {
  const date = new Date(time * 1000)
  return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate()
}

t.test('over 20 years periods follow one another without gap or drift', async t => {
  const random = openRandom(7)
  for (let run = 0; run < 40; run++) {
    const anchor = secs('2000-01-01T00:00:00Z') + random(8766 * hour) * hour
    let { start, end } = periodAt(anchor, anchor)
    if (start !== anchor) t.fail('the first does not begin at the anchor')
    for (let month = 0; month < 20 * 12; month++) {
      const inside = start + random(end - start)
      const [first, last, next] = [start, end - 1, end].map(at => periodAt(anchor, at))
      for (const period of [first, last, periodAt(anchor, inside)])
        if (period?.start !== start || period.end !== end) t.fail(`${anchor}: ${inside} is in another`)
      if (next?.start !== end) t.fail(`${anchor}: a gap after ${end}`)
      if (dayIn(end) !== Math.min(dayIn(anchor), lastDayOf(end)))
        t.fail(`${anchor}: the day drifts at ${end}`)
      if ((end - anchor) % hour !== 0) t.fail('the time of the day moves')
      if (next) ({ start, end } = next)
    }
  }
})

t.test('without an anchor a period is a calendar month', async t => {
  t.equal(firstOfMonth(secs('2026-02-28T23:59:59Z')), secs('2026-02-01T00:00:00Z'))
  t.equal(firstOfMonth(secs('2026-03-01T00:00:00Z')), secs('2026-03-01T00:00:00Z'))
})
