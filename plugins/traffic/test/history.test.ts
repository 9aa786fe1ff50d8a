import t from 'tap'
import { Credential } from '../../../kernel/identity/entities.ts'
import { hashOf } from '../../../kernel/identity/secret.ts'
import { newId } from '../../../kernel/platform/id.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { until } from '../../rules/test/fixture.ts'
import { minute, row, type StatsFixture, statsFixture } from '../../stats/test/fixture.ts'
import { columns } from '../counts.ts'
import type { TopRow, Traffic } from '../schema.ts'
import type { Traffic as Service } from '../traffic.ts'

const at = Number(minute)
const dayMs = 86_400_000
const plugins = ['users', 'clients', 'rules', 'stats', 'traffic']
const window = `from=${at - 3600}&to=${at + 120}`

type Deps = Kernel & { readonly traffic: Service }
const depsOf = ({ server }: StatsFixture) => server.depsOf('traffic') as unknown as Deps

/** Two clients with rules of two owners: web and dns on paris, and web on lyon. */
async function fleet(t: Parameters<typeof statsFixture>[0]) {
  const fixture = await statsFixture(t, { plugins })
  const { edge, user, push } = fixture
  const ann = await user('ann')
  const paris = await edge('paris')
  const lyon = await edge('lyon')
  const target = { host: '10.0.0.2', port: 53 }
  const udp = { client: paris.clientId, listen_port: 5353, owner: 'ann', targets: [target] }
  const { body } = await push(udp)
  return { ...fixture, ann, paris, lyon, annsRule: body.rule_id }
}

t.test('the samples of a rule have bytes, opened and refused connections, and datagrams', async t => {
  const { paris, annsRule, report, call, ann } = await fleet(t)
  const counts = { bytes_in: 10, bytes_out: 20, connections: 2, datagrams_in: 3, datagrams_out: 4 }
  await report(paris.agent, {
    rows: [
      row(annsRule, 'minute', `${at - 120}`, { ...counts, rejected: 5 }),
      row(annsRule, 'minute', minute, { bytes_in: 1 }),
      row(paris.ruleId, 'minute', minute, { bytes_in: 100 })
    ]
  })

  const url = `/v1/rules/${annsRule}/traffic?${window}`
  const none = { bytes_out: 0, connections: 0, refused: 0, datagrams_in: 0, datagrams_out: 0 }
  const samples = [
    { ts: at - 120, ...counts, refused: 5 },
    { ts: at, ...none, bytes_in: 1 }
  ]
  const body = { bucket: '1m', samples, total_bytes_in: 11, total_bytes_out: 20 }
  t.same((await call('GET', url)).body, body)
  t.same((await call('GET', url, undefined, ann)).body, body)
  t.same((await call<Traffic>('GET', `${url}&bucket=1h`)).body.samples, [], 'the hour is not over')

  const csv = await call('GET', url, undefined, { ...ann, accept: 'text/csv' })
  t.match(csv.headers, { 'content-type': 'text/csv; charset=utf-8', vary: 'accept' })
  const line = `${at - 120},10,20,2,5,3,4`
  t.equal(csv.text, `ts,${columns.join(',')}\n${line}\n${at},1,0,0,0,0,0\n`)
})

t.test('a rule is visible in its history as it is elsewhere', async t => {
  const { paris, call, ann } = await fleet(t)
  const refused = (status: number, code: string) => ({ status, body: { error: { code } } })

  const others = await call('GET', `/v1/rules/${paris.ruleId}/traffic?${window}`, undefined, ann)
  t.match(others, refused(403, 'not_owner'))
  t.match(await call('GET', `/v1/rules/nothing/traffic?${window}`), refused(404, 'rule_not_found'))
  t.match(
    await call('GET', `/v1/rules/${paris.ruleId}/traffic?from=${at}&to=${at}`),
    refused(400, 'invalid_time_range')
  )
  t.match(
    await call('GET', `/v1/rules/${paris.ruleId}/traffic?from=${at - 8 * 86_400}&to=${at}&bucket=1m`),
    refused(422, 'quota_bucket_out_of_retention')
  )
})

