// Limits of a rule: set at creation, changed while the rule is open, refused if the agent does not support them.
import t from 'tap'
import { testServer } from '../../../kit/test-server.ts'
import { RulePush } from '../../rules/wire.ts'
import { pushedLimits, rateLimitFixture, refusal, supportingAgent } from './fixture.ts'

const all = {
  bandwidth_in_bps: 8000,
  bandwidth_out_bps: 16_000,
  bandwidth_in_burst_bytes: 100,
  bandwidth_out_burst_bytes: 200,
  concurrent_connections: 3,
  new_connections_per_sec: 4,
  new_connections_burst: 5
}

t.test('limits are stored as given, shown, and pushed to the client', async t => {
  const on = await rateLimitFixture(t)

  const created = await on.push({ rate_limit: all })

  t.match(created, { status: 201 })
  t.strictSame(created.body['rate_limit'], all)
  t.strictSame((await on.get(created.body.rule_id))['rate_limit'], all)
  t.same(pushedLimits(on, created.body.rule_id), {
    bytes_in: { per_sec: 1000, burst: 100 },
    bytes_out: { per_sec: 2000, burst: 200 },
    connections: 3,
    new_connections: { per_sec: 4, burst: 5 }
  })
  const plain = await on.push({ listen_port: 1, rate_limit: {} })
  t.equal(plain.body['rate_limit'], null)
  t.equal(pushedLimits(on, plain.body.rule_id), null)
})

t.test('an invalid limit is refused with its code, at creation and at update', async t => {
  const { push, put } = await rateLimitFixture(t)
  const { body } = await push()

  for (const [rate_limit, code] of [
    [{ bandwidth_in_bps: 0 }, 'validation.rate_limit_range'],
    [{ bandwidth_out_bps: -1 }, 'validation.rate_limit_range'],
    [{ concurrent_connections: 1.5 }, 'validation.rate_limit_range'],
    [{ new_connections_per_sec: '1' }, 'validation.rate_limit_range'],
    [{ new_connections_burst: 1 }, 'validation.rate_limit_burst_without_rate'],
    [{ bandwith_in_bps: 1 }, 'validation.unknown_field'],
    [7, 'validation.schema']
  ] as const) {
    t.match(await push({ listen_port: 2, rate_limit }), refusal(400, code), JSON.stringify(rate_limit))
    t.match(await put(body.rule_id, { rate_limit }), refusal(400, code))
  }
  t.match(await put(body.rule_id, { prefer_ipv6: true }), refusal(400, 'validation.rate_limit_missing'))
})

t.test('limits are changed and removed while the rule is open', async t => {
  const on = await rateLimitFixture(t)
  const { body: rule } = await on.push({ rate_limit: { concurrent_connections: 3 } })
  const id = rule.rule_id

  t.match(await on.put(id, { rate_limit: { bandwidth_in_bps: 8 } }), {
    status: 200,
    body: { rate_limit: { bandwidth_in_bps: 8 }, state: 'active' }
  })
  t.same(pushedLimits(on, id), { bytes_in: { per_sec: 1, burst: 16_384 } })

  for (const rate_limit of [null, {}]) {
    t.match(await on.put(id, { rate_limit }), { status: 200, body: { rate_limit: null } })
    t.equal(pushedLimits(on, id), null)
    await on.put(id, { rate_limit: { concurrent_connections: 1 } })
  }
  t.equal((await on.call('DELETE', `/v1/rules/${id}`)).status, 204)
})

t.test('limits are refused if the client does not support them, at creation and later', async t => {
  const { enroll, connect, push, put } = await rateLimitFixture(t)
  for (const [name, version, capabilities, status] of [
    ['old', '0.10.9', null, 422],
    ['first', '0.11.0', null, 201],
    ['disabled', '2.0.0', {}, 422],
    ['named', '2.0.0', { 'rule.rate-limit': '0.11.0' }, 201]
  ] as const) {
    await connect(await enroll(name), { ...supportingAgent, version, capabilities })
    const limited = await push({ client: name, rate_limit: { concurrent_connections: 1 } })
    const plain = await push({ client: name, listen_port: 81 })
    const update = await put(plain.body.rule_id, { rate_limit: { concurrent_connections: 1 } })

    t.equal(plain.status, 201)
    t.match(limited, status === 201 ? { status } : refusal(422, 'rate_limit_unsupported_by_client'), name)
    t.match(update, status === 201 ? { status: 200 } : refusal(422, 'rate_limit_unsupported_by_client'))
  }
})

t.test('a rule with limits fails and leaves the agent without the plugin, and returns with it', async t => {
  const on = await rateLimitFixture(t)
  const { body } = await on.push({ rate_limit: { concurrent_connections: 1 } })
  await on.agent.close()
  await on.stop()

  const without = await testServer(t, {
    plugins: ['users', 'clients', 'rules'],
    dir: on.dir,
    clock: on.clock
  })
  t.match((await without.call('GET', `/v1/rules/${body.rule_id}`)).body, {
    state: 'failed',
    state_reason: 'field_not_loaded'
  })
  await without.stop()

  const again = await testServer(t, {
    plugins: ['users', 'clients', 'rules', 'rate-limit'],
    dir: on.dir,
    clock: on.clock
  })
  const { control } = again.server.depsOf('rules')
  const agent = await on.connect(on.clientId, {
    ...supportingAgent,
    port: control.port(),
    fingerprint: control.fingerprint
  })
  await agent.until(RulePush.name)
  t.ok(pushedLimits({ agent, server: again.server }, body.rule_id))
})
