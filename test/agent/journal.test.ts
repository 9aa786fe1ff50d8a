import { cpSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openJournal } from '../../agent/journal/journal.ts'
import { fakeClock } from '../../kit/fake-clock.ts'
import { recordLog } from '../../kit/record-log.ts'
import { acknowledgeAll, batches, rowsOf, ruleCounters, startJournal, webRule } from './journal-fixture.ts'

const noon = Date.UTC(2026, 0, 15, 12)
const hour = 3_600_000
const day = 24 * hour
const secs = (ms: number): string => String(ms / 1000)

t.test('engine counters become totals by minute, rule, port, target and reason', async t => {
  const clock = fakeClock(noon)
  const { journal } = startJournal(t, t.testdir(), clock)
  journal.bind(1, webRule)

  journal.tick([ruleCounters(1, [10, 20], { connectionsTotal: 1, dnsFailures: 2, rejected: { loop: 3 } })])
  await clock.advance(1000)
  journal.tick([ruleCounters(1, [15, 40], { connectionsTotal: 4, dnsFailures: 2, rejected: { loop: 3 } })])

  const rows = rowsOf(batches(journal))
  t.equal(Object.keys(rows).length, 5)
  t.match(rows, {
    [`minute ${secs(noon)}`]: { ruleId: webRule.id, bytesIn: 15, bytesOut: 40, connections: 4, rejected: 3 },
    rule: { bytesIn: 0, bytesOut: 0, connections: 4, dnsFailures: 2, failovers: 0 },
    'port 8080': { bytesIn: 15, bytesOut: 40 },
    'target web.internal:80': { bytesIn: 15, bytesOut: 40 },
    'rejected loop': { rejected: 3 }
  })
})

t.test("a byte belongs to the minute of the server's clock", async t => {
  const clock = fakeClock(noon)
  const dir = t.testdir()
  const { journal, db } = startJournal(t, dir, clock)
  journal.bind(1, webRule)
  journal.setServerTime(noon + 90_000, clock.monotonic())
  journal.tick([ruleCounters(1, [1, 0])])
  journal.close()
  db.close()

  const next = startJournal(t, dir, clock)
  next.journal.bind(1, webRule)
  next.journal.tick([ruleCounters(1, [1, 0])])

  const minute = { [`minute ${secs(noon + 60_000)}`]: { bytesIn: 1 } }
  t.match(
    batches(next.journal).map(batch => rowsOf([batch])),
    [minute, minute]
  )
})

t.test('a slow Welcome changes the server time as little as possible', async t => {
  const clock = fakeClock(noon)
  const { journal } = startJournal(t, t.testdir(), clock)

  await clock.advance(3000)
  journal.setServerTime(noon + 500, 0)
  t.equal(journal.now(), noon + 3000, 'within the possible range')
  journal.setServerTime(noon + 5000, 1000)
  t.equal(journal.now(), noon + 5000, 'the earliest possible time')
  journal.setServerTime(noon - 4000, 1000)
  t.equal(journal.now(), noon + 5000, 'it does not go backward')
  await clock.advance(7000)
  t.equal(journal.now(), noon + 5000, 'it is frozen until the latest possible time')
  await clock.advance(1)
  t.equal(journal.now(), noon + 5001)
})

t.test('a closed engine rule counts to its last byte, and a reopened one adds to it', async t => {
  const { journal } = startJournal(t, t.testdir())
  journal.bind(1, webRule)
  journal.tick([ruleCounters(1, [10, 10], { active: 1 })])

  journal.recordFinal(ruleCounters(1, [12, 12]))
  journal.tick([ruleCounters(1, [99, 99])])
  journal.bind(2, webRule)
  journal.tick([ruleCounters(2, [1, 1], { active: 2 })])

  t.match(rowsOf(batches(journal)), { 'port 8080': { bytesIn: 13, bytesOut: 13 } })
  t.same(journal.activePorts(), [{ ruleId: webRule.id, port: 8080, connections: 2 }])
})

t.test('only rows that changed since they were committed are reported again, with their totals', async t => {
  const { journal } = startJournal(t, t.testdir())
  journal.bind(1, webRule)
  journal.bind(2, { ...webRule, id: '01RULEIDLE' })
  journal.tick([ruleCounters(1, [10, 0]), ruleCounters(2, [7, 0])])
  acknowledgeAll(journal)

  journal.tick([ruleCounters(1, [30, 0]), ruleCounters(2, [7, 0])])

  const again = batches(journal)
  t.match(rowsOf(again), { 'port 8080': { ruleId: webRule.id, bytesIn: 30 } })
  t.equal(again.flatMap(({ rows }) => rows).length, 3)
})

t.test('a report can be split at any row, and acknowledged rows are not sent again', async t => {
  const { journal } = startJournal(t, t.testdir())
  for (let id = 1; id <= 5; id++) journal.bind(id, { ...webRule, id: `01RULE${id}` })
  journal.tick([1, 2, 3, 4, 5].map(id => ruleCounters(id, [id, 0])))

  const [first] = batches(journal, 4)
  journal.acknowledge(first!.epoch, first!.seq)
  const rest = batches(journal, 4)

  t.equal(first!.rows.length, 4)
  t.same(
    rest.map(({ rows, isLast }) => [rows.length, isLast]),
    [
      [4, false],
      [4, false],
      [3, true]
    ]
  )
  const sent = [first!, ...rest].flatMap(({ rows }) =>
    rows.map(({ ruleId, kind, key }) => `${ruleId} ${kind} ${key}`)
  )
  t.equal(new Set(sent).size, 15)
})

