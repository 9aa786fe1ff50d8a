// The quota API: requests, access and responses.
import t from 'tap'
import { testServer } from '../../../kit/test-server.ts'
import { noon } from '../../stats/test/fixture.ts'
import { plugins, quotaFixture, refusal, supportingAgent } from './fixture.ts'

const noonSecs = noon / 1000
const january = Date.UTC(2026, 0, 1) / 1000
const february = Date.UTC(2026, 1, 1) / 1000

t.test('a quota is created, shown, listed, changed and deleted', async t => {
  const { put, patch, status, call, clientId } = await quotaFixture(t)
  const path = `/v1/users/ann/quotas/${clientId}`
  const created = {
    user_id: 'ann',
    client_id: clientId,
    client_name: 'edge',
    monthly_bytes: 1000,
    billing_anchor: january,
    bytes_used: 0,
    bytes_remaining: 1000,
    period_start: january,
    period_end: february,
    exhausted: false,
    exhausted_at: null,
    enforced: true,
    created_at: noonSecs,
    updated_at: noonSecs
  }

  t.strictSame((await put({ monthly_bytes: 1000 })).body, created)
  t.strictSame(await status(), created)
  t.strictSame((await call('GET', '/v1/users/ann/quotas')).body, [created])
  t.strictSame((await call('GET', `/v1/clients/${clientId}/quotas`)).body, [created])

  t.match(await put({ ...created, monthly_bytes: 2000 }), { status: 200, body: { monthly_bytes: 2000 } })
  t.match(await patch({ monthly_bytes: 3000 }), { status: 200, body: { bytes_remaining: 3000 } })
  t.match(await patch({}), { status: 200, body: { monthly_bytes: 3000 } })

  t.equal((await call('DELETE', path)).status, 204)
  t.match(await call('DELETE', path), refusal(404, 'quota_not_found'))
  t.match(await call('GET', `${path}/status`), refusal(404, 'quota_not_found'))
  t.match(await patch({ monthly_bytes: 1 }), refusal(404, 'quota_not_found'))
  t.same((await call('GET', '/v1/users/ann/quotas')).body, [])
})

t.test('an invalid quota is refused with the name of the field', async t => {
  const { put, patch } = await quotaFixture(t)

  for (const body of [{}, { monthly_bytes: -1 }, { monthly_bytes: 1.5 }, { monthly_bytes: '1' }])
    t.match(await put(body), refusal(400, 'invalid_quota_size'), JSON.stringify(body))
  t.equal((await put({ monthly_bytes: 2 ** 53 })).status, 400)
  for (const billing_anchor of [noonSecs + 1, -1, 0.5])
    t.match(await put({ monthly_bytes: 1, billing_anchor }), refusal(400, 'invalid_billing_anchor'))
  t.match(await put({ monthly_byte: 1 }), refusal(400, 'validation.unknown_field'))
  t.match(await patch({ monthly_bytes: -1 }), refusal(400, 'invalid_quota_size'))
  t.match(await patch({ clear_period_usage: 1 }), refusal(400, 'validation.schema'))
})

t.test('an anchor is set once and determines the periods', async t => {
  const { put } = await quotaFixture(t)
  const billing_anchor = Date.UTC(2025, 11, 31, 18, 0, 30) / 1000

  t.match((await put({ monthly_bytes: 1, billing_anchor })).body, {
    billing_anchor,
    period_start: billing_anchor,
    period_end: Date.UTC(2026, 0, 31, 18, 0, 30) / 1000
  })
  t.match(await put({ monthly_bytes: 2, billing_anchor }), { status: 200 })
  t.match(await put({ monthly_bytes: 3 }), { status: 200, body: { billing_anchor } })
  t.match(
    await put({ monthly_bytes: 4, billing_anchor: billing_anchor - 1 }),
    refusal(400, 'invalid_billing_anchor')
  )
  t.match((await put({ monthly_bytes: 5, billing_anchor: noonSecs })).status, 400)
})

t.test('a quota needs an existing user and client; the operator token is not a user', async t => {
  const { put, call, clientId } = await quotaFixture(t)

  t.match(await put({ monthly_bytes: 1 }, 'nobody'), refusal(404, 'user_not_found'))
  t.match(await put({ monthly_bytes: 1 }, '_operator'), refusal(404, 'user_not_found'))
  for (const method of ['PUT', 'PATCH', 'DELETE'] as const)
    t.match(
      await call(
        method,
        '/v1/users/ann/quotas/nowhere',
        method === 'DELETE' ? undefined : { monthly_bytes: 1 }
      ),
      refusal(404, 'client_not_found')
    )
  t.match(await call('GET', '/v1/users/nobody/quotas'), refusal(404, 'user_not_found'))
  t.match(await call('GET', '/v1/clients/nowhere/quotas'), refusal(404, 'client_not_found'))
  t.match(await call('GET', `/v1/users/_operator/quotas/${clientId}/status`), refusal(404, 'user_not_found'))
})

