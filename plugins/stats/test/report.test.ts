import t from 'tap'
import { StatsReport } from '../../../agent/wire/journal-report.ts'
import type { Server } from '../../../kernel/kernel.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { afterCommit } from '../../../kernel/store/after-commit.ts'
import type { Database } from '../../../kernel/store/open.ts'
import { recordStatements } from '../../../test/support/record-statements.ts'
import { notRepeated } from '../../../test/support/store.ts'
import type { CommittedBytes, Stats } from '../exports.ts'
import type { Stats as ServerHalf } from '../stats.ts'
import { committedIn, epoch, minute, noon, otherEpoch, row, statsFixture, withCommitted } from './fixture.ts'

t.test('a new rule has stats at once', async t => {
  const { edge, stats } = await statsFixture(t)
  const { clientId, ruleId } = await edge()

  t.strictSame(await stats(ruleId), {
    rule_id: ruleId,
    client_id: clientId,
    protocol: 'tcp',
    bytes_in: 0,
    bytes_out: 0,
    active_connections: 0,
    connections_total: 0,
    dns_failures: 0,
    datagrams_in: 0,
    datagrams_out: 0,
    active_flows: 0,
    flows_dropped_overflow: 0,
    target_failovers: 0,
    rejected: {},
    updated_at: null
  })
})

t.test('reported minutes add up, and the answer has the seq of the report and the server time', async t => {
  const { edge, report, stats } = await statsFixture(t)
  const { agent, ruleId } = await edge()

  const answer = await report(agent, {
    seq: 7,
    rows: [
      row(ruleId, 'minute', minute, { bytes_in: 10, bytes_out: 20 }),
      row(ruleId, 'minute', String(Number(minute) + 60), { bytes_in: 1, bytes_out: 2 }),
      row(ruleId, 'hour', String(Number(minute) - 864_000), { bytes_in: 100, bytes_out: 200 }),
      row(ruleId, 'rule', '', { connections: 3, dns_failures: 2, failovers: 1 }),
      row(ruleId, 'port', '8080', { bytes_in: 111, bytes_out: 222 }),
      row(ruleId, 'target', '10.0.0.1:80', { bytes_in: 111, bytes_out: 222, connections: 3 }),
      row(ruleId, 'rejected', 'loop', { rejected: 5 })
    ],
    live: [{ rule_id: ruleId, port: 8080, connections: 2 }]
  })

  t.same(answer, { epoch, seq: 7, server_time_ms: noon + 250 })
  t.match(await stats(ruleId), {
    bytes_in: 111,
    bytes_out: 222,
    active_connections: 2,
    connections_total: 3,
    dns_failures: 2,
    target_failovers: 1,
    rejected: { loop: 5 },
    updated_at: new Date(noon + 250).toISOString()
  })
})

t.test('a repeated report adds nothing, and a later one adds only its increase', async t => {
  const { edge, report, stats } = await statsFixture(t)
  const { agent, ruleId } = await edge()
  const rows = (bytes_in: number, connections: number) => [
    row(ruleId, 'minute', minute, { bytes_in }),
    row(ruleId, 'rule', '', { connections })
  ]

  await report(agent, { seq: 2, rows: rows(10, 1) })
  await report(agent, { seq: 2, rows: rows(10, 1) })
  t.match(await stats(ruleId), { bytes_in: 10, connections_total: 1 })

  await report(agent, { seq: 4, rows: rows(25, 2) })
  await report(agent, { seq: 2, rows: rows(25, 2) })
  t.match(await stats(ruleId), { bytes_in: 25, connections_total: 2 })
})

t.test('parts of a report and reports of one batch are each committed once', async t => {
  const { edge, report, stats, push } = await statsFixture(t)
  const one = await edge('one')
  const { rule_id: second } = (await push({ client: 'one', listen_port: 9000 })).body
  const two = await edge('two')

  const first = one.agent.channel.request(StatsReport, {
    epoch,
    seq: 1,
    part: 0,
    last: false,
    rows: [row(one.ruleId, 'minute', minute, { bytes_in: 1 })],
    live: [{ rule_id: one.ruleId, port: 8080, connections: 1 }]
  })
  await report(two.agent, { rows: [row(two.ruleId, 'minute', minute, { bytes_out: 9 })] })
  await first
  t.match(await stats(one.ruleId), { bytes_in: 1, active_connections: 0 })
  await report(one.agent, {
    seq: 2,
    part: 1,
    rows: [row(one.ruleId, 'minute', String(Number(minute) + 60), { bytes_in: 2 })],
    live: [{ rule_id: second, port: 9000, connections: 4 }]
  })

  t.match(await stats(one.ruleId), { bytes_in: 3, active_connections: 1 })
  t.match(await stats(second), { active_connections: 4 })
  t.match(await stats(two.ruleId), { bytes_out: 9 })
})