t.test('a row that changes while its report is in flight stays pending', async t => {
  const { journal } = startJournal(t, t.testdir())
  journal.bind(1, webRule)
  journal.tick([ruleCounters(1, [10, 0])])
  const [sent] = batches(journal)

  journal.tick([ruleCounters(1, [11, 0])])
  journal.acknowledge(sent!.epoch, sent!.seq)

  t.match(rowsOf(batches(journal)), { 'port 8080': { bytesIn: 11 } })
})

t.test('without pending rows the last batch is empty and has the epoch', async t => {
  const { journal } = startJournal(t, t.testdir())

  t.match(batches(journal), [{ epoch: /^[0-9a-f]{32}$/, seq: 0, rows: [], isLast: true, gap: null }])
})

t.test('after an orderly stop a new epoch begins without a gap', async t => {
  const dir = t.testdir()
  const before = startJournal(t, dir)
  before.journal.bind(1, webRule)
  before.journal.tick([ruleCounters(1, [10, 0])])
  before.journal.close()
  before.db.close()

  const { journal } = startJournal(t, dir)
  journal.bind(1, webRule)
  journal.tick([ruleCounters(1, [5, 0])])

  const [old, current] = batches(journal)
  t.not(old!.epoch, current!.epoch)
  t.match(old, { gap: null, isLast: false, rows: [{ bytesIn: 10 }, {}, {}] })
  t.match(current, { gap: null, isLast: true, rows: [{ bytesIn: 5 }, {}, {}] })
})

t.test('two copies of one state directory have different epochs', async t => {
  const root = t.testdir({ own: {}, copy: {} })
  const dir = join(root, 'own')
  const copy = join(root, 'copy')
  const before = startJournal(t, dir)
  before.journal.bind(1, webRule)
  before.journal.tick([ruleCounters(1, [10, 0])])
  const committed = acknowledgeAll(before.journal)
  before.journal.close()
  before.db.close()
  cpSync(dir, copy, { recursive: true })

  const both = [dir, copy].map((stateDir, i) => {
    const { journal } = startJournal(t, stateDir)
    journal.bind(1, webRule)
    journal.tick([ruleCounters(1, [100 + i, 0])])
    journal.reconcile(committed)
    return batches(journal).filter(({ rows }) => rows.length > 0)
  })

  t.match(both, [[{ rows: [{ bytesIn: 100 }, {}, {}] }], [{ rows: [{ bytesIn: 101 }, {}, {}] }]])
  t.not(both[0]?.[0]?.epoch, both[1]?.[0]?.epoch)
})

t.test('after a crash a new epoch begins with a gap, and the old one is still reported', async t => {
  const dir = t.testdir()
  const clock = fakeClock(noon)
  const before = startJournal(t, dir, clock)
  before.journal.bind(1, webRule)
  before.journal.tick([ruleCounters(1, [10, 0])])
  before.db.close()
  await clock.advance(5000)

  const { journal } = startJournal(t, dir, clock)
  journal.setServerTime(noon + 5000, clock.monotonic())
  journal.bind(1, webRule)
  journal.tick([ruleCounters(1, [3, 0])])

  const [old, current] = batches(journal)
  t.not(old!.epoch, current!.epoch)
  t.match(old, { gap: null, isLast: false, rows: [{ bytesIn: 10 }, {}, {}] })
  t.match(current, {
    gap: { fromMs: noon, toMs: noon + 5000 },
    isLast: true,
    rows: [{ bytesIn: 3 }, {}, {}]
  })
})

t.test('rows that a restored server does not have are reported again', async t => {
  const { journal } = startJournal(t, t.testdir())
  journal.bind(1, webRule)
  journal.tick([ruleCounters(1, [10, 0])])
  const [first] = batches(journal)
  acknowledgeAll(journal)
  journal.bind(2, { ...webRule, id: '01RULENEXT' })
  journal.tick([ruleCounters(1, [10, 0]), ruleCounters(2, [4, 0])])
  acknowledgeAll(journal)

  journal.reconcile({ [first!.epoch]: first!.seq })
  const afterBackup = batches(journal).flatMap(({ rows }) => rows)
  journal.reconcile({})
  const afterLoss = batches(journal).flatMap(({ rows }) => rows)

  t.same([...new Set(afterBackup.map(({ ruleId }) => ruleId))], ['01RULENEXT'])
  t.equal(afterLoss.length, 6)
})

t.test('rows that the server committed without an acknowledgement are not reported again', async t => {
  const { journal } = startJournal(t, t.testdir())
  journal.bind(1, webRule)
  journal.tick([ruleCounters(1, [10, 0])])
  const [sent] = batches(journal)

  journal.reconcile({ [sent!.epoch]: sent!.seq })

  t.match(batches(journal), [{ rows: [], isLast: true }])
})

