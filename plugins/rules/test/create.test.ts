import t from 'tap'
import { fakeTimers } from '../../../test/support/fake-timers.ts'
import { RulePush } from '../wire.ts'
import { inOrder, rule, rulesFixture, until } from './fixture.ts'

t.test('a rule that the client accepts is active, and its record has every field', async t => {
  const app = await rulesFixture(t)
  const clientId = await app.enroll()
  const agent = await app.connect(clientId)

  const made = await app.push({ targets: [{ host: 'Web.Example.', port: 80 }], prefer_ipv6: true })

  t.equal(made.status, 201)
  const { rule_id: id } = made.body
  t.match(id, /^[0-9A-Z]{26}$/)
  t.strictSame(made.body, {
    rule_id: id,
    client_id: clientId,
    client_name: 'edge',
    listen_port: 8080,
    listen_port_end: null,
    protocol: 'tcp',
    targets: [{ host: 'web.example', port: 80, port_end: null, priority: 0, weight: 1 }],
    prefer_ipv6: true,
    owner: '_operator',
    placed_by: '_operator',
    paused: false,
    change_pending: false,
    name: null,
    description: null,
    etag: made.headers['etag'],
    state: 'active',
    state_reason: null,
    created_at: '2026-01-15T12:00:00.000Z',
    updated_at: '2026-01-15T12:00:00.000Z',
    state_changed_at: '2026-01-15T12:00:00.000Z'
  })
  t.strictSame(await app.get(id), made.body)
  t.match((await agent.until(RulePush.name)).body, {
    rule_id: id,
    revision: 1,
    owner: '_operator',
    protocol: 'tcp',
    listen_from: 8080,
    listen_to: 8080,
    targets: [{ host: 'web.example', port: 80, priority: 0 }],
    prefer_ipv6: true,
    fields: {},
    retry: false
  })
  t.match(app.log.find(({ event }) => event === 'rule.active')?.fields, { rule: id, client: clientId })
  t.match(app.decisions.at(-1), { action: 'rule.create', resourceId: id, status: 201, outcome: 'allow' })
})

t.test('nothing is stored for a client that is not connected', async t => {
  const app = await rulesFixture(t)
  const clientId = await app.enroll()

  const refused = await app.push({ client: clientId })

  t.match(refused, { status: 422, body: { error: { code: 'client_not_connected' } } })
  t.same((await app.call('GET', '/v1/rules')).body, [])
  t.same(await app.objects(clientId), [])
})

t.test('a client is selected by id or by a unique name', async t => {
  const app = await rulesFixture(t)
  const ids = [await app.enroll('twin'), await app.enroll('twin')]

  t.match(await app.push({ client: 'nobody' }), {
    status: 404,
    body: { error: { code: 'client_not_found' } }
  })
  t.match(await app.push({ client: '01ARZ3NDEKTSV4RRFFQ69G5FAV' }), {
    status: 404,
    body: { error: { code: 'client_not_found' } }
  })
  t.match(await app.push({ client: 'twin' }), {
    status: 409,
    body: { error: { code: 'client_name_ambiguous', details: { client_ids: ids } } }
  })
  await app.connect(ids[1]!)
  t.match(await app.push({ client: ids[1] }), { status: 201, body: { client_id: ids[1] } })
})

t.test('a superadmin names the owner, who must exist', async t => {
  const app = await rulesFixture(t)
  await app.connect(await app.enroll())
  await app.user('ada')

  t.match(await app.push({ owner: 'ghost' }), { status: 404, body: { error: { code: 'user_not_found' } } })
  t.match(await app.push({ owner: 'ada' }), { status: 201, body: { owner: 'ada' } })
  t.match(await app.push({ owner: '_operator', listen_port: 8081 }), { status: 201 })
})

