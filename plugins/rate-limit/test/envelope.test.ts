// Owner envelopes: limits shared by all rules of an owner on a client.
import t from 'tap'
import { until } from '../../rules/test/fixture.ts'
import { RulePush } from '../../rules/wire.ts'
import type { EnvelopeRow } from '../schema.ts'
import { openMetrics } from '../throttles.ts'
import { EnvelopeRemove, EnvelopeSet, Throttled } from '../wire.ts'
import { rateLimitFixture, refusal, supportingAgent } from './fixture.ts'

t.test('an envelope is set, read, changed and deleted', async t => {
  const { setEnvelope, call, clientId, agent, clock } = await rateLimitFixture(t)
  const path = `/v1/clients/${clientId}/owners/ann/rate-limit`
  const row = {
    client_id: clientId,
    owner_id: 'ann',
    rate_limit: { bandwidth_in_bps: 8000, concurrent_connections: 2 },
    enforced: true,
    updated_at: new Date(clock.now()).toISOString()
  }

  t.match(await call('GET', path), refusal(404, 'owner_rate_limit_not_found'))
  t.strictSame((await setEnvelope({ concurrent_connections: 2, bandwidth_in_bps: 8000 })).body, row)
  t.strictSame((await call('GET', path)).body, row)
  t.match((await agent.until(EnvelopeSet.name)).body, {
    owner_id: 'ann',
    limits: { bytes_in: { per_sec: 1000, burst: 16_384 }, connections: 2 }
  })

  t.match(await setEnvelope(row), { status: 200, body: { rate_limit: row.rate_limit } })
  t.same((await setEnvelope({ ...row, concurrent_connections: 9 })).body.rate_limit, {
    concurrent_connections: 9
  })

  t.equal((await call('DELETE', path)).status, 204)
  t.match((await agent.until(EnvelopeRemove.name)).body, { owner_id: 'ann' })
  t.equal((await call('DELETE', path)).status, 204, 'deleting a missing envelope succeeds')
  t.match(await call('GET', path), refusal(404, 'owner_rate_limit_not_found'))
})

t.test('an invalid envelope is refused', async t => {
  const { setEnvelope, call } = await rateLimitFixture(t)

  t.match(await setEnvelope({}), refusal(400, 'validation.rate_limit_empty'))
  t.match(await setEnvelope({ rate_limit: {} }), refusal(400, 'validation.rate_limit_empty'))
  t.match(await setEnvelope({ bandwidth_in_bps: 0 }), refusal(400, 'validation.rate_limit_range'))
  t.match(
    await setEnvelope({ new_connections_burst: 1 }),
    refusal(400, 'validation.rate_limit_burst_without_rate')
  )
  t.match(await setEnvelope({ bandwidth: 1 }), refusal(400, 'validation.unknown_field'))
  t.match(await setEnvelope({ concurrent_connections: 1 }, 'nobody'), refusal(404, 'user_not_found'))
  t.match(await setEnvelope({ concurrent_connections: 1 }, '_operator'), { status: 200 })
  const body = { concurrent_connections: 1 }
  for (const [method, given] of [['GET'], ['PUT', body], ['DELETE']] as const)
    t.match(
      await call(method, '/v1/clients/nowhere/owners/ann/rate-limit', given),
      refusal(404, 'client_not_found')
    )
  t.match(await call('GET', '/v1/clients/nowhere/owners'), refusal(404, 'client_not_found'))
})

t.test('a user can read only their own envelope, on clients visible to them', async t => {
  const { setEnvelope, call, push, clientId, ann, user } = await rateLimitFixture(t)
  const bob = await user('bob')
  const path = `/v1/clients/${clientId}/owners/ann/rate-limit`
  await setEnvelope({ concurrent_connections: 1 })

  t.match(await call('GET', path, undefined, ann), refusal(404, 'client_not_found'))
  await push({ owner: 'ann' })
  t.match(await call('GET', path, undefined, ann), { status: 200 })
  t.match(await call('GET', path, undefined, bob), refusal(403, 'not_owner'))
  for (const method of ['PUT', 'DELETE'] as const)
    t.match(await call(method, path, undefined, ann), refusal(403, 'role_required'))
  t.match(await call('GET', `/v1/clients/${clientId}/owners`, undefined, ann), refusal(403, 'role_required'))
})

t.test('an envelope outlives the last rule and is deleted with its user and client', async t => {
  const { setEnvelope, call, push, clientId, agent } = await rateLimitFixture(t)
  const owners = async () => (await call('GET', `/v1/clients/${clientId}/owners`)).body
  const { body } = await push({ owner: 'ann' })
  await push({ listen_port: 81 })
  await setEnvelope({ concurrent_connections: 1 })
  const operator = { owner_id: '_operator', rule_count: 1, has_rate_limit: false }

  t.strictSame(await owners(), [operator, { owner_id: 'ann', rule_count: 1, has_rate_limit: true }])
  await call('DELETE', `/v1/rules/${body.rule_id}`)
  agent.sendRemoved({ kind: 'rule', id: body.rule_id, revision: 4 })
  t.match(await owners(), [operator, { owner_id: 'ann', has_rate_limit: true }])

  t.equal((await call('DELETE', '/v1/users/ann')).status, 200)
  await agent.until(EnvelopeRemove.name)
  t.strictSame(await owners(), [operator])
  await call('POST', '/v1/users', { user_id: 'ann', display_name: 'Ann' })
  t.strictSame(await owners(), [operator], 'a later user of that name inherits nothing')

  await setEnvelope({ concurrent_connections: 1 })
  await call('POST', `/v1/clients/${clientId}/revoke`)
  t.equal((await call('DELETE', `/v1/clients/${clientId}`)).status, 204)
})

