import t from 'tap'
import type { Kernel } from '../../../kernel/plugin.ts'
import { minute, row, statsFixture } from '../../stats/test/fixture.ts'
import type { TopRow } from '../schema.ts'
import { parseTopWindow } from '../window.ts'

const at = Number(minute)
const hour = 3600
const plugins = ['users', 'clients', 'rules', 'stats', 'traffic']
const window = `from=${at - 60}&to=${at + 120}`

async function ranked(t: Parameters<typeof statsFixture>[0]) {
  const fixture = await statsFixture(t, { plugins })
  const { edge, user, push, report, call } = fixture
  const ann = await user('ann')
  const paris = await edge('paris')
  const lyon = await edge('lyon')
  const targets = [{ host: '10.0.0.2', port: 80 }]
  const anns = (await push({ client: paris.clientId, listen_port: 9000, owner: 'ann', targets })).body.rule_id
  const target = (ruleId: string, key: string, bytes: number) =>
    row(ruleId, 'target', key, { bytes_in: bytes, connections: 1 })
  await report(paris.agent, {
    rows: [
      row(paris.ruleId, 'minute', minute, { bytes_in: 10, connections: 1 }),
      target(paris.ruleId, '10.0.0.1:80', 10),
      row(anns, 'minute', minute, { bytes_out: 20, rejected: 3 }),
      target(anns, '10.0.0.2:80', 20)
    ]
  })
  await report(lyon.agent, {
    rows: [
      row(lyon.ruleId, 'minute', minute, { bytes_in: 70, connections: 2 }),
      target(lyon.ruleId, '10.0.0.1:80', 70)
    ]
  })
  const top = async (query: string, headers?: Record<string, string>) =>
    (await call<TopRow[]>('GET', `/v1/traffic/top?${window}&${query}`, undefined, headers)).body
  return { ...fixture, ann, paris, lyon, anns, top }
}

t.test('rules, clients, owners and targets are ranked by their bytes', async t => {
  const { top, paris, lyon, anns } = await ranked(t)
  const none = { bytes_in: 0, bytes_out: 0, connections: 0, refused: 0 }

  t.same(await top('by=rule'), [
    { ...none, key: lyon.ruleId, name: 'lyon:8081', bytes_in: 70, connections: 2 },
    { ...none, key: anns, name: 'paris:9000', bytes_out: 20, refused: 3 },
    { ...none, key: paris.ruleId, name: 'paris:8080', bytes_in: 10, connections: 1 }
  ])
  t.same(await top('by=client'), [
    { ...none, key: lyon.clientId, name: 'lyon', bytes_in: 70, connections: 2 },
    { ...none, key: paris.clientId, name: 'paris', bytes_in: 10, bytes_out: 20, connections: 1, refused: 3 }
  ])
  t.same(await top('by=owner'), [
    { ...none, key: '_operator', name: null, bytes_in: 80, connections: 3 },
    { ...none, key: 'ann', name: 'ann', bytes_out: 20, refused: 3 }
  ])
  t.same(await top('by=target'), [
    { ...none, key: '10.0.0.1:80', name: null, bytes_in: 80, connections: 2 },
    { ...none, key: '10.0.0.2:80', name: null, bytes_in: 20, connections: 1 }
  ])
  t.match(await top('by=rule&limit=1'), [{ key: lyon.ruleId }])
  t.equal((await top('by=rule&limit=1')).length, 1)
})

t.test('a user sees only their own traffic', async t => {
  const { top, ann, anns, paris } = await ranked(t)

  const keys = async (by: string) => (await top(`by=${by}`, ann)).map(({ key }) => key)
  t.same(await keys('rule'), [anns])
  t.same(await keys('client'), [paris.clientId])
  t.same(await keys('owner'), ['ann'])
  t.same(await keys('target'), ['10.0.0.2:80'])
  t.match(await top('by=client', ann), [{ bytes_in: 0, bytes_out: 20 }], 'without bytes of others there')
})

t.test('Accept: text/csv gives CSV, in which no name is a formula or a further column', async t => {
  const { call, paris } = await ranked(t)
  await call('PATCH', `/v1/clients/${paris.clientId}`, { client_name: '=cmd,"x"' })
  const get = (accept: string) => call('GET', `/v1/traffic/top?${window}&by=client`, undefined, { accept })

  const { text, headers } = await get('text/csv')
  t.match(headers, { 'content-type': 'text/csv; charset=utf-8' })
  t.match(text, /^key,name,bytes_in,bytes_out,connections,refused\n/)
  t.match(text, `${paris.clientId},"'=cmd,""x""",10,20,1,3\n`)
  for (const accept of ['application/json', '*/*', 'text/csv;q=0.5, application/json', 'text/csv;q=0'])
    t.match((await get(accept)).headers, { 'content-type': /^application\/json/ }, accept)
  const refused = await call('GET', '/v1/traffic/top?by=client', undefined, { accept: 'text/csv' })
  t.match(refused, { status: 400, body: { error: {} } }, 'errors stay JSON')
})

t.test('an invalid query is refused with its reason', async t => {
  const { call } = await statsFixture(t, { plugins })
  for (const [query, status, code] of [
    [`${window}&by=rule&limit=0`, 400, 'invalid_limit'],
    [`${window}&by=rule&limit=101`, 400, 'invalid_limit'],
    [`${window}&by=port`, 400, /^validation/],
    [`from=${at}&to=${at}&by=rule`, 400, 'invalid_time_range'],
    [`from=${at - 91 * 86_400}&to=${at}&by=rule`, 422, 'quota_bucket_out_of_retention']
  ] as const)
    t.match(await call('GET', `/v1/traffic/top?${query}`), { status, body: { error: { code } } }, query)
  t.same((await call('GET', `/v1/traffic/top?${window}`)).body, [], 'nothing was forwarded')
})

t.test('a window is whole hours, with minutes at its ends as long as they are kept', async t => {
  const spans = (from: number, to: number, now = at) =>
    parseTopWindow({ from, to }, now).map(({ spanSecs, from, to }) => [spanSecs, from - at, to - at])

  t.same(spans(at - 60, at + 120), [[60, -60, 120]])
  t.same(spans(at - 2 * hour - 60, at + 60), [
    [60, -2 * hour - 60, -2 * hour],
    [3600, -2 * hour, 0],
    [60, 0, 60]
  ])
  t.same(spans(at, at + hour), [[3600, 0, hour]])
  t.same(spans(at + 60, at + 120), [[60, 60, 120]])
  const old = at + 20 * 86_400
  t.same(spans(at - 90, at + 90, old), [[3600, -90, 90]])
})

t.test('targets of a user beyond 10,000 are counted together', async t => {
  const fixture = await statsFixture(t, { plugins })
  const { edge, report, server, call } = fixture
  const { agent, ruleId } = await edge()
  await (server.depsOf('traffic') as Kernel).store.change(em =>
    em.execute(
      `insert into traffic_series (user_id, client_id, target)
       with recursive n(i) as (values (1) union all select i + 1 from n where i < 10000)
       select '_operator', '*', 'old-' || i || ':80' from n`
    )
  )
  await report(agent, {
    rows: [
      row(ruleId, 'minute', minute, { bytes_in: 4 }),
      row(ruleId, 'target', '10.0.0.1:80', { bytes_in: 4 })
    ]
  })
  const { body } = await call<TopRow[]>('GET', `/v1/traffic/top?${window}&by=target`)
  t.match(body, [{ key: 'other', bytes_in: 4 }])
})
