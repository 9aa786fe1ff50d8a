// Clients of keys with `approve`: they connect, and have no rules before their approval.
import t from 'tap'
import { groupsFixture } from '../../groups/test/fixture.ts'
import { rule, until } from '../../rules/test/fixture.ts'
import { RulePush } from '../../rules/wire.ts'
import { createKey, redeemKey } from './fixture.ts'

const plugins = [
  ...['users', 'clients', 'rules', 'port-range', 'multi-target', 'sni', 'rate-limit', 'grants', 'udp'],
  ...['labels', 'groups', 'stats', 'schedule', 'metrics', 'advertised-endpoint', 'enrollment']
]

async function pendingFixture(t: Parameters<typeof groupsFixture>[0]) {
  const app = await groupsFixture(t, { plugins })
  const { key } = await createKey(app, { approve: true, labels: { env: 'prod' } })
  const redeemed = await redeemKey(app, key, { token: 'one' })
  if (typeof redeemed === 'string') throw new Error(redeemed)
  const { client_id: id } = redeemed
  const own = await app.agent(id, { token: 'one' })
  const approve = () => app.call('POST', `/v1/clients/${id}/approve`)
  return { ...app, id, own, approve }
}

t.test('a pending client connects and gets no rule until it is approved', async t => {
  const app = await pendingFixture(t)
  t.match(await app.call('GET', `/v1/clients/${app.id}`), {
    body: { state: 'pending', connected: true, labels: { env: 'prod' } }
  })

  const refused = await app.push({ client: 'web' })

  t.match(refused, {
    status: 409,
    body: { error: { code: 'client_pending', details: { client_id: app.id } } }
  })
  t.match(await app.push({ client: 'web', if_offline: 'queue' }), { status: 409 })
  t.same((await app.call('GET', '/v1/rules')).body, [])
  t.match(await app.approve(), { status: 200, body: { client_id: app.id, state: 'connected' } })
  t.match(await app.push({ client: 'web' }), { status: 201, body: { state: 'active' } })
})

t.test('an approval sends the rules of its groups at once', async t => {
  const app = await pendingFixture(t)
  const { status, body } = await app.group({ selector: 'env=prod' })
  t.equal(status, 201)
  t.match(body.edges, [], 'the selector does not choose a pending client')

  await app.approve()

  const push = await app.own.until(RulePush.name)
  t.match(push.body, { listen_from: 8080 })
  await until(
    () => app.states(body.rule_id),
    states => states['web'] === 'active'
  )
})

t.test('a group that names a pending client by its id is refused as a whole', async t => {
  const app = await pendingFixture(t)
  const other = await app.edge('other')
  await app.agent(other)

  t.match(await app.group({ ids: [app.id, other] }), {
    status: 409,
    body: { error: { code: 'client_pending' } }
  })

  t.same((await app.call('GET', '/v1/rules')).body, [])
})

t.test('only a pending client can be approved, and only once', async t => {
  const app = await pendingFixture(t)
  const other = await app.edge('other')
  const notPending = { status: 409, body: { error: { code: 'client_not_pending' } } }

  t.match(await app.call('POST', `/v1/clients/${other}/approve`), notPending)
  t.match(await app.call('POST', '/v1/clients/nonsense/approve'), {
    status: 404,
    body: { error: { code: 'client_not_found' } }
  })
  t.match(await app.approve(), { status: 200 })
  t.match(await app.approve(), notPending)
})

t.test('a revoked client cannot be approved', async t => {
  const app = await pendingFixture(t)
  await app.call('POST', `/v1/clients/${app.id}/revoke`)

  t.match(await app.approve(), { status: 409, body: { error: { code: 'client_not_pending' } } })

  t.match(await app.call('GET', `/v1/clients/${app.id}`), { body: { state: 'revoked' } })
  t.match(await app.push({ ...rule, client: 'web', if_offline: 'queue' }), { status: 409 })
})

t.test('a restart keeps a client pending', async t => {
  const app = await pendingFixture(t)

  await app.restart()

  t.match(await app.call('GET', `/v1/clients/${app.id}`), { body: { state: 'pending' } })
  t.match(await app.push({ client: 'web', if_offline: 'queue' }), { status: 409 })
})
