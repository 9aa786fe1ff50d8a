import t from 'tap'
import { LastReport, messages } from '../../../agent/wire/journal-report.ts'
import { User } from '../../../kernel/identity/entities.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { scriptedResponse } from '../../../kit/scripted-agent.ts'
import { until } from '../../rules/test/fixture.ts'
import { messages as rulesMessages } from '../../rules/wire.ts'
import { StatsEpoch, StatsRemovedRule, StatsRow, StatsTotal } from '../entities.ts'
import type { CommittedBytes } from '../exports.ts'
import type { Stats } from '../stats.ts'
import { minute, noon, otherEpoch, row, statsFixture, withCommitted } from './fixture.ts'

const hour = 3_600_000

t.test('active connections become zero after the client is offline for 30 s, not before', async t => {
  const { edge, report, stats, clock, disconnect } = await statsFixture(t)
  const { agent, ruleId } = await edge()
  await report(agent, { live: [{ rule_id: ruleId, port: 8080, connections: 3 }] })

  await disconnect(agent)
  await clock.advance(29_000)
  t.equal((await stats(ruleId)).active_connections, 3)
  await clock.advance(1_000)
  t.equal((await stats(ruleId)).active_connections, 0)
})

t.test('a client that reconnects within 30 s keeps its active connections until its next report', async t => {
  const { edge, report, stats, clock, connected, disconnect } = await statsFixture(t)
  const { agent, clientId, ruleId } = await edge()
  await report(agent, { live: [{ rule_id: ruleId, port: 8080, connections: 3 }] })
  await disconnect(agent)

  await clock.advance(10_000)
  const back = await connected(clientId)
  await clock.advance(25_000)
  t.equal((await stats(ruleId)).active_connections, 3)
  await report(back, { live: [] })
  t.equal((await stats(ruleId)).active_connections, 0)
})

t.test('stats of a rule are readable only with access to the rule', async t => {
  const { edge, call, user, server, clock } = await statsFixture(t)
  const { ruleId } = await edge()
  const otherUser = await user('ann')
  const root = { id: 'boss', displayName: 'boss', role: 'superadmin' as const, disabled: false }
  await server.depsOf('stats').store.change(em => em.insert(User, { ...root, createdAt: clock.now() }))

  t.match(await call('GET', `/v1/rules/${ruleId}/stats`, undefined, otherUser), {
    status: 403,
    body: { error: { code: 'not_owner' } }
  })
  t.match(await call('GET', '/v1/rules/01NEVERWAS/stats'), {
    status: 404,
    body: { error: { code: 'rule_not_found' } }
  })
  t.match(await call('GET', `/v1/rules/${ruleId}/stats?per_prot=true`), {
    status: 400,
    body: { error: { code: 'validation.unknown_parameter' } }
  })
})

t.test('reports of a deleted rule are committed until its agent has reported all of it', async t => {
  const { edge, report, call, server, connected, disconnect, objects } = await statsFixture(t)
  const { agent, clientId, ruleId } = await edge()
  const { store } = server.depsOf('stats')
  const rowCounts = () =>
    store.read(async em => [
      await em.count(StatsRemovedRule, { ruleId }),
      await em.count(StatsTotal, { ruleId }),
      await em.count(StatsRow, { ruleId })
    ])
  const bytes = (bytes_in: number) => [row(ruleId, 'minute', minute, { bytes_in })]
  await report(agent, { rows: bytes(1) })
  await disconnect(agent)
  t.match(await call('DELETE', `/v1/rules/${ruleId}`), { status: 204 })

  // The rule still drains on the agent, which reconnects and sends several reports.
  const inventory = [{ kind: 'rule', id: ruleId, revision: 1 }]
  const draining = await connected(clientId, { inventory })
  for (const seq of [2, 3, 4]) await report(draining, { seq, rows: bytes(seq) })
  t.same(await rowCounts(), [1, 1, 1])
  draining.sendRemoved({ kind: 'rule', id: ruleId, revision: 2 })
  await until(
    () => objects(clientId),
    rows => rows.length === 0
  )
  await report(draining, { seq: 5, last: false, rows: bytes(5) })
  await report(draining, { seq: 5, part: 1 })
  t.same(await rowCounts(), [1, 1, 1], 'that report may have been under way')
  await report(draining, { seq: 6, last: false, rows: bytes(6) })
  t.match(await store.read(em => em.findOne(StatsTotal, { ruleId, kind: 'rule' })), { bytesIn: 6 })
  await report(draining, { seq: 6, part: 1 })

  t.same(await rowCounts(), [0, 0, 0])
  await report(draining, { seq: 6, rows: bytes(6) })
  t.same(await rowCounts(), [0, 0, 0], 'a retransmission is not committed again')
})

