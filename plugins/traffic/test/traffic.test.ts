import t from 'tap'
import type { Kernel } from '../../../kernel/plugin.ts'
import { notOnPostgres } from '../../../test/support/store.ts'
import { minute, noon, row, statsFixture } from '../../stats/test/fixture.ts'
import { noCounts } from '../counts.ts'
import type { Traffic } from '../schema.ts'
import type { Traffic as Service } from '../traffic.ts'

const hour = 3600
const at = Number(minute)
const plugins = ['users', 'clients', 'rules', 'stats', 'traffic']

t.test('bytes count in the minute of their delivery, for user, client and pair', async t => {
  const { edge, report, call } = await statsFixture(t, { plugins })
  const { agent, clientId, ruleId } = await edge()
  const rows = [
    row(ruleId, 'minute', `${at - 7200}`, { bytes_in: 10, bytes_out: 100 }),
    row(ruleId, 'minute', `${at}`, { bytes_in: 1, bytes_out: 2 })
  ]
  await report(agent, { rows })
  await report(agent, { seq: 2, rows: [row(ruleId, 'minute', `${at}`, { bytes_in: 4, bytes_out: 5 })] })

  const samples = [
    { ...noCounts, ts: at - 7200, bytes_in: 10, bytes_out: 100 },
    { ...noCounts, ts: at, bytes_in: 4, bytes_out: 5 }
  ]
  const span = `from=${at - 7200}&to=${at + 60}`
  for (const path of [
    '/v1/users/_operator/traffic?',
    `/v1/users/_operator/traffic?client_id=${clientId}&`,
    `/v1/clients/${clientId}/traffic?`,
    `/v1/clients/${clientId}/traffic?user_id=_operator&`,
    '/v1/traffic/global?'
  ]) {
    const answer = await call('GET', `${path}${span}`)
    const body = { bucket: '1m', samples, total_bytes_in: 14, total_bytes_out: 105 }
    t.equal(answer.status, 200, path)
    t.same(answer.body, body, path)
  }
  const { body } = await call<Traffic>('GET', `/v1/clients/${clientId}/traffic?user_id=nobody&${span}`)
  t.same(body.samples, [], 'the user has no traffic on this client')
  for (const path of [
    `/v1/clients/${clientId}/traffic?user_id=*`,
    '/v1/users/_operator/traffic?client_id=*'
  ]) {
    t.match(await call('GET', `${path}&${span}`), { status: 400 }, `${path}: * is no id`)
  }
  const inside = await call<Traffic>('GET', `/v1/traffic/global?from=${at - 7199}&to=${at}`)
  t.same(inside.body.samples, [], 'from is in, to is out')
})

t.test('an hour is shown from one minute after its end, and includes late reports', async t => {
  const { edge, report, call, clock, disconnect, connected } = await statsFixture(t, { plugins })
  const { agent, clientId, ruleId } = await edge()
  await report(agent, { rows: [row(ruleId, 'minute', `${at + 60}`, { bytes_in: 7 })] })
  await disconnect(agent)
  const hours = async () =>
    (await call<Traffic>('GET', `/v1/traffic/global?from=${at}&to=${at + 9 * hour}&bucket=1h`)).body.samples

  await clock.advance(noon + 3_660_000 - 1_000 - clock.now())
  t.same(await hours(), [])
  await clock.advance(1_000)
  t.same(await hours(), [{ ...noCounts, ts: at, bytes_in: 7, bytes_out: 0 }])
  const late = [
    row(ruleId, 'minute', `${at + 120}`, { bytes_in: 3 }),
    row(ruleId, 'hour', `${at}`, { bytes_in: 100 })
  ]
  await report(await connected(clientId), { seq: 2, rows: late })
  t.same(await hours(), [{ ...noCounts, ts: at, bytes_in: 110, bytes_out: 0 }])
})

