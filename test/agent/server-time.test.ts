import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { fakeClock } from '../../kit/fake-clock.ts'
import { batches, rowsOf, ruleCounters, startJournal, webRule } from './journal-fixture.ts'

const noon = Date.UTC(2026, 0, 15, 12)
const hourMs = 3_600_000
const dayMs = 24 * hourMs
const steps = [1000, 2 * hourMs, 40 * dayMs, 800 * dayMs].flatMap(ms => [ms, -ms])

t.test("a step of the agent's clock changes neither the server's time nor the minute of a byte", async t => {
  for (const ms of steps) {
    const clock = fakeClock(noon)
    const { journal } = startJournal(t, t.testdir(), clock)
    journal.setServerTime(noon + 5_000, clock.monotonic())
    journal.bind(1, webRule)

    clock.step(ms)
    await clock.advance(60_000)
    journal.tick([ruleCounters(1, [10, 0])])

    t.equal(journal.now(), noon + 65_000, `by ${ms} ms`)
    t.match(rowsOf(batches(journal)), { [`minute ${noon / 1000 + 60}`]: { bytesIn: 10 } })
  }
})

t.test('an agent that starts without its server continues from the saved time', async t => {
  for (const ms of steps) {
    const dir = t.testdir({})
    const clock = fakeClock(noon)
    const before = startJournal(t, dir, clock)
    before.journal.setServerTime(noon + hourMs, clock.monotonic())
    await clock.advance(30_000)
    before.journal.tick([])
    before.db.close() // as after a kill

    const later = fakeClock(noon + 5 * hourMs + ms)
    const { journal } = startJournal(t, dir, later)

    t.equal(journal.now(), noon + hourMs + 30_000, `clock off by ${ms} ms at the start`)
    await later.advance(1_000)
    t.equal(journal.now(), noon + hourMs + 31_000)
    journal.setServerTime(noon + 5 * hourMs, later.monotonic())
    t.equal(journal.now(), noon + 5 * hourMs, 'and takes the time of its server once connected')
  }
})

t.test(
  'an agent that starts again on a host that stayed up has the right time without its server',
  async t => {
    for (const ms of steps) {
      const dir = t.testdir({})
      const clock = fakeClock(noon)
      const upMs = 7 * hourMs
      const before = startJournal(t, dir, clock, { id: 'one', upMs: () => upMs + clock.monotonic() })
      t.notOk(before.journal.isTimeKnown(), 'it has no time from the server yet')
      before.journal.setServerTime(noon + hourMs, clock.monotonic())
      t.ok(before.journal.isTimeKnown())
      await clock.advance(30_000)
      before.db.close() // as after a kill

      const later = fakeClock(noon + ms)
      const boot = { id: 'one', upMs: () => upMs + 5 * hourMs + later.monotonic() }
      const { journal } = startJournal(t, dir, later, boot)

      t.ok(journal.isTimeKnown())
      const lateMs = noon + 6 * hourMs - journal.now()
      t.ok(lateMs >= 0 && lateMs <= 10, `never early, and ${lateMs} ms late`)
      later.step(ms)
      t.equal(journal.now(), noon + 6 * hourMs - lateMs, 'a step of its clock changes nothing')
    }
  }
)

t.test('the time is unknown after a boot of the host or a reset of its uptime', async t => {
  for (const [id, upMs] of [
    ['two', 100_000],
    ['one', 100]
  ] as const) {
    const dir = t.testdir({})
    const clock = fakeClock(noon)
    const before = startJournal(t, dir, clock, { id: 'one', upMs: () => hourMs + clock.monotonic() })
    before.journal.setServerTime(noon, clock.monotonic())
    before.db.close()

    const { journal } = startJournal(t, dir, fakeClock(noon + dayMs), { id, upMs: () => upMs })

    t.notOk(journal.isTimeKnown())
    t.equal(journal.now(), noon, 'the earliest possible time')
  }
})

t.test('clock.skew is logged once per change of more than 5 s, not per report', async t => {
  const clock = fakeClock(noon)
  const { journal, log } = startJournal(t, t.testdir(), clock)
  const hear = () => journal.setServerTime(noon + clock.monotonic(), clock.monotonic())
  const skews = () =>
    log.filter(({ event }) => event === 'clock.skew').map(({ fields }) => fields['skew_secs'])

  for (const step of [0, 5_000, 1_000, 0, 3_000, -40 * dayMs, 0, 40 * dayMs - 9_000, 9_000]) {
    clock.step(step)
    await clock.advance(5_000)
    hear()
  }

  t.same(skews(), [6, 9 - 40 * 86_400, 9])
})

t.test('setting the clock back does not delay the sync of the journal', async t => {
  const clock = fakeClock(noon)
  const dir = t.testdir()
  const { journal } = startJournal(t, dir, clock)
  const isSynced = (): boolean => readFileSync(join(dir, 'state.db')).includes(webRule.id)
  journal.bind(1, webRule)
  journal.tick([ruleCounters(1, [10, 0])])
  t.notOk(isSynced())

  clock.step(-2 * hourMs)
  await clock.advance(30_000)
  journal.tick([ruleCounters(1, [20, 0])])

  t.ok(isSynced())
})

t.test("acknowledged rows stay for a day, whatever the agent's clock shows", async t => {
  for (const ms of [40 * dayMs, -40 * dayMs]) {
    const clock = fakeClock(noon)
    const { journal, db } = startJournal(t, t.testdir({}), clock)
    const minutes = () => db.prepare(`select count(*) as n from journal_row where kind = 'minute'`).get()
    journal.bind(1, webRule)
    journal.tick([ruleCounters(1, [10, 0])])
    const [batch] = batches(journal)
    journal.acknowledge(batch?.epoch ?? '', batch?.seq ?? 0)

    clock.step(ms)
    await clock.advance(dayMs - 60_000)
    journal.tick([ruleCounters(1, [10, 0])])
    t.same(minutes(), { n: 1 }, `by ${ms} ms`)
    await clock.advance(120_000)
    journal.tick([ruleCounters(1, [10, 0])])
    t.same(minutes(), { n: 0 })
  }
})