t.test('sums of rules, owners, clients and everything agree after duplicates and a crash', async t => {
  const fixture = await fleet(t)
  const { paris, lyon, annsRule, report, call } = fixture
  const { store, traffic } = depsOf(fixture)
  const rows = [
    row(paris.ruleId, 'minute', minute, { bytes_in: 7, connections: 1 }),
    row(annsRule, 'minute', minute, { bytes_in: 5, rejected: 2 }),
    row(annsRule, 'hour', `${at - 3600}`, { bytes_out: 9 })
  ]
  await report(paris.agent, { rows })
  await report(paris.agent, { rows })
  await report(lyon.agent, { rows: [row(lyon.ruleId, 'minute', minute, { bytes_in: 3 })] })
  await t.rejects(
    store.change(async em => {
      await traffic.disown('ann', em) // folds what is saved
      throw new Error('killed before the commit')
    }),
    /killed/
  )
  await Promise.all([traffic.fold(), traffic.fold(), report(paris.agent, { seq: 2, rows })])

  const sumOf = async (path: string) => {
    const { body } = await call<Traffic>('GET', `${path}?from=${at - 60}&to=${at + 60}`)
    const of = (column: 'bytes_in' | 'connections' | 'refused') =>
      body.samples.reduce((sum, sample) => sum + sample[column], 0)
    return [of('bytes_in'), of('connections'), of('refused')]
  }
  t.same(await sumOf(`/v1/rules/${paris.ruleId}/traffic`), [7, 1, 0])
  t.same(await sumOf(`/v1/rules/${annsRule}/traffic`), [5, 0, 2])
  t.same(await sumOf(`/v1/rules/${lyon.ruleId}/traffic`), [3, 0, 0])
  t.same(await sumOf('/v1/users/ann/traffic'), [5, 0, 2])
  t.same(await sumOf('/v1/users/_operator/traffic'), [10, 1, 0])
  t.same(await sumOf(`/v1/clients/${paris.clientId}/traffic`), [12, 1, 2])
  t.same(await sumOf('/v1/traffic/global'), [15, 1, 2])
  const sums = await store.read(em =>
    em.execute<{ kind: string; bytes: number }[]>(
      `select case when rule_id <> '' then 'rule' when user_id = '*' and client_id = '*' then 'all'
         when user_id = '*' then 'client' when client_id = '*' then 'owner' else 'pair' end as kind,
         sum(bytes_in + bytes_out) as bytes
       from traffic_sample join traffic_series on id = series where span_secs = 3600 group by 1 order by 1`
    )
  )
  const kinds = ['all', 'client', 'owner', 'pair', 'rule']
  t.same(
    sums.map(({ kind, bytes }) => [kind, Number(bytes)]),
    kinds.map(kind => [kind, 24])
  )
})

t.test('a deleted rule has its history for 7 days, for its last owner and superadmins', async t => {
  const fixture = await fleet(t)
  const { paris, annsRule, report, call, ann, user, clock, disconnect } = fixture
  const bob = await user('bob')
  await report(paris.agent, { rows: [row(annsRule, 'minute', minute, { bytes_in: 5 })] })

  t.equal((await call('DELETE', `/v1/rules/${annsRule}`)).status, 204)
  paris.agent.sendRemoved({ kind: 'rule', id: annsRule, revision: 3 })
  await until(
    () => call('GET', `/v1/rules/${annsRule}`),
    ({ status }) => status === 404
  )
  await report(paris.agent, { seq: 2, rows: [row(annsRule, 'minute', minute, { bytes_in: 6 })] })

  const total = async (path: string, headers?: { authorization: string }) => {
    const { status, body } = await call<Traffic>('GET', `${path}?${window}`, undefined, headers)
    return status === 200 ? body.total_bytes_in : status
  }
  t.equal(await total(`/v1/rules/${annsRule}/traffic`), 6, 'the last bytes came late')
  t.equal(await total(`/v1/rules/${annsRule}/traffic`, ann), 6)
  t.equal(await total(`/v1/rules/${annsRule}/traffic`, bob), 404)

  await disconnect(paris.agent)
  for (let day = 0; day < 8; day++) await clock.advance(dayMs)
  const later = `from=${at - 3600}&to=${at + 3600}&bucket=1h`
  const rule = await call('GET', `/v1/rules/${annsRule}/traffic?${later}`)
  t.match(rule, { status: 404, body: { error: { code: 'rule_not_found' } } })
  for (const path of ['/v1/users/ann', `/v1/clients/${paris.clientId}`]) {
    const { body } = await call<Traffic>('GET', `${path}/traffic?${later}`)
    t.equal(body.total_bytes_in, 6, `${path} keeps its sum`)
  }
  const rows = await depsOf(fixture).store.read(em =>
    em.execute(`select 1 from traffic_series where rule_id = ?`, [annsRule])
  )
  t.same(rows, [])
})

t.test('a later user with the id of a deleted one does not see the history of its rules', async t => {
  const fixture = await fleet(t)
  const { paris, annsRule, report, call } = fixture
  await report(paris.agent, { rows: [row(annsRule, 'minute', minute, { bytes_in: 5 })] })
  t.equal((await call('DELETE', '/v1/users/ann')).status, 200)
  t.equal((await call('POST', '/v1/users', { user_id: 'ann', display_name: 'Ann' })).status, 201)
  const createdAt = fixture.clock.now()
  const token = { id: newId(createdAt), userId: 'ann', label: '', tokenHash: hashOf('svct_new'), createdAt }
  await depsOf(fixture).store.change(em => em.insert(Credential, token))
  const headers = { authorization: 'Bearer svct_new' }

  const url = `/v1/rules/${annsRule}/traffic?${window}`
  t.equal((await call('GET', url, undefined, headers)).status, 404)
  t.match(await call('GET', `/v1/traffic/top?${window}&by=rule`, undefined, headers), {
    status: 200,
    body: []
  })
  t.match(await call('GET', url), { status: 200, body: { total_bytes_in: 5 } }, 'superadmins see it')
})

