// A killed agent may lose counted bytes. They lie in the gap that its next start reports.
import t from 'tap'
import { fakeClock } from '../../kit/fake-clock.ts'
import { acknowledgeAll, batches, ruleCounters, startJournal, webRule } from '../agent/journal-fixture.ts'

const noon = Date.UTC(2026, 0, 15, 12)
const other = { ...webRule, id: '01RULEAPI' }

for (const [what, act] of [
  ['the server time changes', ({ journal }) => journal.setServerTime(noon + 90_900, 900)],
  ['another rule closes', ({ journal }) => journal.recordFinal(ruleCounters(2, [5, 0]))]
] as const satisfies readonly [string, (opened: ReturnType<typeof startJournal>) => void][])
  t.test(`a gap begins when all rules were last counted, even if ${what} later`, async t => {
    const clock = fakeClock(noon)
    const dir = t.testdir()
    const opened = startJournal(t, dir, clock)
    opened.journal.setServerTime(noon + 90_000, 0)
    opened.journal.bind(1, webRule)
    opened.journal.bind(2, other)
    opened.journal.tick([ruleCounters(1, [10, 0]), ruleCounters(2, [4, 0])])

    await clock.advance(900)
    act(opened)
    opened.db.close() // as after a kill
    await clock.advance(5_000)
    const next = startJournal(t, dir, clock)
    next.journal.setServerTime(noon + 95_900, clock.monotonic())

    t.match(batches(next.journal).at(-1)?.gap, { fromMs: noon + 90_000, toMs: noon + 95_900 })
  })

t.test('a gap is reported once, even if the agent is killed again before the report', async t => {
  const clock = fakeClock(noon)
  const dir = t.testdir()
  const first = startJournal(t, dir, clock)
  first.journal.bind(1, webRule)
  first.journal.tick([ruleCounters(1, [10, 0])])
  first.db.close() // as after a kill
  await clock.advance(2_000)
  startJournal(t, dir, clock).db.close()
  await clock.advance(61_000)
  const { journal } = startJournal(t, dir, clock)
  journal.setServerTime(noon + 63_000, clock.monotonic())
  journal.tick([])

  const gaps = () => batches(journal).flatMap(({ gap }) => gap ?? [])
  t.same(gaps(), [
    { fromMs: noon, toMs: noon + 63_000 },
    { fromMs: noon, toMs: noon + 63_000 }
  ])
  acknowledgeAll(journal)
  t.same(gaps(), [])
})