t.test('a report that never ends names its client in the log', async t => {
  const { edge, report, log, clock, stats } = await statsFixture(t)
  const { clientId, agent, ruleId } = await edge()
  const lines = () => log.filter(({ event }) => event === 'accounting.report_unended')
  /** Sends parts for the time, one every 10 s. */
  const sendParts = async (minutes: number, from: number) => {
    for (let part = from; part <= from + minutes * 6; part++) {
      const rows = [row(ruleId, 'minute', minute, { bytes_in: part })]
      await report(agent, { seq: part + 1, part, last: false, rows })
      await clock.advance(9_750) // with the 250 ms of the batch
    }
  }

  await sendParts(4, 0)
  t.same(lines(), [])
  await sendParts(2, 25)
  t.match(lines(), [{ level: 'warn', fields: { client_id: clientId, parts: 31 } }])
  t.match(await stats(ruleId), { bytes_in: 37 }, 'its bytes are committed')

  await report(agent, { seq: 100, part: 38 })
  await sendParts(4, 100)
  t.equal(lines().length, 1, 'a report that ends is forgotten')
})

t.test('a lower value is refused and logged, but the other rows are committed', async t => {
  const { edge, report, stats, log } = await statsFixture(t)
  const { agent, clientId, ruleId } = await edge()
  await report(agent, { seq: 1, rows: [row(ruleId, 'minute', minute, { bytes_in: 10, bytes_out: 10 })] })

  await report(agent, {
    seq: 3,
    rows: [
      row(ruleId, 'minute', minute, { bytes_in: 9, bytes_out: 99 }),
      row(ruleId, 'rule', '', { connections: 1 })
    ]
  })

  t.match(await stats(ruleId), { bytes_in: 10, bytes_out: 10, connections_total: 1 })
  t.match(
    log.filter(({ event }) => event === 'accounting.lower_value'),
    [{ fields: { client_id: clientId, epoch, rule: ruleId, kind: 'minute', key: minute, suppressed: 0 } }]
  )
})

t.test('totals of two epochs add up, and the gap between them is logged once', async t => {
  const { edge, report, stats, log } = await statsFixture(t)
  const { agent, clientId, ruleId } = await edge()
  const rows = [row(ruleId, 'minute', minute, { bytes_in: 10 })]
  const gap = { from_ms: noon - 5000, to_ms: noon - 1000 }
  await report(agent, { seq: 9, rows })

  await report(agent, { epoch: otherEpoch, seq: 1, rows, gap })
  await report(agent, { epoch: otherEpoch, seq: 2, rows: [row(ruleId, 'rule', '', { connections: 1 })], gap })

  t.match(await stats(ruleId), { bytes_in: 20, connections_total: 1 })
  const gaps = log.filter(({ event }) => event === 'accounting.gap')
  t.match(gaps, [
    {
      level: 'warn',
      fields: {
        client_id: clientId,
        epoch: otherEpoch,
        from: '2026-01-15T11:59:55.000Z',
        to: '2026-01-15T11:59:59.000Z'
      }
    }
  ])
  t.equal(gaps.length, 1)
})

t.test('an agent that keeps inventing gaps writes at most 20 lines a minute', async t => {
  const { edge, report, log, clock } = await statsFixture(t)
  const { agent } = await edge()
  const gap = { from_ms: noon - 5000, to_ms: noon - 1000 }
  for (let i = 0; i < 30; i++) await report(agent, { epoch: i.toString(16).padStart(32, '0'), seq: 1, gap })
  const gaps = () => log.filter(({ event }) => event === 'accounting.gap')
  t.equal(gaps().length, 20)

  await clock.advance(60_000)

  t.equal(gaps().length, 21)
  t.match(gaps().at(-1), { fields: { suppressed: 10 } })
})

t.test('Welcome has the committed seq of each epoch, even after a restart of the server', async t => {
  const { edge, report, stop, dir } = await statsFixture(t)
  const { agent, clientId, ruleId } = await edge()
  const rows = [row(ruleId, 'minute', minute, { bytes_in: 10 })]
  await report(agent, { epoch: otherEpoch, seq: 3, rows: [] })
  await report(agent, { seq: 9, rows })
  await agent.close()
  await stop()

  const next = await statsFixture(t, { dir })
  const back = await next.connected(clientId)
  await next.report(back, { seq: 9, rows })

  t.same(committedIn(back), { [epoch]: 9, [otherEpoch]: 3 })
  t.match(await next.stats(ruleId), { bytes_in: 10 })
})