t.test('an invalid query is refused with its reason', async t => {
  const { call, user } = await statsFixture(t, { plugins })
  const ann = await user('ann')
  const cases = [
    ['from=1768478400&to=1768478400', 400, 'invalid_time_range'],
    [`from=${at}&to=${at - 1}`, 400, 'invalid_time_range'],
    [`from=${at - 60}&to=${at}&bucket=1d`, 400, 'invalid_bucket'],
    [`from=${at - 7 * 86_400 - 1}&to=${at}&bucket=1m`, 422, 'quota_bucket_out_of_retention'],
    [`from=${at - 90 * 86_400 - 1}&to=${at}`, 422, 'quota_bucket_out_of_retention'],
    [`from=${at}`, 400, /^validation/],
    [`from=soon&to=${at}`, 400, /^validation/],
    [`from=${at - 60}&to=${at}&bucked=1m`, 400, 'validation.unknown_parameter']
  ] as const
  for (const [query, status, code] of cases)
    t.match(await call('GET', `/v1/traffic/global?${query}`), { status, body: { error: { code } } }, query)

  const span = `from=${at - 60}&to=${at}`
  const refused = (status: number, code: string) => ({ status, body: { error: { code } } })
  t.match(await call('GET', `/v1/users/nobody/traffic?${span}`), refused(404, 'user_not_found'))
  t.match(await call('GET', `/v1/clients/nowhere/traffic?${span}`), refused(404, 'client_not_found'))
  t.same(
    (await call('GET', `/v1/clients/nowhere/traffic?${span}`)).body,
    (await call('GET', `/v1/clients/01ARZ3NDEKTSV4RRFFQ69G5FAV/traffic?${span}`)).body,
    'a malformed id has the body of an unknown one'
  )
  t.match(await call('GET', `/v1/users/bob/traffic?${span}`, undefined, ann), refused(403, 'not_owner'))
  t.match(await call('GET', `/v1/traffic/global?${span}`, undefined, ann), refused(403, 'role_required'))
  t.match(await call('GET', `/v1/users/ann/traffic?${span}`, undefined, ann), {
    status: 200,
    body: { samples: [] }
  })
})

t.test('the default bucket is 1m for a day of the last week, else 1h', async t => {
  const { call } = await statsFixture(t, { plugins })
  const bucket = async (from: number, to: number) =>
    (await call<Traffic>('GET', `/v1/traffic/global?from=${from}&to=${to}`)).body.bucket
  t.equal(await bucket(at - 86_400, at), '1m')
  t.equal(await bucket(at - 86_401, at), '1h')
  t.equal(await bucket(at - 7 * 86_400, at - 6 * 86_400), '1m')
  t.equal(await bucket(at - 7 * 86_400 - 1, at - 7 * 86_400), '1h')
})

t.test('a later user of a name has no history; the global history keeps it', async t => {
  const { edge, report, call, user } = await statsFixture(t, { plugins })
  const { agent, clientId } = await edge()
  const ann = await user('ann')
  const rule = {
    client: clientId,
    listen_port: 9000,
    targets: [{ host: '10.0.0.1', port: 80 }],
    owner: 'ann'
  }
  const { body } = await call<{ rule_id: string }>('POST', '/v1/rules', rule)
  await report(agent, { rows: [row(body.rule_id, 'minute', minute, { bytes_in: 8 })] })
  const span = `from=${at}&to=${at + 60}`
  const total = async (path: string) => (await call<Traffic>('GET', `${path}?${span}`)).body.total_bytes_in
  t.equal(await total('/v1/users/ann/traffic'), 8)

  t.equal((await call('DELETE', '/v1/users/ann')).status, 200)
  t.match(await call('GET', `/v1/users/ann/traffic?${span}`, undefined, ann), { status: 401 })
  t.equal((await call('POST', '/v1/users', { user_id: 'ann', display_name: 'Ann' })).status, 201)
  await report(agent, { seq: 2, rows: [row(body.rule_id, 'minute', minute, { bytes_in: 9 })] })
  t.equal(await total('/v1/users/ann/traffic'), 0)
  t.equal(await total('/v1/traffic/global'), 9, 'the last byte of the rule came late')
})

