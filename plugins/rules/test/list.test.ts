import t from 'tap'
import type { RuleRecord } from '../api/rule-record.ts'
import { type RulesFixture, rulesFixture } from './fixture.ts'

const notOwner = { status: 403, body: { error: { code: 'not_owner' } } }

/** Creates rules 1 and 2 of ada, 3 and 4 of the operator, on two clients with the same name. */
async function listFixture(app: RulesFixture) {
  const ada = await app.user('ada')
  const clients = [await app.enroll('twin'), await app.enroll('twin')]
  for (const id of clients) await app.connect(id)
  const ids: string[] = []
  for (const [listen_port, client, owner] of [
    [1, clients[0], 'ada'],
    [2, clients[1], 'ada'],
    [3, clients[0], '_operator'],
    [4, clients[1], '_operator']
  ])
    ids.push((await app.push({ listen_port, client, owner })).body.rule_id)
  return { ada, clients, ids }
}

const portsIn = (reply: { readonly body: readonly RuleRecord[] }) =>
  reply.body.map(({ listen_port }) => listen_port)

t.test('a superadmin sees all rules, by client and by owner', async t => {
  const app = await rulesFixture(t)
  const { clients } = await listFixture(app)

  for (const [query, ports] of [
    ['', [1, 2, 3, 4]],
    ['?owner=ada', [1, 2]],
    ['?client=twin', [1, 2, 3, 4]],
    [`?client=${clients[0]}`, [1, 3]],
    [`?client=${clients[0]}&owner=ada`, [1]],
    ['?client=nobody', []],
    ['?owner=ghost', []]
  ] as const)
    t.same(portsIn(await app.call<RuleRecord[]>('GET', `/v1/rules${query}`)), ports, query)
})

t.test('a user sees only their own rules', async t => {
  const app = await rulesFixture(t)
  const { ada, clients, ids } = await listFixture(app)
  const get = (url: string) => app.call<RuleRecord[]>('GET', url, undefined, ada)

  t.same(portsIn(await get('/v1/rules')), [1, 2])
  t.same(portsIn(await get('/v1/rules?owner=ada')), [1, 2])
  t.same(portsIn(await get(`/v1/rules?client=${clients[1]}`)), [2])
  t.match(await get('/v1/rules?owner=_operator'), notOwner)
  t.match(await get(`/v1/rules/${ids[0]}`), { status: 200, body: { owner: 'ada' } })
  t.match(await get(`/v1/rules/${ids[2]}`), notOwner)
  t.match(await get('/v1/rules/01ARZ3NDEKTSV4RRFFQ69G5FAV'), { status: 404 })
})

t.test('a user can only remove their own rules', async t => {
  const app = await rulesFixture(t)
  const { ada, ids } = await listFixture(app)

  t.match(await app.call('DELETE', `/v1/rules/${ids[2]}`, undefined, ada), notOwner)
  t.equal((await app.call('DELETE', `/v1/rules/${ids[0]}`, undefined, ada)).status, 204)
  t.match(await app.get(ids[2]!), { state: 'active' })
})

t.test('a list is paged, each rule once', async t => {
  const app = await rulesFixture(t)
  await listFixture(app)
  const seen: number[] = []

  for (let next = '/v1/rules?limit=3'; next !== ''; ) {
    const page = await app.call<RuleRecord[]>('GET', next)
    seen.push(...portsIn(page))
    next = /<([^>]+)>/.exec(String(page.headers['link'] ?? ''))?.[1] ?? ''
  }

  t.same(seen, [1, 2, 3, 4])
})

t.test('a rule shows the current name of its client', async t => {
  const app = await rulesFixture(t)
  const { clients, ids } = await listFixture(app)

  await app.call('PATCH', `/v1/clients/${clients[0]}/name`, { client_name: 'lyon' })

  t.equal((await app.get(ids[0]!)).client_name, 'lyon')
})