t.test('committed minutes are deleted after a day; totals continue', async t => {
  const clock = fakeClock(noon)
  const { journal, db } = startJournal(t, t.testdir(), clock)
  journal.bind(1, webRule)
  journal.tick([ruleCounters(1, [10, 0])])
  acknowledgeAll(journal)
  const minutes = () => db.prepare(`select count(*) as n from journal_row where kind = 'minute'`).get()

  await clock.advance(day - 60_000)
  journal.tick([ruleCounters(1, [10, 0])])
  t.same(minutes(), { n: 1 })
  await clock.advance(120_000)
  journal.tick([ruleCounters(1, [10, 0])])
  t.same(minutes(), { n: 0 })

  journal.tick([ruleCounters(1, [12, 0])])
  t.match(rowsOf(batches(journal)), { 'port 8080': { bytesIn: 12 } })
})

t.test('minutes that were not reported for a week become hours without loss', async t => {
  const clock = fakeClock(noon)
  const { journal } = startJournal(t, t.testdir(), clock)
  journal.bind(1, webRule)
  for (let minute = 0; minute < 90; minute++) {
    journal.tick([ruleCounters(1, [minute + 1, 0])])
    await clock.advance(60_000)
  }

  await clock.advance(7 * day + 2 * hour)
  journal.tick([ruleCounters(1, [90, 0])])

  const rows = rowsOf(batches(journal))
  t.match(rows, { [`hour ${secs(noon)}`]: { bytesIn: 60 }, [`hour ${secs(noon + hour)}`]: { bytesIn: 30 } })
  t.equal(Object.keys(rows).filter(key => key.startsWith('minute')).length, 0)
})

t.test('a sent minute never becomes part of an hour', async t => {
  const clock = fakeClock(noon)
  const { journal } = startJournal(t, t.testdir(), clock)
  journal.bind(1, webRule)
  journal.tick([ruleCounters(1, [10, 0])])
  batches(journal)

  await clock.advance(9 * day)
  journal.tick([ruleCounters(1, [10, 0])])

  t.match(rowsOf(batches(journal)), { [`minute ${secs(noon)}`]: { bytesIn: 10 } })
})

t.test('an old epoch is deleted a day after its last row was committed', async t => {
  const dir = t.testdir()
  const clock = fakeClock(noon)
  const before = startJournal(t, dir, clock)
  before.journal.bind(1, webRule)
  before.journal.tick([ruleCounters(1, [10, 0])])
  before.db.close()
  const { journal, db } = startJournal(t, dir, clock)
  acknowledgeAll(journal)

  await clock.advance(day + 60_000)
  journal.tick([])

  t.same(db.prepare('select count(*) as n from journal_epoch').get(), { n: 1 })
  t.same(db.prepare('select count(*) as n from journal_row').get(), { n: 0 })
})

t.test('a failed write is logged, and no count is lost', async t => {
  const { journal, db, log } = startJournal(t, t.testdir())
  journal.bind(1, webRule)
  db.exec('pragma query_only = 1')
  journal.tick([ruleCounters(1, [10, 0])])
  journal.recordFinal(ruleCounters(1, [11, 0]))
  db.exec('pragma query_only = 0')

  journal.tick([])

  t.match(log, [{ level: 'error', event: 'journal.write_failed' }])
  t.equal(log.length, 1)
  t.match(rowsOf(batches(journal)), { 'port 8080': { bytesIn: 11 } })
})

t.test('a start on a full disk counts in memory until there is space', async t => {
  const dir = t.testdir()
  const { db, log } = startJournal(t, dir) // it is killed
  db.exec('pragma query_only = 1') // fails like a full disk
  const journal = openJournal({ db, clock: fakeClock(), log: recordLog(log) })
  journal.bind(1, webRule)
  journal.tick([ruleCounters(1, [10, 0])])
  t.throws(() => batches(journal), 'a report without the epoch could not be acknowledged')

  db.exec('pragma query_only = 0')
  journal.tick([ruleCounters(1, [12, 0])])

  t.match(log, [{ level: 'error', event: 'journal.write_failed' }])
  const all = batches(journal)
  t.match(rowsOf(all), { 'port 8080': { bytesIn: 12 } })
  t.match(all.at(-1), { gap: {}, isLast: true }, 'the kill is a gap')
})

t.test('an orderly stop on a full disk logs that counts may be lost', async t => {
  const dir = t.testdir()
  const { journal, db, log } = startJournal(t, dir)
  journal.bind(1, webRule)
  journal.recordFinal(ruleCounters(1, [10, 0]))
  db.exec('pragma query_only = 1')

  journal.close()

  t.match(log, [{ event: 'journal.write_failed', message: /may be lost/ }])
})

t.test('a rule that the engine refused to open has no counts', async t => {
  const { journal } = startJournal(t, t.testdir())
  journal.bind(1, webRule)
  journal.unbind(1)

  journal.tick([ruleCounters(1, [10, 0])])

  t.match(batches(journal), [{ rows: [] }])
})