t.test('retransmitted reports do not end the accounting of a deleted rule early', async t => {
  const { edge, report, call, server, objects } = await statsFixture(t)
  const { agent, clientId, ruleId } = await edge()
  const { store } = server.depsOf('stats')
  const bytes = (bytes_in: number) => [row(ruleId, 'minute', minute, { bytes_in })]
  const committed = async () =>
    (await store.read(em => em.findOne(StatsTotal, { ruleId, kind: 'rule' })))?.bytesIn
  await report(agent, { seq: 1, rows: bytes(1) })
  await report(agent, { seq: 2, rows: bytes(2) })
  t.match(await call('DELETE', `/v1/rules/${ruleId}`), { status: 204 })
  agent.sendRemoved({ kind: 'rule', id: ruleId, revision: 2 })
  await until(
    () => objects(clientId),
    rows => rows.length === 0
  )

  await report(agent, { seq: 2, rows: bytes(2) })
  await report(agent, { seq: 1, rows: bytes(1) })
  await report(agent, { epoch: otherEpoch, seq: 0 })
  await report(agent, { seq: 3, rows: bytes(3) })
  t.equal(await committed(), 3)
  await report(agent, { seq: 3, rows: bytes(3) })
  await report(agent, { seq: 2, rows: bytes(2) })
  t.equal(await committed(), 3, 'a report under way may include more')
  await report(agent, { seq: 4, last: false, rows: bytes(4) })
  t.equal(await committed(), 4)

  await report(agent, { seq: 4, part: 1 })
  t.equal(await committed(), undefined)
})

t.test('a retransmission of an old epoch does not become the last committed report', async t => {
  const { edge, report, server, clock } = await statsFixture(t)
  const { agent, clientId, ruleId } = await edge()
  const { stats, store } = server.depsOf('stats') as Kernel & { stats: Stats }
  const rows = [row(ruleId, 'minute', minute, { bytes_in: 1 })]
  await report(agent, { seq: 1, rows })
  await clock.advance(1000)
  await report(agent, { epoch: otherEpoch, seq: 5, rows })
  await clock.advance(1000)

  await report(agent, { seq: 1, rows })

  t.same(await store.read(em => stats.lastCommitted(clientId, em)), { epoch: otherEpoch, seq: 5 })
})

t.test('traffic of a rule that existed for two seconds is committed for its owner', async t => {
  const received: CommittedBytes[] = []
  const plugins = withCommitted(async bytes => {
    received.push(...bytes)
    return []
  })
  const on = await statsFixture(t, { plugins })
  const { agent, clientId } = await on.edge()
  await on.user('ada')
  const { rule_id: ruleId } = (await on.push({ listen_port: 1, owner: 'ada' })).body
  await on.clock.advance(2_000)
  await on.call('DELETE', `/v1/rules/${ruleId}`)
  agent.sendRemoved({ kind: 'rule', id: ruleId, revision: 3 })
  await until(
    () => on.call('GET', `/v1/rules/${ruleId}`),
    ({ status }) => status === 404
  )

  await on.report(agent, { rows: [row(ruleId, 'minute', minute, { bytes_in: 10, bytes_out: 20 })] })

  t.match(received, [{ clientId, owner: 'ada', ruleId, bytesIn: 10, bytesOut: 20 }])
})

t.test('rows of rules and clients deleted while stats was off are deleted at the next start', async t => {
  const first = await statsFixture(t)
  const [one, two] = [await first.edge('one'), await first.edge('two')]
  const kept = await first.push({ client: one.clientId, listen_port: 1 })
  for (const { agent, ruleId } of [one, two])
    await first.report(agent, { rows: [row(ruleId, 'minute', minute, { bytes_in: 1 })] })
  const keptRow = row(kept.body.rule_id, 'minute', minute, { bytes_in: 1 })
  await first.report(one.agent, { seq: 2, rows: [keptRow] })
  await first.stop()
  const off = await statsFixture(t, { dir: first.dir, plugins: ['users', 'clients', 'rules'] })
  await off.call('DELETE', `/v1/rules/${one.ruleId}`)
  await off.call('POST', `/v1/clients/${two.clientId}/revoke`)
  await off.call('DELETE', `/v1/clients/${two.clientId}`)
  await off.stop()

  const again = await statsFixture(t, { dir: first.dir })

  const { store } = again.server.depsOf('stats')
  t.match(await store.read(em => em.find(StatsTotal, {})), [{ ruleId: kept.body.rule_id }])
  t.match(await store.read(em => em.find(StatsRow, {})), [{ ruleId: kept.body.rule_id }])
  t.match(await store.read(em => em.find(StatsEpoch, {})), [{ clientId: one.clientId }])
})