t.test('pending, active and failed rules reserve their port, and the error names the rule', async t => {
  const app = await rulesFixture(t)
  const clientId = await app.enroll()
  await app.connect(clientId, { react: inOrder('accept', { refuse: 'port_in_use' }, 'never') })
  const active = await app.push({ listen_port: 1 })
  const failed = await app.push({ listen_port: 2 })
  const pending = app.push({ listen_port: 3 })
  await until(
    () => app.objects(clientId),
    rows => rows.length === 2
  )
  const revision = (await app.objects(clientId)).at(-1)?.revision

  for (const [listen_port, holder] of [
    [1, active.body.rule_id],
    [2, failed.body.error.details['rule_id']],
    [3, (await app.objects(clientId)).at(-1)?.id]
  ])
    t.match(await app.push({ listen_port }), {
      status: 409,
      body: { error: { code: 'port_in_use', details: { rule_id: holder } } }
    })

  t.equal((await app.call<unknown[]>('GET', '/v1/rules')).body.length, 3, 'nothing more is stored')
  t.equal((await app.objects(clientId)).at(-1)?.revision, revision)
  await app.clock.advance(5000)
  t.match(await pending, { status: 504 })
})

t.test('one of two concurrent creates for the same port is stored', async t => {
  const app = await rulesFixture(t)
  await app.connect(await app.enroll())

  const both = await Promise.all([app.push(), app.push()])

  t.same(both.map(({ status }) => status).sort(), [201, 409])
  t.equal((await app.call<unknown[]>('GET', '/v1/rules')).body.length, 1)
})

t.test('a rule that the client refuses at create stays failed', async t => {
  for (const [refuse, status, code] of [
    ['port_in_use', 409, 'port_in_use'],
    ['denied_by_agent', 422, 'activation_failed']
  ] as const) {
    const app = await rulesFixture(t)
    const clientId = await app.enroll()
    const first = await app.connect(clientId, { react: () => ({ refuse, message: 'no luck' }) })

    const made = await app.push()

    const id = made.body.error.details['rule_id']!
    t.match(made, { status, body: { error: { code, message: 'no luck' } } })
    t.match(await app.get(id), { state: 'failed', state_reason: refuse })
    t.match(app.decisions.at(-1), { resourceId: id, status, reason: code, outcome: 'allow' })
    t.match(app.log.find(({ event }) => event === 'rule.failed')?.fields, {
      rule: id,
      client: clientId,
      code: refuse
    })
    await first.close()
    const second = await app.connect(clientId)
    await app.push({ listen_port: 9 })
    t.same(
      second.received.filter(({ name }) => name === RulePush.name).map(({ body }) => body['listen_from']),
      [9],
      'it is not retried'
    )
  }
})

t.test('without an answer in time the rule stays pending until a late answer', async t => {
  for (const [query, ms] of [
    ['', 5_000],
    ['?ack_timeout_secs=2', 2_000]
  ] as const) {
    const app = await rulesFixture(t)
    const late = Promise.withResolvers<void>()
    const agent = await app.connect(await app.enroll(), { react: () => late.promise })
    const making = app.push({}, query)
    await agent.until(RulePush.name)
    await app.clock.advance(ms - 1)
    t.equal(app.decisions.at(-1)?.status, null, 'changed, but not answered yet')

    await app.clock.advance(1)

    const made = await making
    const id = made.body.error.details['rule_id']!
    t.match(made, { status: 504, body: { error: { code: 'ack_timeout' } } })
    t.match(await app.get(id), { state: 'pending', state_reason: null })
    t.match(app.decisions.at(-1), { status: 504, reason: 'ack_timeout' })
    late.resolve()
    await until(
      () => app.get(id),
      ({ state }) => state === 'active'
    )
  }
})

t.test('a wait of 60 s for the client ends with ack_timeout, not with a failed request', async t => {
  const app = await rulesFixture(t)
  const agent = await app.connect(await app.enroll(), { react: () => 'never' })
  const timers = fakeTimers(t)
  const making = app.push({}, '?ack_timeout_secs=60')
  await agent.until(RulePush.name)

  timers.advance(61)
  await app.clock.advance(60_000)

  t.match(await making, { status: 504, body: { error: { code: 'ack_timeout' } } })
})

