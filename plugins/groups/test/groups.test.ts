import t from 'tap'
import { until } from '../../rules/test/fixture.ts'
import { RulePush, RuleRemove } from '../../rules/wire.ts'
import { groupsFixture, type Refused } from './fixture.ts'

t.test('a rule on several ids is one rule with a state for each client', async t => {
  const app = await groupsFixture(t)
  const [paris, lyon] = [await app.edge('paris'), await app.edge('lyon')]
  const agents = [await app.agent(paris), await app.agent(lyon)]

  const created = await app.group({ ids: [paris, lyon] })

  t.match(created, {
    status: 201,
    body: {
      client_id: null,
      client_name: null,
      clients: { ids: [paris, lyon] },
      state: 'active',
      edges: [
        { client_id: lyon, client_name: 'lyon', state: 'active', state_reason: null },
        { client_id: paris, client_name: 'paris', state: 'active', state_reason: null }
      ]
    }
  })
  for (const agent of agents) t.match(await agent.until(RulePush.name), { body: { listen_from: 8080 } })
  t.match(await app.call('GET', '/v1/rules'), { body: [created.body] })
  t.equal((await app.call<unknown[]>('GET', '/v1/rules')).body.length, 1)
})
t.test('every conflict is reported before anything is stored', async t => {
  const app = await groupsFixture(t)
  const ids = [await app.edge('a'), await app.edge('b'), await app.edge('c')]
  for (const id of ids) await app.agent(id)
  const { body: other } = await app.push({ client: ids[1], listen_port: 8080 })
  const before = await app.objects(String(ids[0]))

  const refused = await app.call<Refused>('POST', '/v1/rules', {
    clients: { ids },
    listen_port: 8080,
    targets: [{ host: '10.0.0.1', port: 80 }]
  })

  t.match(refused, {
    status: 409,
    body: {
      error: { code: 'port_in_use', details: { edges: [{ client_name: 'b', rule_id: other.rule_id }] } }
    }
  })
  t.strictSame(await app.objects(String(ids[0])), before)
  t.equal((await app.call<unknown[]>('GET', '/v1/rules')).body.length, 1)
})

t.test('a client joins a selector by its labels, and drains when it leaves', async t => {
  const app = await groupsFixture(t)
  const [a, b] = [await app.edge('a', { env: 'prod' }), await app.edge('b')]
  await app.agent(a)
  const agent = await app.agent(b)
  const { body: rule } = await app.group({ selector: 'env=prod' })
  t.strictSame(await app.states(rule.rule_id), { a: 'active' })

  await app.label(b, { env: 'prod' })
  await until(
    () => app.states(rule.rule_id),
    states => states['b'] === 'active'
  )
  await app.label(b, { env: null })

  t.match(await agent.until(RuleRemove.name), { body: { removal: 'drain' } })
  t.strictSame(await app.states(rule.rule_id), { a: 'active' })
})
