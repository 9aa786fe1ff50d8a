// The agent plugin with a real journal and a scripted stream.
import t, { type Test } from 'tap'
import type { Counters } from '../../../agent/engine/engine.ts'
import { openJournal } from '../../../agent/journal/journal.ts'
import type { AgentCall } from '../../../agent/plugin.ts'
import { openStateDatabase } from '../../../agent/state/state-database.ts'
import {
  CommittedEpochs,
  LastReport,
  messages,
  StatsReport,
  welcomePart
} from '../../../agent/wire/journal-report.ts'
import { openCodec } from '../../../kernel/wire/codec.ts'
import { bindHandlers, Refused } from '../../../kernel/wire/message.ts'
import { fakeClock } from '../../../kit/fake-clock.ts'
import { type LogLine, recordLog } from '../../../kit/test-server.ts'
import { ruleCounters, webRule } from '../../../test/agent/journal-fixture.ts'
import agent from '../agent.ts'
import { noon } from './fixture.ts'

const codec = openCodec(messages)

function agentFixture(t: Test, dir = t.testdir()) {
  const db = openStateDatabase(dir, 'normal')
  t.teardown(() => db.close())
  const clock = fakeClock(noon)
  const log: LogLine[] = []
  const journal = openJournal({ db, clock, log: recordLog(log) })
  let sample: Counters[] = []
  const takeSample = () => journal.tick(sample)
  // Has only the members that the plugin uses.
  const call = { journal, takeSample, codec, clock, log: recordLog(log) } as unknown as AgentCall
  const reports: StatsReport[] = []
  let refusal: string | null = null

  /** Connects to a server that commits every report, unless `refuse` was called. */
  function connect(committed: Readonly<Record<string, number>> = {}): AbortController {
    const controller = new AbortController()
    const welcome = codec.encode(CommittedEpochs, { committed })
    const handleReport = async (_: unknown, report: StatsReport) => {
      if (controller.signal.aborted) throw new Refused('wire.closed', 'the stream has ended')
      if (refusal !== null) throw new Refused(refusal, refusal)
      reports.push(report)
      return { epoch: report.epoch, seq: report.seq }
    }
    const stream = {
      send: () => {},
      request: handleReport as never, // the plugin sends only reports
      signal: controller.signal,
      endpoint: '127.0.0.1:7443',
      welcomePart: (key: string) => (key === welcomePart ? welcome : undefined)
    }
    agent.connected(stream, call)
    return controller
  }
  return {
    journal,
    clock,
    log,
    call,
    reports,
    connect,
    /** Sets the counters of the next sample. */
    setCounters: (...counters: Counters[]) => {
      sample = counters
    },
    refuse: (code: string | null) => {
      refusal = code
    }
  }
}

t.test('the first report on a stream is sent at once, later ones only when something changed', async t => {
  const { journal, clock, reports, connect } = agentFixture(t)
  journal.bind(1, webRule)

  connect()
  await clock.advance(20_000)
  t.match(reports, [{ part: 0, last: true, rows: [], live: [] }])
  journal.tick([ruleCounters(1, [10, 20], { active: 1, connectionsTotal: 1 })])
  await clock.advance(5_000)
  await clock.advance(5_000)

  t.equal(reports.length, 2)
  t.match(reports[1], {
    last: true,
    live: [{ rule_id: webRule.id, port: 8080, connections: 1 }]
  })
  t.match(
    reports[1]?.rows.find(({ kind }) => kind === 'minute'),
    { rule_id: webRule.id, key: String(noon / 1000), bytes_in: 10, bytes_out: 20 }
  )
})

t.test('a change of active connections alone causes a report', async t => {
  const { journal, clock, reports, connect } = agentFixture(t)
  journal.bind(1, webRule)
  journal.tick([ruleCounters(1, [0, 0], { active: 1, connectionsTotal: 1 })])
  connect()
  await clock.advance(0)

  journal.tick([ruleCounters(1, [0, 0], { active: 0, connectionsTotal: 1 })])
  await clock.advance(5_000)

  t.match(
    reports.map(({ live }) => live.length),
    [1, 0]
  )
})

t.test('a long report is sent in parts, with the active connections in the last part', async t => {
  const { journal, clock, reports, connect } = agentFixture(t)
  for (let id = 1; id <= 400; id++) journal.bind(id, { ...webRule, id: `01RULE${id}` })
  journal.tick(Array.from({ length: 400 }, (_, i) => ruleCounters(i + 1, [1, 1], { active: 1 })))

  connect()
  await clock.advance(0)

  t.same(
    reports.map(({ part, last, rows, live }) => [part, last, rows.length, live.length]),
    [
      [0, false, 500, 0],
      [1, false, 500, 0],
      [2, true, 200, 400]
    ]
  )
  t.ok(reports.every(report => codec.encode(StatsReport, report).length < 256 * 1024))
})

t.test('a failed report is sent again in full', async t => {
  const { journal, clock, reports, log, connect, refuse } = agentFixture(t)
  journal.bind(1, webRule)
  journal.tick([ruleCounters(1, [10, 0], { active: 1 })])

  refuse('internal')
  connect()
  await clock.advance(0)
  refuse(null)
  await clock.advance(5_000)

  t.match(log, [{ event: 'stats.report_failed' }])
  t.match(reports, [{ live: [{}], rows: [{ bytes_in: 10 }, {}, {}] }])
})

t.test('after a reconnect the agent reports only rows after the committed seq', async t => {
  const { journal, clock, reports, connect } = agentFixture(t)
  journal.bind(1, webRule)
  journal.tick([ruleCounters(1, [10, 0])])
  const first = connect()
  await clock.advance(0)
  first.abort()
  const [{ epoch, seq }] = reports as [StatsReport]

  connect({ [epoch]: seq })
  await clock.advance(0)
  connect({})
  await clock.advance(0)

  t.same(
    reports.map(({ rows }) => rows.length),
    [3, 0, 3]
  )
})

t.test('an older epoch is reported before the current one, with the gap between them', async t => {
  const dir = t.testdir()
  const before = agentFixture(t, dir)
  before.journal.bind(1, webRule)
  before.journal.tick([ruleCounters(1, [10, 0])])
  const { clock, reports, connect } = agentFixture(t, dir)

  connect()
  await clock.advance(0)

  t.match(reports, [
    { part: 0, last: false, rows: [{ bytes_in: 10 }, {}, {}] },
    { part: 1, last: true, rows: [], gap: { from_ms: noon, to_ms: noon } }
  ])
  t.notOk(reports[0]?.gap)
})

t.test('the agent reports all counts on request and before it stops', async t => {
  const { journal, clock, reports, call, connect, setCounters } = agentFixture(t)
  journal.bind(1, webRule)
  connect()
  await clock.advance(0)

  setCounters(ruleCounters(1, [10, 0]))
  const [handler] = bindHandlers(agent.handlers, () => call)
  await handler?.run(codec, codec.encode(LastReport, {}))
  t.match(reports.at(-1), { rows: [{ bytes_in: 10 }, {}, {}] })

  journal.tick([ruleCounters(1, [15, 0])])
  await agent.stopping(call)
  t.match(reports.at(-1), { rows: [{ bytes_in: 15 }, {}, {}] })
  t.equal(reports.length, 3)
})

t.test('no report is sent on a stream that has ended', async t => {
  const { journal, clock, reports, connect, log } = agentFixture(t)
  journal.bind(1, webRule)
  const stream = connect()
  await clock.advance(0)

  stream.abort()
  journal.tick([ruleCounters(1, [10, 0])])
  await clock.advance(60_000)

  t.equal(reports.length, 1)
  t.same(log, [])
})