t.test("rows of other clients' rules and of unknown rules are ignored", async t => {
  const { edge, report, stats } = await statsFixture(t)
  const own = await edge('own')
  const other = await edge('other')

  await report(own.agent, {
    rows: [
      row(other.ruleId, 'minute', minute, { bytes_in: 10 }),
      row('01NEVERWAS', 'minute', minute, { bytes_in: 10 })
    ],
    live: [{ rule_id: other.ruleId, port: 8080, connections: 1 }]
  })

  t.match(await stats(other.ruleId), { bytes_in: 0, active_connections: 0, updated_at: null })
})

t.test(
  'fillers get committed bytes once in the same transaction, and callbacks run after the commit',
  async t => {
    const received: (readonly CommittedBytes[])[] = []
    let callbacks = 0
    let isBroken = true
    const plugins = withCommitted(
      async (bytes, em) => {
        afterCommit(em, () => received.push(bytes))
        return [() => callbacks++]
      },
      async () => {
        if (isBroken) throw new Error('no room')
        return []
      }
    )
    const { edge, report, stats, log } = await statsFixture(t, { plugins })
    const { agent, clientId, ruleId } = await edge()
    const rows = [
      row(ruleId, 'minute', minute, { bytes_in: 10, bytes_out: 1 }),
      row(ruleId, 'rule', '', { connections: 1 })
    ]

    await t.rejects(report(agent, { rows }), { code: 'internal' })
    t.match(await stats(ruleId), { bytes_in: 0, connections_total: 0 })
    t.equal(callbacks, 0)
    isBroken = false
    await report(agent, { rows })
    await report(agent, { rows })

    const difference = {
      clientId,
      owner: '_operator',
      ruleId,
      span: 'minute',
      startSecs: noon / 1000,
      bytesIn: 10,
      bytesOut: 1,
      datagramsIn: 0,
      datagramsOut: 0,
      connections: 0,
      refused: 0
    }
    t.strictSame(received, [[difference]])
    t.equal(callbacks, 1)
    t.match(await stats(ruleId), { bytes_in: 10, connections_total: 1 })
    t.ok(log.some(({ event }) => event === 'accounting.not_committed'))
  }
)

t.test('a failed report does not affect others of the same batch', async t => {
  const refused = new Set<string>()
  const plugins = withCommitted(async bytes => {
    if (bytes.some(({ clientId }) => refused.has(clientId))) throw new Error('no room')
    return []
  })
  const { edge, report, stats } = await statsFixture(t, { plugins })
  const [bad, good] = [await edge('bad'), await edge('good')]
  refused.add(bad.clientId)
  const rowsOf = ({ ruleId }: { ruleId: string }) => [row(ruleId, 'minute', minute, { bytes_in: 10 })]

  const refusal = t.rejects(
    bad.agent.channel.request(StatsReport, {
      epoch,
      seq: 1,
      part: 0,
      last: true,
      rows: rowsOf(bad),
      live: []
    }),
    { code: 'internal' }
  )
  await report(good.agent, { rows: rowsOf(good) })
  await refusal

  t.match(await stats(good.ruleId), { bytes_in: 10 })
  t.match(await stats(bad.ruleId), { bytes_in: 0 })
})

t.test('a minute with an invalid start is not committed', async t => {
  const { edge, report, stats } = await statsFixture(t)
  const { agent, ruleId } = await edge()

  await report(agent, { rows: [row(ruleId, 'minute', 'yesterday', { bytes_in: 10 })] })

  t.match(await stats(ruleId), { bytes_in: 0 })
})

t.test('commits keep their order and no row is refused after the server clock is set back', async t => {
  const { edge, report, stats, clock, server } = await statsFixture(t)
  const { agent, clientId, ruleId } = await edge()
  const last = () => {
    const { store, stats } = server.depsOf('stats') as Kernel & { readonly stats: Stats }
    return store.read(em => stats.lastCommitted(clientId, em))
  }
  const minuteRow = (bytes_in: number) => row(ruleId, 'minute', minute, { bytes_in })
  await report(agent, { rows: [minuteRow(10)] })

  for (const [i, ms] of [-86_400_000, -800 * 86_400_000].entries()) {
    clock.step(ms)
    const next = String(i).repeat(32)
    await report(agent, { epoch: next, rows: [minuteRow(5)] }) // an agent continues with the server time it received
    t.same(await last(), { epoch: next, seq: 1 }, `by ${ms} ms`)
  }

  t.match(await stats(ruleId), { bytes_in: 20 })
})