t.test('a user reads their own quotas and changes none', async t => {
  const { put, call, clientId, ann, user } = await quotaFixture(t)
  const bob = await user('bob')
  await put({ monthly_bytes: 1000 })
  const path = `/v1/users/ann/quotas/${clientId}`

  t.equal((await call('GET', '/v1/users/ann/quotas', undefined, ann)).status, 200)
  t.equal((await call('GET', `${path}/status`, undefined, ann)).status, 200)
  for (const method of ['PUT', 'PATCH', 'DELETE'] as const)
    t.match(await call(method, path, undefined, ann), refusal(403, 'role_required'))
  t.match(await call('GET', `/v1/clients/${clientId}/quotas`, undefined, ann), refusal(403, 'role_required'))
  t.match(await call('GET', '/v1/users/ann/quotas', undefined, bob), refusal(403, 'not_owner'))
  t.match(await call('GET', `${path}/status`, undefined, bob), refusal(403, 'not_owner'))
  t.match(await call('GET', '/v1/users/nobody/quotas', undefined, bob), refusal(403, 'not_owner'))
})

t.test('a quota is refused if the agent does not support it now or did not when last seen', async t => {
  const on = await quotaFixture(t)
  const { enroll, connected, call, disconnect } = on
  const set = (clientId: string) => call('PUT', `/v1/users/ann/quotas/${clientId}`, { monthly_bytes: 1 })
  for (const [version, capabilities, status] of [
    ['1.3.9', null, 422],
    ['1.4.0', null, 200],
    ['2.0.0', {}, 422],
    ['2.0.0', { 'traffic.quota': '1.3.0' }, 422],
    ['2.0.0', { 'traffic.quota': '1.4.0' }, 200]
  ] as const) {
    const clientId = await enroll(`${version} ${JSON.stringify(capabilities)}`)
    t.equal((await set(clientId)).status, 200, 'a client that never connected is checked when it does')
    t.equal((await call('DELETE', `/v1/users/ann/quotas/${clientId}`)).status, 204)
    const agent = await connected(clientId, { ...supportingAgent, version, capabilities })

    const online = await set(clientId)
    on.log.length = 0
    await disconnect(agent)
    const offline = await set(clientId)

    for (const reply of [online, offline])
      t.match(reply, status === 200 ? { status } : refusal(status, 'quota_unsupported_by_client'), version)
  }
})

t.test('an agent that connects and is too old is logged and gets no quota', async t => {
  const { enroll, connected, call, log } = await quotaFixture(t)
  const clientId = await enroll('late')
  await call('PUT', `/v1/users/ann/quotas/${clientId}`, { monthly_bytes: 1 })

  const agent = await connected(clientId, { ...supportingAgent, version: '1.3.0', capabilities: null })
  while (!log.some(({ event }) => event === 'traffic_quota.unsupported'))
    await new Promise(resolve => setImmediate(resolve))

  t.match(log.find(({ event }) => event === 'traffic_quota.unsupported')?.fields, {
    client: clientId,
    quotas: 1
  })
  t.notMatch(agent.received, [{ name: 'sluice.quota.TrafficQuotaUpdate' }])
})

t.test('quotas are deleted with their user and with their client', async t => {
  const { put, call, clientId, agent } = await quotaFixture(t)
  await put({ monthly_bytes: 1000 })
  await agent.until('sluice.quota.TrafficQuotaUpdate')

  t.equal((await call('DELETE', '/v1/users/ann')).status, 200)
  const { body } = await agent.until('sluice.quota.TrafficQuotaUpdate', 2)
  t.match(body, { action: 'REMOVE', user_id: 'ann' })
  await call('POST', '/v1/users', { user_id: 'ann', display_name: 'Ann' })
  t.same((await call('GET', '/v1/users/ann/quotas')).body, [], 'a later user of that name inherits nothing')

  await put({ monthly_bytes: 1000 })
  await call('POST', `/v1/clients/${clientId}/revoke`)
  t.equal((await call('DELETE', `/v1/clients/${clientId}`)).status, 204)
  t.same((await call('GET', '/v1/users/ann/quotas')).body, [])
})

t.test('a renamed client keeps its quotas', async t => {
  const { put, status, call, clientId } = await quotaFixture(t)
  await put({ monthly_bytes: 1000 })

  await call('PATCH', `/v1/clients/${clientId}/name`, { client_name: 'other' })

  t.match(await status(), { client_name: 'other', monthly_bytes: 1000 })
})

t.test('quotas of a user deleted while the plugin was off are deleted at start', async t => {
  const first = await quotaFixture(t)
  await first.put({ monthly_bytes: 1000 })
  await first.stop()
  const without = await testServer(t, { plugins: plugins.slice(0, -1), dir: first.dir, clock: first.clock })
  await without.call('DELETE', '/v1/users/ann')
  await first.clock.advance(1000)
  await without.call('POST', '/v1/users', { user_id: 'ann', display_name: 'Ann' })
  await without.stop()

  const again = await testServer(t, { plugins, dir: first.dir, clock: first.clock })

  t.same((await again.call('GET', '/v1/users/ann/quotas')).body, [])
})
