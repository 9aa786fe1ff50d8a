// Bytes of an owner in the agent's journal that the server has not acknowledged.
import t from 'tap'
import { fakeClock } from '../../../kit/fake-clock.ts'
import { acknowledgeAll, ruleCounters, startJournal, webRule } from '../../../test/agent/journal-fixture.ts'

const minuteMs = 60_000
const noReport = { epoch: '', seq: 0, since: 0 }

t.test('delivered bytes of an owner count across rules, restarts and acknowledgements', async t => {
  const dir = t.testdir()
  const first = startJournal(t, dir)
  first.journal.bind(1, webRule)
  first.journal.bind(2, { ...webRule, id: '01RULENEXT' })
  first.journal.bind(3, { ...webRule, id: '01RULEBOB', owner: 'bob' })
  first.journal.tick([ruleCounters(1, [10, 5]), ruleCounters(2, [1, 1]), ruleCounters(3, [7, 0])])
  acknowledgeAll(first.journal)
  first.journal.recordFinal(ruleCounters(1, [20, 5]))

  t.equal(first.journal.delivered('ann'), 27)
  t.equal(first.journal.delivered('nobody'), 0)
  first.journal.close()
  t.equal(startJournal(t, dir).journal.delivered('ann'), 27)
})

t.test('bytes of a committed report are acknowledged, even if the answer was lost', async t => {
  const { journal } = startJournal(t, t.testdir())
  journal.bind(1, webRule)
  journal.tick([ruleCounters(1, [100, 0])])
  const [batch] = [...journal.pending(500)]
  const { epoch = '', seq = 0 } = batch ?? {}
  journal.tick([ruleCounters(1, [130, 0])])

  t.equal(journal.unacknowledged('ann', noReport), 130)
  t.equal(journal.unacknowledged('ann', { epoch, seq, since: 0 }), 30, 'the server has committed the report')
  journal.acknowledge(epoch, seq)
  t.equal(journal.unacknowledged('ann', { epoch, seq, since: 0 }), 30)
  t.equal(journal.unacknowledged('ann', noReport), 30)
})

t.test('unacknowledged bytes count from the report that the server names, even an older one', async t => {
  const { journal } = startJournal(t, t.testdir())
  journal.bind(1, webRule)
  const marks = [100, 200, 300].map(bytes => {
    journal.tick([ruleCounters(1, [bytes, 0])])
    const [{ epoch = '', seq = 0 } = {}] = [...journal.pending(500)]
    journal.acknowledge(epoch, seq)
    return { epoch, seq, since: 0 }
  })
  journal.tick([ruleCounters(1, [350, 0])])

  t.same(
    marks.map(mark => journal.unacknowledged('ann', mark)),
    [250, 150, 50]
  )
})

t.test('a report in parts is acknowledged part by part', async t => {
  const { journal } = startJournal(t, t.testdir())
  journal.bind(1, webRule)
  journal.bind(2, { ...webRule, id: '01RULENEXT' })
  journal.tick([ruleCounters(1, [100, 0]), ruleCounters(2, [10, 0])])

  const unacknowledged = [...journal.pending(1)].map(({ epoch, seq }) =>
    journal.unacknowledged('ann', { epoch, seq, since: 0 })
  )

  t.equal(unacknowledged[0], 10, 'the first row is the minute of the first rule')
  t.equal(unacknowledged.at(-1), 0)
})

t.test('only minutes that end after a given time count', async t => {
  const clock = fakeClock()
  const { journal } = startJournal(t, t.testdir(), clock)
  journal.bind(1, webRule)
  journal.tick([ruleCounters(1, [100, 0])])
  const since = Math.floor(clock.now() / 1000) + 60
  await clock.advance(minuteMs)
  journal.tick([ruleCounters(1, [130, 0])])

  t.equal(journal.unacknowledged('ann', { ...noReport, since }), 30)
  t.equal(journal.unacknowledged('ann', { ...noReport, since: since - 1 }), 130)
  t.equal(journal.deliveredSince('ann', since), 30)
  acknowledgeAll(journal)
  t.equal(journal.deliveredSince('ann', since), 30, 'a minute within the period counts, committed or not')
  t.equal(
    journal.deliveredSince('ann', since + 30),
    0,
    'only unacknowledged bytes count in a minute that began earlier'
  )
})

