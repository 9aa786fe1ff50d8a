// PUT changes hot fields of a running rule, and nothing else.
import t, { type Test } from 'tap'
import { Client } from '../../../kernel/identity/entities.ts'
import type { Script, ScriptedAgent } from '../../../kit/scripted-agent.ts'
import { Idle } from '../../../test/third-party/note/wire.ts'
import { RulePush } from '../wire.ts'
import { inOrder, type RulesFixture, rule, rulesFixture, until } from './fixture.ts'
import { capableAgent, paceField } from './hot-field.ts'

async function updateFixture(t: Test, script: Partial<Script> = {}) {
  const { plugin } = paceField()
  const app = await rulesFixture(t, { plugins: ['users', 'clients', 'rules', plugin] })
  const clientId = await app.enroll()
  const agent = await app.connect(clientId, { ...capableAgent, ...script })
  const put = (id: string, body: object, query = '') => app.call('PUT', `/v1/rules/${id}${query}`, body)
  return { app, clientId, agent, put }
}

/** Returns the pace that the agent received last; null: none. */
function lastSentPace(app: RulesFixture, agent: ScriptedAgent): number | null {
  const push = agent.received.findLast(({ name }) => name === RulePush.name)
  const { pace: bytes } = (push?.body['fields'] ?? {}) as Record<string, Uint8Array>
  return bytes ? app.server.depsOf('rules').codec.decode(Idle, bytes).secs : null
}

const refused = (code: string, field?: string) => ({
  status: 400,
  body: { error: { code, ...(field !== undefined && { details: { field } }) } }
})

t.test(
  'a hot value changes alone or in a whole body, and null, an empty value or absence clears it',
  async t => {
    const { app, agent, put, clientId } = await updateFixture(t)
    const { rule_id: id } = (await app.push()).body

    t.match(await put(id, { pace: 5 }), { status: 200, body: { rule_id: id, pace: 5, state: 'active' } })
    t.equal(lastSentPace(app, agent), 5)
    t.match(await put(id, { ...rule, pace: 6 }), { status: 200, body: { pace: 6 } })
    t.equal(lastSentPace(app, agent), 6)
    for (const body of [{ pace: null }, { pace: 0 }, rule, { ...rule, client: undefined }]) {
      await put(id, { pace: 7 })
      t.match(await put(id, body), { status: 200, body: { pace: null } })
      t.equal(lastSentPace(app, agent), null)
    }
    t.match(await app.objects(clientId), [{ id, revision: 11 }])
    t.match(app.decisions.at(-1), { action: 'rule.update', resourceId: id, status: 200, outcome: 'allow' })
  }
)

t.test('a changed record can be sent back with PUT', async t => {
  const { app, put } = await updateFixture(t)
  const { rule_id: id } = (
    await app.push({
      targets: [
        { host: 'A.example', port: 1 },
        { host: 'b', port: 2, priority: 9 }
      ].slice(0, 1)
    })
  ).body
  const record = await app.get(id)

  t.match(await put(id, { ...record, pace: 3 }), { status: 200, body: { pace: 3 } })
  t.match(await put(id, { ...record, state: 'failed', created_at: 'long ago' }), {
    status: 200,
    body: { pace: null }
  })
  t.match(await put(id, { ...record, wat: 1 }), refused('validation.unknown_field', '/wat'))
})

t.test('a body without a changeable field is refused', async t => {
  const { app, put } = await updateFixture(t)
  const { rule_id: id } = (await app.push()).body

  t.match(await put(id, {}), refused('validation.body_empty'))
  t.match(await put(id, { listen_port: 8080 }), refused('validation.pace_missing'))
  t.match(await put(id, { state: 'failed' }), refused('validation.pace_missing'))
  t.match(await put(id, { pace: -1 }), refused('validation.pace_range'))
  t.match(await put(id, { pace: 'fast' }), refused('validation.schema', '/pace'))
})

t.test('PUT refuses any other difference, after the same normalization as at create', async t => {
  const { app, put } = await updateFixture(t)
  const targets = [{ host: 'Web.Example.', port: 80, priority: 4 }]
  const { rule_id: id } = (await app.push({ targets, prefer_ipv6: true })).body
  const whole = { ...rule, targets, prefer_ipv6: true, pace: 2 }

  for (const body of [
    whole,
    { ...whole, protocol: 'TCP', targets: [{ host: 'web.example.', port: 80, priority: 4 }] },
    { ...whole, listen_port_end: null },
    { ...whole, listen_port_end: 8080, owner: '_operator' },
    { pace: 2, prefer_ipv6: true }
  ])
    t.match(await put(id, body), { status: 200 })
  for (const [body, field] of [
    [{ ...whole, client: 'paris' }, '/client'],
    [{ ...whole, owner: 'ada' }, '/owner'],
    [{ ...whole, listen_port: 8081 }, '/listen_port'],
    [{ ...whole, listen_port_end: 8081 }, '/listen_port_end'],
    [{ ...whole, protocol: 'udp' }, '/protocol'],
    [{ ...whole, targets: [{ host: 'web.example.', port: 80 }] }, '/targets'],
    [{ ...whole, prefer_ipv6: false }, '/prefer_ipv6'],
    [{ ...rule, targets, pace: 2 }, '/prefer_ipv6'],
    [{ pace: 2, prefer_ipv6: false }, '/prefer_ipv6']
  ] as const)
    t.match(await put(id, body), refused('validation.rule_immutable_field', field))
})

