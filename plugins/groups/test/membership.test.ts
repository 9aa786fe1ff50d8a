import t from 'tap'
import { recordLog } from '../../../kit/record-log.ts'
import { until } from '../../rules/test/fixture.ts'
import { openMembership } from '../membership.ts'
import { groupsFixture, type Refused } from './fixture.ts'

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

t.test(
  'a group needs grants for every client, and a client that joins without a grant is failed until it has one',
  async t => {
    const app = await groupsFixture(t)
    const [a, b] = [await app.edge('a', { env: 'prod' }), await app.edge('b', { env: 'prod' })]
    for (const id of [a, b]) await app.agent(id)
    const ann = await app.user('ann')
    const grant = (client: string) =>
      app.call<{ grant_id: string }>('POST', '/v1/grants', {
        ...{ user_id: 'ann', client, protocols: ['tcp'], listen_port_start: 8000, listen_port_end: 9000 }
      })
    const body = { listen_port: 8080, targets: [{ host: '10.0.0.1', port: 80 }] }
    const create = (clients: object) => app.call<Refused>('POST', '/v1/rules', { ...body, clients }, ann)
    await grant('a')

    const refused = await create({ selector: 'env=prod' })
    t.match(refused, { status: 403, body: { error: { code: 'client_not_granted' } } })
    t.notMatch(refused.text, b, 'a hidden client is not named')
    await app.label(b, { env: null })
    const { body: rule } = await app.call<{ rule_id: string }>(
      'POST',
      '/v1/rules',
      { ...body, clients: { selector: 'env=prod' } },
      ann
    )

    await app.label(b, { env: 'prod' })
    const joined = await until(
      () => app.read(rule.rule_id),
      ({ edges }) => edges.length === 2
    )
    t.match(joined, {
      state: 'partial',
      edges: [{ state: 'active' }, { client_name: 'b', state: 'failed', state_reason: 'client_not_granted' }]
    })

    const { body: granted } = await grant('b')
    await app.clock.advance(10_000)
    await until(
      () => app.states(rule.rule_id),
      states => states['b'] === 'active'
    )
    await app.call('DELETE', `/v1/grants/${granted.grant_id}`)
    await until(
      () => app.states(rule.rule_id),
      states => states['b'] === 'failed'
    )
  }
)

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
