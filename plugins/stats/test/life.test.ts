import t from 'tap'
import { User } from '../../../kernel/identity/entities.ts'
import { scripted } from '../../../test/kit/scripted-agent.ts'
import { until } from '../../rules/test/kit.ts'
import { messages as rulesMessages } from '../../rules/wire.ts'
import { StatsHolder, StatsRow, StatsTotal } from '../entities.ts'
import { LastReport, messages } from '../wire.ts'
import { books, minute, noon, row } from './kit.ts'

const hour = 3_600_000

t.test('what lives falls to zero once the client has been away for 30 s, not before', async t => {
  const { edge, report, stats, clock, away } = await books(t)
  const { agent, ruleId } = await edge()
  await report(agent, { live: [{ rule_id: ruleId, port: 8080, connections: 3 }] })

  await away(agent)
  await clock.advance(29_000)
  t.equal((await stats(ruleId)).active_connections, 3)
  await clock.advance(1_000)
  t.equal((await stats(ruleId)).active_connections, 0)
})

t.test('a client that is back within 30 s keeps what lives until it says otherwise', async t => {
  const { edge, report, stats, clock, connected, away } = await books(t)
  const { agent, clientId, ruleId } = await edge()
  await report(agent, { live: [{ rule_id: ruleId, port: 8080, connections: 3 }] })
  await away(agent)

  await clock.advance(10_000)
  const back = await connected(clientId)
  await clock.advance(25_000)
  t.equal((await stats(ruleId)).active_connections, 3)
  await report(back, { live: [] })
  t.equal((await stats(ruleId)).active_connections, 0)
})

t.test('stats are as private as their rule', async t => {
  const { edge, call, user, server, clock } = await books(t)
  const { ruleId } = await edge()
  const stranger = await user('ann')
  const root = { id: 'boss', displayName: 'boss', role: 'superadmin' as const, disabled: false }
  await server.depsOf('stats').store.change(em => em.insert(User, { ...root, createdAt: clock.now() }))

  t.match(await call('GET', `/v1/rules/${ruleId}/stats`, undefined, stranger), {
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

t.test('a rule that is gone is booked until its agent has said all, and then forgotten', async t => {
  const { edge, report, call, clock, server, connected, away } = await books(t)
  const { agent, clientId, ruleId } = await edge()
  const { store } = server.depsOf('stats')
  const total = () => store.read(em => em.findOne(StatsTotal, { ruleId, kind: 'rule' }))
  const holder = () => store.read(em => em.count(StatsHolder, { ruleId }))
  await clock.advance(5_000)
  await away(agent)
  t.match(await call('DELETE', `/v1/rules/${ruleId}`), { status: 204 })

  const first = await connected(clientId)
  await report(first, { rows: [row(ruleId, 'minute', minute, { bytes_in: 10 })] })
  t.match(await total(), { bytesIn: 10 })
  await clock.advance(hour)
  const second = await connected(clientId)
  await report(second, { seq: 2 })
  t.equal(await holder(), 1)
  await clock.advance(hour)

  await until(holder, count => count === 0)
  t.equal(await total(), null)
})

t.test('minutes are forgotten after two days; what they came to is not', async t => {
  const { edge, report, stats, clock, server } = await books(t)
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

t.test('a client that is deleted takes its books along', async t => {
  const { edge, report, call, server } = await books(t)
  const { agent, clientId, ruleId } = await edge()
  const { store } = server.depsOf('stats')
  await report(agent, { rows: [row(ruleId, 'minute', minute, { bytes_in: 10 })] })

  await call('POST', `/v1/clients/${clientId}/revoke`)
  await call('DELETE', `/v1/clients/${clientId}`)

  t.same(
    await store.read(async em => [
      await em.count(StatsRow),
      await em.count(StatsTotal),
      await em.count(StatsHolder)
    ]),
    [0, 0, 0]
  )
})

t.test('before a revoked client is cut it is asked for its last report', async t => {
  const { enroll, connect, call } = await books(t)
  const clientId = await enroll()
  const agent = await connect(clientId, {
    messages: [...rulesMessages, ...messages],
    answers: [scripted(LastReport, () => ({}))]
  })

  await call('POST', `/v1/clients/${clientId}/revoke`)

  t.match(await agent.until(LastReport.name), { name: LastReport.name })
})