t.test('a user can only change their own rules', async t => {
  const { app, put } = await updateFixture(t)
  const { rule_id: id } = (await app.push()).body
  const ada = await app.user('ada')

  t.match(await app.call('PUT', `/v1/rules/${id}`, { pace: 1 }, ada), {
    status: 403,
    body: { error: { code: 'not_owner' } }
  })
  t.match(await put('nobody', { pace: 1 }), { status: 404, body: { error: { code: 'rule_not_found' } } })
})

t.test('a change for a disconnected client is stored, and sent at the reconnect', async t => {
  const { app, agent, put, clientId } = await updateFixture(t)
  const { rule_id: id } = (await app.push()).body
  await agent.close()
  await until(async () => app.log.some(({ event }) => event === 'client.disconnected'), Boolean)

  t.match(await put(id, { pace: 4 }), { status: 200, body: { pace: 4 } })

  const again = await app.connect(clientId, {
    ...capableAgent,
    inventory: [{ kind: 'rule', id, revision: 1 }]
  })
  t.match((await again.until(RulePush.name)).body, { rule_id: id, revision: 2 })
  t.equal(lastSentPace(app, again), 4)
})

t.test(
  'a change needs a capability of the client; for an offline client, the last known capabilities count',
  async t => {
    const { app, agent, put, clientId } = await updateFixture(t, { capabilities: {} })
    const { rule_id: id } = (await app.push()).body
    const unsupported = {
      status: 422,
      body: { error: { code: 'rule_field_unsupported_by_client', details: { field: 'pace' } } }
    }

    t.match(await put(id, { pace: 4 }), unsupported)
    t.match(await put(id, { pace: 0 }), { status: 200 }, 'clearing needs no capability')
    await agent.close()
    await until(async () => app.log.some(({ event }) => event === 'client.disconnected'), Boolean)
    t.match(await put(id, { pace: 4 }), unsupported)

    const { store } = app.server.depsOf('rules')
    await store.change(em =>
      em.nativeUpdate(Client, { id: clientId }, { agentVersion: null, capabilities: null })
    )
    t.match(await put(id, { pace: 4 }), { status: 200 }, 'one that never connected is checked later')
  }
)

t.test('a change that the client refuses is reverted under a new revision', async t => {
  const react = inOrder('accept', 'accept', { refuse: 'no_pace', message: 'not so fast' }, 'accept')
  const { app, agent, put, clientId } = await updateFixture(t, { react })
  const { rule_id: id } = (await app.push()).body
  await put(id, { pace: 2 })

  t.match(await put(id, { pace: 9 }), {
    status: 422,
    body: { error: { code: 'activation_failed', details: { rule_id: id, reason: 'no_pace' } } }
  })

  await agent.until(RulePush.name, 4)
  t.equal(lastSentPace(app, agent), 2)
  t.match(await app.get(id), { pace: 2, state: 'active' })
  t.match(await app.objects(clientId), [{ id, revision: 4 }])
  t.match(
    agent.received.filter(({ name }) => name === RulePush.name).map(({ body }) => body['retry']),
    [false, false, false, true],
    'a change is refused or applied as a whole'
  )
})

t.test('reverting a refused change does not undo a later one', async t => {
  const first = Promise.withResolvers<void>()
  const react = inOrder('accept', first.promise, 'accept')
  const { app, put, agent } = await updateFixture(t, { react })
  const { rule_id: id } = (await app.push()).body

  const early = put(id, { pace: 5 })
  await agent.until(RulePush.name, 2)
  const late = put(id, { pace: 6 })
  await until(
    () => app.get(id),
    ({ pace }) => pace === 6
  )
  first.resolve()

  t.match(await late, { status: 200, body: { pace: 6 } })
  t.match(await early, { status: 200, body: { pace: 6 } }, 'it shows what is there now')
  t.equal(lastSentPace(app, agent), 6)
})

t.test('two refused changes end with the value that the client last accepted', async t => {
  const secondAnswer = Promise.withResolvers<void>()
  let pushes = 0
  const react = () => {
    pushes++
    if (pushes === 2) return secondAnswer.promise
    return pushes === 3 ? { refuse: 'no_pace' } : ('accept' as const)
  }
  const { app, put, agent } = await updateFixture(t, { react })
  const { rule_id: id } = (await app.push({ pace: 1 })).body

  const early = put(id, { pace: 5 })
  await agent.until(RulePush.name, 2)
  const late = put(id, { pace: 6 })
  await until(
    () => app.get(id),
    ({ pace }) => pace === 6
  )
  secondAnswer.resolve()

  t.match([await early, await late], [{ status: 422 }, { status: 422 }])
  await agent.until(RulePush.name, 4)
  t.match(await app.get(id), { pace: 1, state: 'active' })
})