t.test('samples are deleted after their retention', async t => {
  const { edge, report, call, clock, server } = await statsFixture(t, { plugins })
  const { agent, ruleId } = await edge()
  await report(agent, { rows: [row(ruleId, 'minute', minute, { bytes_in: 7 })] })
  const kept = () =>
    server.depsOf('traffic').store.read(async em => {
      const rows = await em.execute<{ span_secs: number }[]>('select distinct span_secs from traffic_sample')
      return rows.map(({ span_secs }) => span_secs)
    })
  await clock.advance(3_600_000)
  t.same(await kept(), [60, 3600], 'saved counts are in the samples after a minute')
  await agent.close()
  for (let day = 0; day < 8; day++) await clock.advance(86_400_000)
  t.same(await kept(), [3600])
  t.equal((await call('GET', '/v1/stats/summary')).status, 200)
})

t.test('other work runs while old samples are deleted', async t => {
  const { server } = await statsFixture(t, { plugins })
  const deps = server.depsOf('traffic') as unknown as { store: Kernel['store']; traffic: Service }
  const count = (table: string) =>
    deps.store.read(
      async em => (await em.execute<{ n: number }[]>(`select count(*) as n from ${table}`))[0]?.n
    )
  await deps.store.change(async em => {
    await em.execute(
      `insert into traffic_series (id, user_id, client_id) values (1, 'ann', 'c'), (2, 'bob', 'c'), (3, 'eve', 'c')`
    )
    await em.execute(
      `insert into traffic_sample (series, span_secs, ts, bytes_in, bytes_out) with recursive n(i) as (values (1) union all select i + 1 from n where i < 2500)
       select 1 + i % 2, 60, i * 60, 1, 1 from n`
    )
    await em.execute(
      `insert into traffic_sample (series, span_secs, ts, bytes_in, bytes_out)
       values (1, 60, ${at}, 1, 1), (3, 3600, ${at}, 1, 1)`
    )
  })
  let iterations = 0
  let next = setImmediate(function iterate() {
    iterations++
    next = setImmediate(iterate)
  })
  t.teardown(() => clearImmediate(next))

  await deps.traffic.prune()

  t.ok(iterations >= 2)
  t.equal(await count('traffic_sample'), 2, 'recent samples stay')
  t.equal(await count('traffic_series'), 2, 'empty series are deleted')
})

t.test(
  'old and enormous reports fill no table, and sums end at the largest exact number',
  { skip: notOnPostgres('PostgreSQL refuses sums above 2^63') },
  async t => {
    const { edge, report, call, server } = await statsFixture(t, { plugins })
    const { agent, ruleId } = await edge()
    const { store, traffic } = server.depsOf('traffic') as unknown as Pick<Kernel, 'store'> & {
      traffic: Service
    }
    const day = 86_400
    const most = 2 ** 43

    await report(agent, {
      rows: [
        row(ruleId, 'minute', `${at - 8 * day}`, { bytes_in: 1 }),
        row(ruleId, 'hour', `${at - 91 * day}`, { bytes_in: 1 }),
        row(ruleId, 'minute', `${at + 7200}`, { bytes_in: 1 }),
        row(ruleId, 'minute', minute, { bytes_in: most })
      ]
    })
    await traffic.fold()
    await store.change(em => em.execute('update traffic_sample set bytes_in = 9223372036854775000'))
    await report(agent, { seq: 2, rows: [row(ruleId, 'minute', `${at + 60}`, { bytes_in: most })] })

    await traffic.fold()
    const spans = await store.read(em =>
      em.execute<{ ts: number }[]>('select distinct span_secs, ts from traffic_sample order by span_secs, ts')
    )
    t.match(
      spans.map(({ ts }) => ts),
      [at, at + 60, at - 8 * day, at]
    )
    t.match(await call('GET', `/v1/traffic/global?from=${at}&to=${at + 120}`), {
      status: 200,
      body: { total_bytes_in: Number.MAX_SAFE_INTEGER }
    })
  }
)