t.test('minutes are deleted after two days, but their totals stay', async t => {
  const { edge, report, stats, clock, server } = await statsFixture(t)
  const { agent, ruleId } = await edge()
  const minutes = () => server.depsOf('stats').store.read(em => em.find(StatsRow, { kind: 'minute' }))
  const [old, young] = [49, 40].map(hours => String((noon - hours * hour) / 1000)) as [string, string]
  await report(agent, {
    rows: [old, young].map(key => row(ruleId, 'minute', key, { bytes_in: 10 }))
  })

  await clock.advance(hour)
  await until(minutes, found => found.length < 2)

  t.match(await minutes(), [{ key: young }])
  t.match(await stats(ruleId), { bytes_in: 20 })
})

t.test('the rest of an incomplete minute is committed once, even days later', async t => {
  const { edge, report, stats, clock, disconnect, connected } = await statsFixture(t)
  const { agent, clientId, ruleId } = await edge()
  const rows = (bytes_in: number) => [row(ruleId, 'minute', minute, { bytes_in })]
  await report(agent, { rows: rows(50) })
  await disconnect(agent)

  for (let hours = 0; hours < 50; hours++) await clock.advance(hour)
  await report(await connected(clientId), { seq: 2, rows: rows(80) })

  t.match(await stats(ruleId), { bytes_in: 80 })
})

t.test('rows of an epoch that ended long ago are deleted, but their totals stay', async t => {
  const { edge, report, stats, clock, server, disconnect, connected } = await statsFixture(t)
  const { agent, clientId, ruleId } = await edge()
  const { store } = server.depsOf('stats')
  const rows = () => store.read(em => em.find(StatsRow, {}, { orderBy: { epoch: 'asc' } }))
  const reported = (bytes_in: number) => [row(ruleId, 'minute', minute, { bytes_in })]
  await report(agent, { epoch: 'a'.repeat(32), rows: reported(10) })
  await disconnect(agent)
  await clock.advance(hour)
  const back = await connected(clientId)
  await report(back, { epoch: 'b'.repeat(32), rows: reported(5) })
  t.equal((await rows()).length, 2)
  await disconnect(back)

  for (let days = 0; days < 31; days++) await clock.advance(24 * hour)
  await until(rows, found => found.length < 2)

  t.match(await rows(), [{ epoch: 'b'.repeat(32) }])
  t.match(await stats(ruleId), { bytes_in: 15 })
})

t.test('a client that restarts often keeps its last thousand epochs', async t => {
  const { edge, clock, server } = await statsFixture(t)
  const { clientId } = await edge()
  const { store } = server.depsOf('stats')
  await store.change(async em => {
    for (let i = 0; i < 1100; i++)
      await em.insert(StatsEpoch, { clientId, epoch: `e${i}`, seq: 1, minute: 0, committedAt: i })
  })

  await clock.advance(hour)
  const epochs = await until(
    () => store.read(em => em.find(StatsEpoch, { clientId }, { orderBy: { committedAt: 'asc' } })),
    found => found.length < 1100
  )

  t.equal(epochs.length, 1000)
  t.equal(epochs[0]?.epoch, 'e100')
})

t.test('deleting a client deletes its stats', async t => {
  const { edge, report, call, server } = await statsFixture(t)
  const { agent, clientId, ruleId } = await edge()
  const { store } = server.depsOf('stats')
  await report(agent, { rows: [row(ruleId, 'minute', minute, { bytes_in: 10 })] })

  await call('POST', `/v1/clients/${clientId}/revoke`)
  await call('DELETE', `/v1/clients/${clientId}`)

  t.same(
    await store.read(async em => [
      await em.count(StatsRow),
      await em.count(StatsTotal),
      await em.count(StatsRemovedRule)
    ]),
    [0, 0, 0]
  )
})

t.test('the server asks a revoked client for its last report before the stream ends', async t => {
  const { enroll, connect, call } = await statsFixture(t)
  const clientId = await enroll()
  const agent = await connect(clientId, {
    messages: [...rulesMessages, ...messages],
    responses: [scriptedResponse(LastReport, () => ({}))]
  })

  await call('POST', `/v1/clients/${clientId}/revoke`)

  t.match(await agent.until(LastReport.name), { name: LastReport.name })
})

t.test('the event loop is not blocked while old minutes are deleted', async t => {
  const { server } = await statsFixture(t)
  const { store, stats } = server.depsOf('stats') as unknown as { store: Kernel['store']; stats: Stats }
  await store.change(async em => {
    await em.insert(StatsEpoch, { clientId: 'c', epoch: 'e', seq: 1, minute: 1_000_000_060, committedAt: 0 })
    await em.execute(
      `insert into stats_row with recursive n(i) as (values (1) union all select i + 1 from n where i < 2500)
       select 'c', 'e', 'r' || i, 'minute', '1000000000', ${Array(9).fill('0')} from n`
    )
  })
  let iterations = 0
  let next = setImmediate(function iterate() {
    iterations++
    next = setImmediate(iterate)
  })
  t.teardown(() => clearImmediate(next))

  await stats.prune()

  t.ok(iterations >= 2)
  t.equal(await store.read(em => em.count(StatsRow)), 0)
})