t.test('after a crash, bytes of earlier epochs stay unacknowledged', async t => {
  const dir = t.testdir()
  const first = startJournal(t, dir)
  first.journal.bind(1, webRule)
  first.journal.tick([ruleCounters(1, [100, 0])])
  const [{ epoch = '', seq = 0 } = {}] = [...first.journal.pending(500)]
  first.journal.acknowledge(epoch, seq)
  first.journal.tick([ruleCounters(1, [140, 0])])

  const { journal } = startJournal(t, dir) // the first journal was not closed
  journal.bind(1, webRule)
  journal.tick([ruleCounters(1, [5, 0])])

  t.equal(journal.unacknowledged('ann', { epoch, seq, since: 0 }), 45)
})

t.test('bytes are unacknowledged again if the server has lost their reports', async t => {
  const { journal } = startJournal(t, t.testdir())
  journal.bind(1, webRule)
  journal.tick([ruleCounters(1, [100, 0])])
  acknowledgeAll(journal)
  t.equal(journal.unacknowledged('ann', noReport), 0)

  journal.reconcile({})

  t.equal(journal.unacknowledged('ann', noReport), 100)
})

t.test('pruned deliveries are restored if the server was restored to an old state', async t => {
  const clock = fakeClock()
  const { journal } = startJournal(t, t.testdir(), clock)
  journal.bind(1, webRule)
  const marks = []
  for (let i = 1; i <= 100; i++) {
    journal.tick([ruleCounters(1, [i * 10, 0])])
    const [{ epoch = '', seq = 0 } = {}] = [...journal.pending(500)]
    journal.acknowledge(epoch, seq)
    marks.push({ epoch, seq, since: 0 })
    await clock.advance(5000)
  }
  const [old = { epoch: '', seq: 0, since: 0 }] = marks.slice(11)

  journal.reconcile({ [old.epoch]: old.seq })

  t.equal(journal.unacknowledged('ann', old), 1000 - 120, 'all minutes except those that the server has')
  journal.reconcile({ [old.epoch]: old.seq })
  t.equal(journal.unacknowledged('ann', old), 1000 - 120, 'not twice')
})

t.test('deliveries committed long ago are pruned', async t => {
  const { journal, db } = startJournal(t, t.testdir())
  journal.bind(1, webRule)
  for (let i = 1; i <= 200; i++) {
    journal.tick([ruleCounters(1, [i, 0])])
    acknowledgeAll(journal)
  }

  t.ok(db.prepare<[], { n: number }>('select count(*) as n from unsettled_bytes').get()!.n < 70)
  t.equal(journal.delivered('ann'), 200)
})

t.test('unacknowledged minutes are folded into hours during a long outage of the server', async t => {
  const clock = fakeClock()
  const { journal, db } = startJournal(t, t.testdir(), clock)
  journal.bind(1, webRule)
  const hour = Math.floor(clock.now() / 3_600_000) * 3600
  for (let minute = 1; minute <= 61; minute++) {
    journal.tick([ruleCounters(1, [minute, 0])])
    await clock.advance(minuteMs)
  }
  const rows = () => db.prepare('select count(*) as n from unsettled_bytes').get()
  t.same(rows(), { n: 61 })

  await clock.advance(8 * 24 * 60 * minuteMs)
  journal.tick([ruleCounters(1, [61, 0])])

  t.same(rows(), { n: 2 })
  t.equal(journal.unacknowledged('ann', noReport), 61)
  t.equal(
    journal.unacknowledged('ann', { ...noReport, since: hour + 3599 }),
    61,
    'an hour that ends later counts completely'
  )
  t.equal(journal.unacknowledged('ann', { ...noReport, since: hour + 3600 }), 1)
  const [batch] = [...journal.pending(500)]
  t.equal(journal.unacknowledged('ann', { epoch: batch?.epoch ?? '', seq: batch?.seq ?? 0, since: 0 }), 0)
  acknowledgeAll(journal)
  t.equal(journal.unacknowledged('ann', noReport), 0)
})