t.test('the request times out at once if the stream ends before the answer', async t => {
  const app = await rulesFixture(t)
  const clientId = await app.enroll()
  const agent = await app.connect(clientId, { react: () => 'never' })
  const making = app.push()
  await agent.until(RulePush.name)

  await agent.close()

  const made = await making
  t.match(made, { status: 504, body: { error: { code: 'ack_timeout' } } })
  const id = made.body.error.details['rule_id']!
  t.match(await app.get(id), { state: 'pending' })
  await app.connect(clientId)
  await until(
    () => app.get(id),
    ({ state }) => state === 'active'
  )
})

t.test('rules are limited for each client, and for each owner on a client', async t => {
  const app = await rulesFixture(t, { keys: { max_rules_per_client: 3, max_rules_per_owner_per_client: 2 } })
  await app.connect(await app.enroll())
  await app.user('ada')
  await app.push({ listen_port: 1 })
  await app.push({ listen_port: 2 })

  const third = await app.push({ listen_port: 3 })
  const ruleOfAda = await app.push({ listen_port: 3, owner: 'ada' })
  const fourth = await app.push({ listen_port: 4, owner: 'ada' })

  t.match(third, { status: 422, body: { error: { code: 'limit_reached', details: { limit: 2 } } } })
  t.equal(ruleOfAda.status, 201)
  t.match(fourth, { status: 422, body: { error: { code: 'limit_reached', details: { limit: 3 } } } })
})

t.test('a shape that no plugin supports is refused', async t => {
  const app = await rulesFixture(t)
  await app.connect(await app.enroll())
  const targets = [
    { host: 'a.example', port: 80 },
    { host: 'b.example', port: 80 }
  ]

  for (const body of [{ protocol: 'UDP' }, { targets }])
    t.match(await app.push(body), { status: 422, body: { error: { code: 'rule_shape_not_loaded' } } })
  t.same((await app.call('GET', '/v1/rules')).body, [])
})

t.test('a repeated idempotency key returns the same rule, also after a time-out', async t => {
  const app = await rulesFixture(t)
  const late = Promise.withResolvers<void>()
  const agent = await app.connect(await app.enroll(), { react: inOrder(late.promise, 'accept') })
  const pushKeyed = () => app.call('POST', '/v1/rules', rule, { 'idempotency-key': 'k' })
  const first = pushKeyed()
  await agent.until(RulePush.name)
  await app.clock.advance(5000)
  t.match(await first, { status: 504 })

  const second = await pushKeyed()
  late.resolve()
  const id = (second.body as unknown as { rule_id: string }).rule_id
  await until(
    () => app.get(id),
    ({ state }) => state === 'active'
  )

  t.match(second, { status: 201, body: { state: 'pending' } })
  t.equal((await app.call<unknown[]>('GET', '/v1/rules')).body.length, 1)
})

t.test('without a plugin that admits others, only superadmins create rules', async t => {
  const app = await rulesFixture(t)
  const ada = await app.user('ada')

  t.match(await app.call('POST', '/v1/rules', rule, ada), {
    status: 403,
    body: { error: { code: 'role_required' } }
  })
})

t.test('a client that is renamed before it answers is shown under its new name', async t => {
  const app = await rulesFixture(t)
  const clientId = await app.enroll()
  const late = Promise.withResolvers<void>()
  const agent = await app.connect(clientId, { react: () => late.promise })

  const made = app.push()
  const { body: pushed } = await agent.until(RulePush.name)
  t.equal((await app.call('PATCH', `/v1/clients/${clientId}/name`, { client_name: 'paris' })).status, 200)
  t.match(await app.get(String(pushed['rule_id'])), { client_name: 'paris', state: 'pending' })
  late.resolve()

  t.match(await made, { status: 201, body: { client_id: clientId, client_name: 'paris', state: 'active' } })
})
