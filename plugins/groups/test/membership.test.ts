import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { recordLog } from '../../../kit/record-log.ts'
import { until } from '../../rules/test/fixture.ts'
import { openMembership } from '../membership.ts'
import { type GroupRule, groupsFixture } from './fixture.ts'

const body = { listen_port: 8080, targets: [{ host: '10.0.0.1', port: 80 }] }
const prod = { selector: 'env=prod' }

t.test('a group without matching clients is pending, with the reason no_edge', async t => {
  const app = await groupsFixture(t)

  const created = await app.group({ selector: 'env=prod' })

  t.match(created, { status: 201, body: { state: 'pending', state_reason: 'no_edge', edges: [] } })
  const edge = await app.edge('a')
  await app.label(edge, { env: 'prod' })
  await until(
    () => app.states(created.body.rule_id),
    states => states['a'] === 'pending'
  )
})

t.test('an invalid group is refused with the name of the field', async t => {
  const app = await groupsFixture(t)
  const a = await app.edge('a')
  await app.agent(a)
  const unknown = '01KCD3F0P7Q4Y6Z8V1T5S9R2NB'
  for (const [clients, status, code, field] of [
    [{ ids: [] }, 400, 'validation.clients', '/clients/ids'],
    [{}, 400, 'validation.clients', '/clients'],
    [{ ids: [a], selector: 'env=prod' }, 400, 'validation.clients', '/clients'],
    [{ ids: ['paris'] }, 400, 'validation.clients', '/clients/ids/0'],
    [{ ids: [a, unknown] }, 404, 'client_not_found', '/clients/ids'],
    [{ selector: 'env=(' }, 400, 'validation.selector', '/clients/selector']
  ] as const)
    t.match(await app.group(clients), { status, body: { error: { code, details: { field } } } }, code)
  t.match((await app.group({ ids: [a, unknown] })).body.error.message, unknown)
  t.match(await app.group({ ids: [a] }, { client: 'a' }), {
    status: 400,
    body: { error: { code: 'validation.schema' } }
  })
  t.match(await app.push({ client: undefined }), {
    status: 400,
    body: { error: { code: 'validation.schema' } }
  })
  t.same((await app.call('GET', '/v1/rules')).body, [])
})

t.test('an offline client refuses a group at create, unless the rule is queued', async t => {
  const app = await groupsFixture(t)
  const ids = [await app.edge('a'), await app.edge('b')]
  await app.agent(String(ids[0]))

  const refused = await app.group({ ids })
  t.match(refused, {
    status: 422,
    body: { error: { code: 'client_not_connected', details: { edges: [{ client_name: 'b' }] } } }
  })
  const queued = await app.group({ ids }, { if_offline: 'queue' })
  t.match(queued, {
    status: 201,
    body: { state: 'partial', edges: [{ state: 'active' }, { client_name: 'b', state: 'pending' }] }
  })

  await app.agent(String(ids[1]))
  await until(
    () => app.states(queued.body.rule_id),
    states => states['b'] === 'active'
  )
})

t.test('the group of a user has only clients that a grant covers, and follows the grants', async t => {
  const app = await groupsFixture(t)
  const [a, b] = [await app.edge('a', { env: 'prod' }), await app.edge('b', { env: 'prod' })]
  for (const id of [a, b]) await app.agent(id)
  const ann = await app.user('ann')
  const grant = (client: string, listen_port_start = 8000) =>
    app.call<{ grant_id: string }>('POST', '/v1/grants', {
      user_id: 'ann',
      client,
      protocols: ['tcp'],
      listen_port_start,
      listen_port_end: 9000
    })
  await grant('a')
  const created = await app.call<GroupRule>('POST', '/v1/rules', { ...body, clients: prod }, ann)
  const states = (wanted: Record<string, string>) =>
    until(
      () => app.states(created.body.rule_id),
      states => isDeepStrictEqual(states, wanted)
    )

  t.match(created, { status: 201, body: { state: 'active', edges: [{ client_name: 'a' }] } })
  const { body: granted } = await grant('b')
  await states({ a: 'active', b: 'active' })
  const { body: other } = await grant('b', 8500)
  await app.call('DELETE', `/v1/grants/${granted.grant_id}`)
  await states({ a: 'active', b: 'failed' })
  t.match((await app.read(created.body.rule_id)).edges[1], { state_reason: 'port_outside_grant' })
  await app.call('DELETE', `/v1/grants/${other.grant_id}`)
  await states({ a: 'active' })
})