t.test('deleting a user folds only the reports that name it', async t => {
  const fixture = await fleet(t)
  const { paris, lyon, annsRule, report, call } = fixture
  await report(paris.agent, { rows: [row(annsRule, 'minute', minute, { bytes_in: 5 })] })
  await report(lyon.agent, { rows: [row(lyon.ruleId, 'minute', minute, { bytes_in: 3 })] })
  const waiting = () =>
    depsOf(fixture).store.read(em =>
      em.execute<object[]>('select distinct client_id from traffic_pending order by 1')
    )
  t.same((await waiting()).length, 2)

  t.equal((await call('DELETE', '/v1/users/ann')).status, 200)

  t.same(await waiting(), [{ client_id: lyon.clientId }])
  const global = await call<Traffic>('GET', `/v1/traffic/global?${window}`)
  t.equal(global.body.total_bytes_in, 8)
})

t.test('counts belong to the owner at the time of their report', async t => {
  const fixture = await fleet(t)
  const { paris, annsRule, report, call, ann } = fixture
  await report(paris.agent, { rows: [row(annsRule, 'minute', minute, { bytes_in: 5 })] })
  await depsOf(fixture).store.change(em =>
    em.execute('update rules set owner = ? where id = ?', ['_operator', annsRule])
  )
  await report(paris.agent, { seq: 2, rows: [row(annsRule, 'minute', minute, { bytes_in: 8 })] })

  const total = async (path: string) =>
    (await call<Traffic>('GET', `${path}/traffic?${window}`)).body.total_bytes_in
  t.equal(await total(`/v1/rules/${annsRule}`), 8, 'the rule has all')
  t.equal(await total('/v1/users/ann'), 5)
  t.equal(await total('/v1/users/_operator'), 3)
  const own = await call<TopRow[]>('GET', `/v1/traffic/top?${window}&by=rule`, undefined, ann)
  t.match(own.body, [{ key: annsRule, bytes_in: 5 }])
})

t.test('samples of a rule become hours after 7 days', async t => {
  const fixture = await fleet(t)
  const { paris, report, clock, disconnect } = fixture
  for (let part = 0; part < 3; part++) {
    const minutes = Array.from({ length: 480 }, (_, i) => at - 86_400 + (part * 480 + i) * 60)
    const rows = minutes.map(ts => row(paris.ruleId, 'minute', `${ts}`, { bytes_in: 1 }))
    await report(paris.agent, { seq: part + 1, rows })
  }
  await depsOf(fixture).traffic.fold()
  const count = () =>
    depsOf(fixture).store.read(
      async em =>
        (
          await em.execute<{ n: number }[]>(
            'select count(*) as n from traffic_sample join traffic_series on id = series where rule_id = ?',
            [paris.ruleId]
          )
        )[0]?.n
    )
  t.equal(Number(await count()), 1440 + 24)
  await disconnect(paris.agent)
  for (let day = 0; day < 8; day++) await clock.advance(dayMs)
  t.equal(Number(await count()), 24)
})

t.test('a group rule has the sums over its clients', async t => {
  const fixture = await statsFixture(t, { plugins: [...plugins, 'labels', 'groups'] })
  const { edge, report, call, push } = fixture
  const [paris, lyon] = [await edge('paris'), await edge('lyon')]
  const clients = { ids: [paris.clientId, lyon.clientId] }
  const { body } = await push({ client: undefined, clients, listen_port: 9000 })
  const members = await depsOf(fixture).store.read(em =>
    em.execute<{ id: string; client_id: string }[]>('select id, client_id from rules where parent = ?', [
      body.rule_id
    ])
  )
  for (const { agent, clientId } of [paris, lyon]) {
    const member = members.find(({ client_id }) => client_id === clientId)
    await report(agent, { rows: [row(member?.id ?? '', 'minute', minute, { bytes_in: 5 })] })
  }

  const url = `/v1/rules/${body.rule_id}/traffic?${window}`
  t.match((await call<Traffic>('GET', url)).body.samples, [{ ts: at, bytes_in: 10 }])
  t.match((await call('GET', `/v1/traffic/top?${window}&by=rule`)).body, [
    { key: body.rule_id, bytes_in: 10 }
  ])
  await call('DELETE', `/v1/rules/${body.rule_id}`)
  t.match((await call<Traffic>('GET', url)).body.samples, [{ ts: at, bytes_in: 10 }], 'also when deleted')
})
