import t from 'tap'
import type { RuleRecord } from '../record.ts'
import { type RulesFixture, rulesFixture } from './fixture.ts'

const notOwner = { status: 403, body: { error: { code: 'not_owner' } } }

/** Rules 1 and 2 of ada, 3 and 4 of the operator; on two clients with the same name. */
async function listFixture(on: RulesFixture) {
  const ada = await on.user('ada')
  const clients = [await on.enroll('twin'), await on.enroll('twin')]
  for (const id of clients) await on.connect(id)
  const ids: string[] = []
  for (const [listen_port, client, owner] of [
    [1, clients[0], 'ada'],
    [2, clients[1], 'ada'],
    [3, clients[0], '_operator'],
    [4, clients[1], '_operator']
  ])
    ids.push((await on.push({ listen_port, client, owner })).body.rule_id)
  return { ada, clients, ids }
}

const portsIn = (reply: { readonly body: readonly RuleRecord[] }) =>
  reply.body.map(({ listen_port }) => listen_port)

t.test('a superadmin sees all rules, by client and by owner', async t => {
  const on = await rulesFixture(t)
  const { clients } = await listFixture(on)

  for (const [query, ports] of [
    ['', [1, 2, 3, 4]],
    ['?owner=ada', [1, 2]],
    ['?client=twin', [1, 2, 3, 4]],
    [`?client=${clients[0]}`, [1, 3]],
    [`?client=${clients[0]}&owner=ada`, [1]],
    ['?client=nobody', []],
    ['?owner=ghost', []]
  ] as const)
    t.same(portsIn(await on.call<RuleRecord[]>('GET', `/v1/rules${query}`)), ports, query)
})

t.test('a user sees only their own rules', async t => {
  const on = await rulesFixture(t)
  const { ada, clients, ids } = await listFixture(on)
  const get = (url: string) => on.call<RuleRecord[]>('GET', url, undefined, ada)

  t.same(portsIn(await get('/v1/rules')), [1, 2])
  t.same(portsIn(await get('/v1/rules?owner=ada')), [1, 2])
  t.same(portsIn(await get(`/v1/rules?client=${clients[1]}`)), [2])
  t.match(await get('/v1/rules?owner=_operator'), notOwner)
  t.match(await get(`/v1/rules/${ids[0]}`), { status: 200, body: { owner: 'ada' } })
  t.match(await get(`/v1/rules/${ids[2]}`), notOwner)
  t.match(await get('/v1/rules/01ARZ3NDEKTSV4RRFFQ69G5FAV'), { status: 404 })
})

t.test('a user removes only their own rules', async t => {
  const on = await rulesFixture(t)
  const { ada, ids } = await listFixture(on)

  t.match(await on.call('DELETE', `/v1/rules/${ids[2]}`, undefined, ada), notOwner)
  t.equal((await on.call('DELETE', `/v1/rules/${ids[0]}`, undefined, ada)).status, 204)
  t.match(await on.get(ids[2]!), { state: 'active' })
})

t.test('a list is paged, each rule once', async t => {
  const on = await rulesFixture(t)
  await listFixture(on)
  const seen: number[] = []

  for (let next = '/v1/rules?limit=3'; next !== ''; ) {
    const page = await on.call<RuleRecord[]>('GET', next)
    seen.push(...portsIn(page))
    next = /<([^>]+)>/.exec(String(page.headers['link'] ?? ''))?.[1] ?? ''
  }

  t.same(seen, [1, 2, 3, 4])
})

t.test('a rule shows the current name of its client', async t => {
  const on = await rulesFixture(t)
  const { clients, ids } = await listFixture(on)

  await on.call('PATCH', `/v1/clients/${clients[0]}/name`, { client_name: 'lyon' })

  t.equal((await on.get(ids[0]!)).client_name, 'lyon')
})