t.test('a new client stays hidden from a group if its owner has no grant for it', async t => {
  const app = await groupsFixture(t)
  await app.agent(await app.edge('a'))
  const ann = await app.user('ann')
  const all = { selector: 'env notin (test)' }
  await app.call('POST', '/v1/grants', {
    user_id: 'ann',
    client: 'a',
    protocols: ['tcp'],
    listen_port_start: 8000,
    listen_port_end: 9000
  })
  const { body: own } = await app.call<GroupRule>('POST', '/v1/rules', { ...body, clients: all }, ann)
  const { body: ofRoot } = await app.group(all, { listen_port: 8081, if_offline: 'queue' })

  await app.edge('very-secret-customer', { tier: 'gold' })
  await until(
    () => app.states(ofRoot.rule_id),
    states => 'very-secret-customer' in states
  )

  const { text } = await app.call('GET', `/v1/rules/${own.rule_id}`, undefined, ann)
  t.match(JSON.parse(text), { state: 'active', edges: [{ client_name: 'a' }] })
  t.notMatch(text, 'very-secret')
})

t.test('a client id that the user may not see is refused like an unknown one', async t => {
  const app = await groupsFixture(t)
  const hidden = await app.edge('hidden')
  await app.agent(hidden)
  const ann = await app.user('ann')
  const unknown = '01KCD3F0P7Q4Y6Z8V1T5S9R2NB'
  const refusal = async (id: string) => {
    const { status, text } = await app.call('POST', '/v1/rules', { ...body, clients: { ids: [id] } }, ann)
    return { status, text: text.replaceAll(id, 'ID').replace(/"request_id":"[^"]*"/, '') }
  }

  t.same(await refusal(hidden), await refusal(unknown))
  t.match(await refusal(hidden), { status: 403 })
})

t.test('a user who becomes a superadmin has groups on all clients', async t => {
  const app = await groupsFixture(t)
  await app.edge('a', { env: 'prod' })
  const ann = await app.user('ann')
  await app.call('POST', '/v1/grants', {
    user_id: 'ann',
    client: 'a',
    protocols: ['tcp'],
    listen_port_start: 8000,
    listen_port_end: 9000
  })
  await app.edge('b', { env: 'prod' })
  const queued = { ...body, clients: prod, if_offline: 'queue' }
  const { body: rule } = await app.call<GroupRule>('POST', '/v1/rules', queued, ann)
  t.strictSame(Object.keys(await app.states(rule.rule_id)), ['a'])

  t.match(await app.call('PATCH', '/v1/users/ann', { role: 'superadmin' }), { status: 200 })

  await until(
    () => app.states(rule.rule_id),
    states => 'b' in states
  )
})

t.test('a client that joins while its port is taken gets the rule when the port is free', async t => {
  const app = await groupsFixture(t)
  const [a, b] = [await app.edge('a', { env: 'prod' }), await app.edge('b')]
  await app.agent(a)
  const { body: rule } = await app.group({ selector: 'env=prod' })
  const { body: other } = await app.push({ client: b, listen_port: 8080, if_offline: 'queue' })

  await app.label(b, { env: 'prod' })
  const joined = await until(
    () => app.read(rule.rule_id),
    ({ edges }) => edges.length === 2
  )
  t.match(joined.edges[1], { state: 'failed', state_reason: 'port_in_use' })

  await app.call('DELETE', `/v1/rules/${other.rule_id}`)
  await until(
    () => app.states(rule.rule_id),
    states => states['b'] === 'pending'
  )
})

t.test('a deleted client leaves its groups', async t => {
  const app = await groupsFixture(t)
  const ids = [await app.edge('a'), await app.edge('b')]
  const { body: rule } = await app.group({ ids }, { if_offline: 'queue' })

  await app.call('POST', `/v1/clients/${ids[1]}/revoke`)
  t.match(await app.call('DELETE', `/v1/clients/${ids[1]}`), { status: 204 })

  t.strictSame(await app.states(rule.rule_id), { a: 'pending' })
  t.match(await app.call('PATCH', `/v1/rules/${rule.rule_id}`, { paused: true }), { status: 200 })
  await app.restart()
  t.strictSame(await app.states(rule.rule_id), { a: 'pending' })
})

t.test('a client that joined while the server was down gets the rule after the start', async t => {
  const app = await groupsFixture(t)
  const a = await app.edge('a')
  const { body: rule } = await app.group({ selector: 'env=prod' })
  await app.server
    .depsOf('clients')
    .store.change(em =>
      em.execute(
        `insert into labels (kind, record_id, key, value, set_at) values ('client', ?, 'env', 'prod', 1)`,
        [a]
      )
    )

  await app.restart()

  t.strictSame(await app.states(rule.rule_id), { a: 'pending' })
})

t.test('a client that loses several members at once has each of them synced', async t => {
  const synced: string[] = []
  const membership = openMembership({
    log: recordLog([]),
    rules: { syncMembers: async ({ rules = [] } = {}) => void synced.push(...rules) }
  })

  for (const rule of ['r1', 'r2', 'r3']) membership.syncMember('c', rule)

  await until(
    async () => synced,
    rules => rules.length === 3
  )
  t.same(synced, ['r1', 'r2', 'r3'])
})