const sessionOf = (server: Server, clientId: string): string =>
  server.control.peers.find(clientId)?.sessionId ?? ''

t.test(
  'simultaneous reports of a fleet cost a few statements, not some per report',
  { skip: notRepeated('it counts statements') },
  async t => {
    let statements = 0
    const wrapStore = (opened: Database): Database => ({
      ...opened,
      change: work =>
        opened.change(em => {
          const execute = em.execute.bind(em)
          const counting = (...args: Parameters<typeof execute>) => {
            statements += 1
            return execute(...args)
          }
          return work(Object.assign(em, { execute: counting }))
        })
    })
    const { edge, server, stats } = await statsFixture(t, { wrapStore })
    const edges: { readonly clientId: string; readonly ruleId: string }[] = []
    for (let i = 0; i < 20; i++) edges.push(await edge(`edge-${i}`))
    const { ingest, flush } = (server.depsOf('stats') as unknown as { readonly stats: ServerHalf }).stats
    const reportAll = async (seq: number, bytes_in: number): Promise<void> => {
      const reports = edges.map(({ clientId, ruleId }) => ({
        ...{ clientId, sessionId: sessionOf(server, clientId), epoch, seq, part: 0, last: true, live: [] },
        rows: [
          row(ruleId, 'minute', minute, { bytes_in }),
          row(ruleId, 'rule', '', { connections: seq }),
          row(ruleId, 'target', '10.0.0.1:80', { bytes_in }),
          ...['loop', 'full', 'acl', 'rate'].map(key => row(ruleId, 'rejected', key, { rejected: seq }))
        ]
      }))
      const all = Promise.all(reports.map(ingest))
      await flush()
      await all
    }
    await reportAll(1, 10)
    await reportAll(2, 12) // prepares
    const asked = recordStatements(t)
    statements = 0

    await reportAll(3, 15)

    t.equal(asked.prepared, 0, 'no statement is prepared again')

    t.ok(statements < 2 * edges.length, `${statements} statements for ${edges.length} reports`)
    for (const { ruleId } of edges)
      t.match(await stats(ruleId), { bytes_in: 15, connections_total: 3 }, 'each is committed')
  }
)

t.test('two reports of an agent in one transaction are committed in order', async t => {
  const { edge, server, stats } = await statsFixture(t)
  const { clientId, ruleId } = await edge()
  const { ingest, flush } = (server.depsOf('stats') as unknown as { readonly stats: ServerHalf }).stats
  const reportOf = (seq: number, bytes_in: number) => ({
    ...{ clientId, sessionId: sessionOf(server, clientId), epoch, seq, part: 0, last: true, live: [] },
    rows: [row(ruleId, 'minute', minute, { bytes_in })]
  })

  const all = Promise.all([reportOf(1, 10), reportOf(2, 25), reportOf(1, 10)].map(ingest))
  await flush()
  await all

  t.match(await stats(ruleId), { bytes_in: 25 })
})

t.test('counts of a minute go to fillers with their time; the total of the rule has them once', async t => {
  const received: unknown[] = []
  const plugins = withCommitted(async (bytes, em, targets) => {
    afterCommit(em, () => received.push(...bytes, ...targets))
    return []
  })
  const { edge, report, stats } = await statsFixture(t, { plugins })
  const { agent, ruleId } = await edge()
  const target = row(ruleId, 'target', '10.0.0.1:80', { bytes_in: 5, connections: 3 })

  await report(agent, {
    rows: [
      row(ruleId, 'minute', minute, { bytes_in: 5, connections: 3, rejected: 2, overflows: 4 }),
      row(ruleId, 'rule', '', { connections: 3, overflows: 4 }),
      row(ruleId, 'rejected', 'loop', { rejected: 2 }),
      target
    ]
  })
  await report(agent, { seq: 2, rows: [{ ...target, bytes_in: 6 }] })

  t.match(received, [
    { span: 'minute', startSecs: Number(minute), bytesIn: 5, connections: 3, refused: 6 },
    { target: '10.0.0.1:80', startSecs: Number(minute), bytesIn: 5, connections: 3 },
    { target: '10.0.0.1:80', bytesIn: 1, connections: 0 }
  ])
  t.match(await stats(ruleId), {
    bytes_in: 5,
    connections_total: 3,
    flows_dropped_overflow: 4,
    rejected: { loop: 2 }
  })
})