t.test('without an answer in time the change is kept, and is sent again', async t => {
  const { app, put, agent, clientId } = await updateFixture(t, { react: inOrder('accept', 'never') })
  const { rule_id: id } = (await app.push()).body

  const answer = put(id, { pace: 5 }, '?ack_timeout_secs=2')
  await agent.until(RulePush.name, 2)
  app.clock.advance(2000)

  t.match(await answer, { status: 504, body: { error: { code: 'ack_timeout', details: { rule_id: id } } } })
  t.match(await app.get(id), { pace: 5, state: 'active' })
  await agent.close()
  const again = await app.connect(clientId, {
    ...capableAgent,
    inventory: [{ kind: 'rule', id, revision: 1 }]
  })
  await again.until(RulePush.name)
  t.equal(lastSentPace(app, again), 5)
})

t.test('a change that is refused late is reverted, too', async t => {
  const { app, put, agent, clientId } = await updateFixture(t, { react: inOrder('accept', 'never') })
  const { rule_id: id } = (await app.push({ pace: 1 })).body
  const answer = put(id, { pace: 5 })
  await agent.until(RulePush.name, 2)
  await agent.close()
  t.match(await answer, { status: 504 })

  const inventory = [{ kind: 'rule', id, revision: 1 }]
  const again = await app.connect(clientId, {
    ...capableAgent,
    inventory,
    react: inOrder({ refuse: 'no_pace' }, 'accept')
  })

  await again.until(RulePush.name, 2)
  t.equal(lastSentPace(app, again), 1)
  t.match(await app.get(id), { pace: 1, state: 'active' })
  t.match(app.log.find(({ event }) => event === 'rule.change_refused')?.fields, { rule: id, code: 'no_pace' })
})

t.test('a rule that failed at create accepts a change, and the agent receives nothing', async t => {
  const { app, put, clientId } = await updateFixture(t, { react: () => ({ refuse: 'port_in_use' }) })
  const id = (await app.push()).body.error.details['rule_id']!

  t.match(await put(id, { pace: 5 }), { status: 200, body: { pace: 5, state: 'failed' } })
  t.same(await app.objects(clientId), [])
})

t.test('a draining rule cannot change', async t => {
  const { app, put } = await updateFixture(t)
  const { rule_id: id } = (await app.push()).body
  await app.call('DELETE', `/v1/rules/${id}`)

  t.match(await put(id, { pace: 5 }), { status: 404, body: { error: { code: 'rule_not_found' } } })
})

t.test('a repeated idempotency key changes once, and shows the rule', async t => {
  const { app, agent } = await updateFixture(t)
  const { rule_id: id } = (await app.push()).body
  const putKeyed = () => app.call('PUT', `/v1/rules/${id}`, { pace: 5 }, { 'idempotency-key': 'k' })

  t.match(
    [await putKeyed(), await putKeyed()],
    [
      { status: 200, body: { pace: 5 } },
      { status: 200, body: { pace: 5 } }
    ]
  )
  t.equal(agent.received.filter(({ name }) => name === RulePush.name).length, 2)
})

t.test('without a hot field nothing can change', async t => {
  const app = await rulesFixture(t)
  await app.connect(await app.enroll())
  const { rule_id: id } = (await app.push()).body

  t.match(
    await app.call('PUT', `/v1/rules/${id}`, { protocol: 'tcp' }),
    refused('validation.rule_immutable_field')
  )
  t.match(await app.call('PUT', `/v1/rules/${id}`, await app.get(id)), { status: 200 })
})

t.test('a rule that is being retried accepts a change without waiting', async t => {
  const { app, put, agent, clientId } = await updateFixture(t)
  const { rule_id: id } = (await app.push({ pace: 1 })).body
  agent.sendStatus({ kind: 'rule', id, revision: 1, code: 'port_in_use' })
  await until(
    () => app.get(id),
    ({ state }) => state === 'failed'
  )

  t.match(await put(id, { pace: 2 }), { status: 200, body: { pace: 2, state: 'failed' } })

  t.match((await agent.until(RulePush.name, 2)).body, { revision: 2, retry: true })
  t.match(await app.objects(clientId), [{ id, revision: 2 }])
})

t.test(
  'a change made while the client was disconnected is kept although its port is in use at the reconnect',
  async t => {
    const { app, put, agent, clientId } = await updateFixture(t)
    const { rule_id: id } = (await app.push({ pace: 1 })).body
    await agent.close()
    await until(
      async () => app.server.depsOf('rules').control.peers.find(clientId),
      peer => peer === undefined
    )
    await put(id, { pace: 2 })

    const again = await app.connect(clientId, { ...capableAgent, react: () => ({ refuse: 'port_in_use' }) })

    t.match((await again.until(RulePush.name, 2)).body, { revision: 3, retry: true }, 'it is retried')
    t.match(await app.get(id), { pace: 2, state: 'failed', state_reason: 'port_in_use' })
  }
)