t.test('an envelope of a disconnected client is delivered when it connects, before its rules', async t => {
  const { setEnvelope, push, agent, connect, clientId } = await rateLimitFixture(t)
  await push({ owner: 'ann' })
  await agent.close()

  t.match(await setEnvelope({ concurrent_connections: 1 }), { status: 200 })
  const again = await connect(clientId, supportingAgent)
  await again.until(RulePush.name)

  const names = again.received.map(({ name }) => name)
  t.ok(names.indexOf(EnvelopeSet.name) !== -1)
  t.ok(names.indexOf(EnvelopeSet.name) < names.indexOf(RulePush.name))
})

t.test('an envelope is refused if the agent does not support limits, now or when last seen', async t => {
  const { enroll, connect, call, log } = await rateLimitFixture(t)
  for (const [version, capabilities, status] of [
    ['0.10.9', null, 422],
    ['0.11.0', null, 200],
    ['2.0.0', {}, 422],
    ['2.0.0', { 'rule.rate-limit': '0.11.0' }, 200]
  ] as const) {
    const clientId = await enroll(version)
    const path = `/v1/clients/${clientId}/owners/ann/rate-limit`
    const set = () => call<EnvelopeRow>('PUT', path, { concurrent_connections: 1 })
    t.equal((await set()).status, 200, 'a client that has never connected is checked when it connects')
    const agent = await connect(clientId, { ...supportingAgent, version, capabilities })
    const online = await set()
    await agent.close()
    const offline = await set()
    for (const reply of [online, offline])
      t.match(reply, status === 200 ? { status } : refusal(status, 'rate_limit_unsupported_by_client'))
  }
  while (log.filter(({ event }) => event === 'owner_limit.unsupported').length < 2)
    await new Promise(resolve => setImmediate(resolve))
})

t.test('waiting time is summed across restarts of an agent and removed with its rule', async t => {
  const { agent, connect, clientId, push, server, call } = await rateLimitFixture(t)
  const { body } = await push({ owner: 'ann' })
  const id = body.rule_id
  const deps = server.depsOf('rate-limit') as unknown as Parameters<typeof openMetrics>[0] // its own services
  const waited = async () => [...((await openMetrics(deps)())[0]?.samples ?? [])]
  const report = async (channel: typeof agent.channel, ms: number, sum: number) => {
    const waits = [
      { scope: 'rule' as const, id, ms },
      { scope: 'owner' as const, id: 'ann', ms: ms * 2 }
    ]
    channel.send(Throttled, { waits })
    await until(waited, ([first]) => first?.value === sum)
  }
  await report(agent.channel, 1000, 1)
  await report(agent.channel, 1500, 1.5)
  await agent.close()
  const again = await connect(clientId, { ...supportingAgent, instanceId: 'another' })
  await report(again.channel, 500, 2)

  t.same(await waited(), [
    { labelValues: [clientId, 'ann', id], value: 2 },
    { labelValues: [clientId, 'ann', ''], value: 4 }
  ])
  await call('DELETE', `/v1/rules/${id}`)
  again.sendRemoved({ kind: 'rule', id, revision: 2 })
  t.same(await until(waited, samples => samples.length === 1), [
    { labelValues: [clientId, 'ann', ''], value: 4 }
  ])
  await report(again.channel, 700, 4.4)
  t.equal((await waited()).length, 1, 'a late report does not bring the rule back')
  await call('DELETE', '/v1/users/ann')
  t.same(await waited(), [])
})

t.test("made-up owners, other clients' rules and endless waits do not fill the metrics", async t => {
  const { agent, connect, enroll, clientId, push, server, log } = await rateLimitFixture(t)
  const { rule_id: own } = (await push({ owner: 'ann' })).body
  const other = await enroll('other')
  const otherAgent = await connect(other, supportingAgent)
  const { rule_id: theirs } = (await push({ client: 'other' })).body
  const deps = server.depsOf('rate-limit') as unknown as Parameters<typeof openMetrics>[0] // its own services
  const waited = async () => [...((await openMetrics(deps)())[0]?.samples ?? [])]

  agent.channel.send(Throttled, {
    waits: [
      { scope: 'rule', id: theirs, ms: 1000 },
      { scope: 'rule', id: own, ms: Number.MAX_SAFE_INTEGER },
      ...Array.from({ length: 900 }, (_, i) => ({ scope: 'owner' as const, id: `made-up-${i}`, ms: 1000 }))
    ]
  })
  await until(waited, ({ length }) => length > 0)
  otherAgent.channel.send(Throttled, { waits: [{ scope: 'rule', id: theirs, ms: 5 }] })

  t.same(await until(waited, ({ length }) => length > 1), [
    { labelValues: [clientId, 'ann', own], value: Number.MAX_SAFE_INTEGER / 1000 },
    { labelValues: [other, '_operator', theirs], value: 0.005 }
  ])
  t.match(
    log.filter(({ event }) => event === 'agent.row_refused'),
    [{ fields: { client: clientId, report: 'waits', reason: 'rule', key: theirs } }]
  )
})
