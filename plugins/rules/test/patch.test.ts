// PATCH changes a rule while it runs.
import t, { type Test } from 'tap'
import { Inventory } from '../../../kernel/wire/control.ts'
import type { Script } from '../../../kit/scripted-agent.ts'
import { capableAgent, grantsFixture, refusal } from '../../grants/test/fixture.ts'
import { describeUnsettled } from '../commands/document.ts'
import { RulePush, RuleRemove, updateCapability } from '../wire.ts'
import { type Deps, inOrder, type RulesFixture, rule, until } from './fixture.ts'
import { editable, patchFixture } from './patch-fixture.ts'

const other = [{ host: '10.0.0.2', port: 81 }]

t.test('PATCH changes every property except client, protocol and owner, and the id stays', async t => {
  const { app, agent, id, patch } = await patchFixture(t)
  const before = await app.get(id)

  const changed = await patch({
    targets: other,
    prefer_ipv6: true,
    listen_port: 9000,
    listen_port_end: 9002,
    rate_limit: { concurrent_connections: 5 },
    health_check_interval_secs: 30
  })

  t.match(changed, {
    status: 200,
    body: {
      rule_id: id,
      state: 'active',
      listen_port: 9000,
      listen_port_end: 9002,
      targets: [{ ...other[0], port_end: 83 }],
      prefer_ipv6: true,
      rate_limit: { concurrent_connections: 5 },
      health_check_interval_secs: 30,
      created_at: before.created_at
    }
  })
  t.not(changed.body.etag, before.etag)
  t.equal(changed.headers['etag'], changed.body.etag)
  t.match(agent.received.at(-1), {
    name: RulePush.name,
    body: {
      rule_id: id,
      retry: false,
      listen_from: 9000,
      listen_to: 9002,
      targets: other,
      existing: undefined
    }
  })
  t.match(app.decisions.at(-1), { action: 'rule.patch', resourceId: id, status: 200, outcome: 'allow' })
})

t.test('objects merge under both media types, and null removes a value', async t => {
  const { app, patch } = await patchFixture(t, { rate_limit: { concurrent_connections: 5 } })
  const merge = { 'content-type': 'application/merge-patch+json' }

  for (const headers of [{}, merge]) {
    t.match(await patch({ rate_limit: { new_connections_per_sec: 9 } }, '', headers), {
      status: 200,
      body: { rate_limit: { concurrent_connections: 5, new_connections_per_sec: 9 } }
    })
    t.strictSame(
      (await patch({ rate_limit: { new_connections_per_sec: null } }, '', headers)).body.rate_limit,
      {
        concurrent_connections: 5
      }
    )
  }
  t.match((await patch({ rate_limit: null, prefer_ipv6: null })).body, {
    rate_limit: null,
    prefer_ipv6: false
  })
  t.match(await app.call('POST', '/v1/rules', rule, merge), refusal(415, 'unsupported_media_type'))
})

t.test('a change of a fixed property is refused with its field, and nothing changes', async t => {
  const { app, id, patch } = await patchFixture(t)
  await app.user('ada')
  const before = await app.get(id)
  const immutable = 'validation.rule_immutable_field'
  for (const [body, code, field] of [
    [{}, 'validation.body_empty'],
    [{ client: 'other' }, immutable, '/client'],
    [{ protocol: 'udp' }, immutable, '/protocol'],
    [{ owner: 'ada' }, immutable, '/owner'],
    [{ state: 'paused' }, 'validation.unknown_field', '/state'],
    [{ rule_id: 'other' }, 'validation.unknown_field', '/rule_id'],
    [{ wat: 1 }, 'validation.unknown_field', '/wat'],
    [{ targets: [] }, 'validation.targets_empty', '/targets'],
    [{ targets: null }, 'validation.schema', '/targets'],
    [{ listen_port: null }, 'validation.schema', '/listen_port'],
    [{ listen_port_end: 8000 }, 'validation.range_invalid', '/listen_port_end'],
    [{ sni_pattern: '-' }, 'validation.sni_pattern_malformed', '/sni_pattern'],
    [{ rate_limit: { new_connections_burst: 3 } }, 'validation.rate_limit_burst_without_rate'],
    [{ paused: 'yes' }, 'validation.schema', '/paused']
  ] as const)
    t.match(
      await patch(body),
      { status: 400, body: { error: { code, ...(field && { details: { field } }) } } },
      JSON.stringify(body)
    )
  t.match(await patch({ paused: true }, '?existing=all'), refusal(400, 'validation.schema'))
  t.same(await app.get(id), before)
})

t.test('a record can be sent back, and a patch without differences changes nothing', async t => {
  const { app, agent, id, patch } = await patchFixture(t)
  const record = await app.get(id)
  for (const body of [
    record,
    { client: 'edge', protocol: 'TCP', owner: '_operator' },
    { targets: rule.targets }
  ])
    t.match(await patch(body), { status: 200, body: { etag: record.etag } })
  t.equal(agent.received.filter(({ name }) => name === RulePush.name).length, 1)

  t.match(await patch({ ...record, listen_port: 8081 }), { status: 200, body: { listen_port: 8081 } })
})

t.test('If-Match refuses a lost update; without it the last writer wins', async t => {
  const { app, id, patch } = await patchFixture(t)
  const { etag } = await app.get(id)

  t.match(await patch({ prefer_ipv6: true }, '', { 'if-match': etag }), { status: 200 })
  t.match(await patch({ targets: other }, '', { 'if-match': etag }), refusal(412, 'resource_changed'))
  t.match(await app.get(id), { prefer_ipv6: true, targets: rule.targets })
  t.match(await patch({ targets: other }), { status: 200 })
})

t.test('the agent gets the strictest `existing` of all pending changes', async t => {
  const { app, agent, patch } = await patchFixture(t, {}, { react: inOrder('accept', 'never', 'accept') })
  const first = patch({ targets: other }, '?existing=cut')
  await agent.until(RulePush.name, 2)
  t.match(agent.received.at(-1)?.body, { existing: 'cut' })

  t.match(await patch({ prefer_ipv6: true }, '?existing=drain'), { status: 200 })
  t.match(agent.received.at(-1)?.body, { existing: 'cut' })
  t.match(await first, { status: 200 })
  t.match(await patch({ prefer_ipv6: false }), { status: 200 })
  t.match(agent.received.at(-1)?.body, { existing: undefined })
  t.match(
    app.log.filter(({ event }) => event === 'rule.change_refused'),
    []
  )
})

t.test('a moved port is reserved with the old one until the agent has applied the move', async t => {
  const answer = Promise.withResolvers<void>()
  const { app, agent, id, patch } = await patchFixture(
    t,
    {},
    { react: inOrder('accept', answer.promise, 'accept') }
  )
  const moved = patch({ listen_port: 9000 })
  await agent.until(RulePush.name, 2)

  for (const listen_port of [8080, 9000])
    t.match(await app.push({ listen_port }), {
      status: 409,
      body: { error: { code: 'port_in_use', details: { rule_id: id } } }
    })
  answer.resolve()

  t.match(await moved, { status: 200, body: { listen_port: 9000 } })
  t.match(await app.push({ listen_port: 8080 }), { status: 201 })
  const { rules, store } = app.server.depsOf('rules') as Deps
  const scope = (await store.read(em => rules.loadScopes([id], em))).get(id)
  t.match(
    scope?.former,
    { ports: [{ from: 8080, to: 8080 }] },
    'its last bytes on the old port may be reported'
  )
})

t.test('a move to the port of another rule is refused without asking the agent', async t => {
  const { app, agent, patch } = await patchFixture(t)
  const { rule_id } = (await app.push({ listen_port: 9000 })).body
  const asked = agent.received.length

  t.match(await patch({ listen_port: 9000 }), {
    status: 409,
    body: { error: { code: 'port_in_use', details: { rule_id } } }
  })
  t.equal(agent.received.length, asked)
})

t.test(
  'a refused move leaves the rule on its old port, under a new revision, and the new port is free',
  async t => {
    const { app, agent, id, patch, clientId } = await patchFixture(
      t,
      {},
      {
        react: inOrder('accept', { refuse: 'port_in_use' }, 'accept')
      }
    )
    const { etag } = await app.get(id)

    t.match(await patch({ listen_port: 9000, targets: other, sni_pattern: 'a.example.org' }), {
      status: 409,
      body: { error: { code: 'port_in_use', details: { rule_id: id } } }
    })
    await agent.until(RulePush.name, 3)
    t.match(agent.received.at(-1)?.body, {
      listen_from: 8080,
      targets: rule.targets,
      fields: {},
      retry: true
    })
    t.match(await app.get(id), {
      state: 'active',
      listen_port: 8080,
      targets: rule.targets,
      sni_pattern: null,
      etag
    })
    t.match(await app.objects(clientId), [{ id, revision: 3 }])
    t.match(app.log.find(({ event }) => event === 'rule.change_refused')?.fields, {
      rule: id,
      code: 'port_in_use'
    })
    t.match(await app.push({ listen_port: 9000 }), { status: 201 })
    t.match(await app.push({ listen_port: 8080 }), refusal(409, 'port_in_use'))
  }
)

t.test('two refused changes in flight end with what the client last accepted', async t => {
  const second = Promise.withResolvers<void>()
  let pushes = 0
  const react = () => {
    pushes++
    if (pushes === 2) return second.promise
    return pushes === 3 ? { refuse: 'denied_by_agent' } : ('accept' as const)
  }
  const { app, agent, id, patch } = await patchFixture(t, {}, { react })
  const early = patch({ listen_port: 9000 })
  await agent.until(RulePush.name, 2)
  const late = patch({ targets: other, sni_pattern: 'b.example.org' })
  await until(
    () => app.get(id),
    ({ targets }) => targets[0]?.host === '10.0.0.2'
  )
  second.resolve()

  t.match([await early, await late], [{ status: 422 }, { status: 422 }])
  await agent.until(RulePush.name, 4)
  t.match(await app.get(id), { state: 'active', listen_port: 8080, targets: rule.targets, sni_pattern: null })
})

t.test('without an answer in time the change stands, and is applied at the reconnect', async t => {
  const { app, agent, id, clientId, patch } = await patchFixture(t, {}, { react: inOrder('accept', 'never') })
  const answer = patch({ targets: other }, '?ack_timeout_secs=2')
  await agent.until(RulePush.name, 2)
  app.clock.advance(2000)

  t.match(await answer, { status: 504, body: { error: { code: 'ack_timeout', details: { rule_id: id } } } })
  const waiting = await app.get(id)
  t.match(waiting, { targets: other, state: 'active', change_pending: true })
  t.equal(describeUnsettled(waiting, { offlineSince: () => null }), 'pending', 'a second apply says so')
  await agent.close()
  const again = await app.connect(clientId, {
    ...editable,
    inventory: [{ kind: 'rule', id, revision: 1, state: 'applied' }],
    react: inOrder({ refuse: 'denied_by_agent' }, 'accept')
  })
  await again.until(RulePush.name, 2)
  const undone = await app.get(id)
  t.match(
    undone,
    { targets: rule.targets, state: 'active', change_pending: false },
    'a late refusal undoes it'
  )
  t.equal(describeUnsettled(undone, { offlineSince: () => null }), null)
})

t.test('the client gets the changed definition of a pending rule, and a refusal fails the rule', async t => {
  const { app, agent, clientId } = await agentFixture(
    t,
    inOrder('never', { refuse: 'denied_by_agent' }, 'accept')
  )
  const created = app.push()
  await agent.until(RulePush.name)
  const [{ rule_id: id }] = (await app.call<[{ rule_id: string }]>('GET', '/v1/rules')).body

  const patched = await app.call('PATCH', `/v1/rules/${id}`, { targets: other })

  t.match(patched, {
    status: 422,
    body: {
      error: { code: 'activation_failed', details: { reason: 'denied_by_agent', rule_state: 'failed' } }
    }
  })
  t.match(await created, { status: 422 })
  t.match(
    (await agent.until(RuleRemove.name)).body,
    { rule_id: id, removal: 'cut' },
    'it may have the first one'
  )
  t.match(await app.get(id), { state: 'failed', state_reason: 'denied_by_agent', targets: rule.targets })
  await until(
    () => app.objects(clientId),
    objects => objects.length === 0
  )
})

t.test('a patch retries a failed rule', async t => {
  const { app, agent } = await agentFixture(
    t,
    inOrder({ refuse: 'port_in_use' }, { refuse: 'denied_by_agent' }, 'accept')
  )
  const id = String((await app.push()).body.error.details['rule_id'])
  const patch = (body: object) => app.call('PATCH', `/v1/rules/${id}`, body)

  t.match(await patch({ targets: other }), {
    status: 422,
    body: { error: { details: { reason: 'denied_by_agent', rule_state: 'failed' } } }
  })
  t.match(await app.get(id), { state: 'failed', state_reason: 'port_in_use', targets: rule.targets })
  t.match(await patch({ listen_port: 9000 }), { status: 200, body: { state: 'active', listen_port: 9000 } })
  t.equal(agent.received.filter(({ name }) => name === RulePush.name).length, 3)
})

t.test('a rule that its agent retries accepts a new definition', async t => {
  const { app, agent, id, patch } = await patchFixture(t)
  agent.sendStatus({ kind: 'rule', id, revision: 1, code: 'port_in_use' })
  await until(
    () => app.get(id),
    ({ state }) => state === 'failed'
  )

  t.match(await patch({ listen_port: 9000 }), { status: 200, body: { state: 'active', listen_port: 9000 } })
  t.match(agent.received.at(-1)?.body, { retry: false, listen_from: 9000 }, 'a refusal changes nothing')
})

t.test('a draining rule cannot change', async t => {
  const { app, id, patch } = await patchFixture(t)
  await app.call('DELETE', `/v1/rules/${id}`)
  t.match(await patch({ targets: other }), refusal(404, 'rule_not_found'))
  t.match(await app.call('PATCH', '/v1/rules/none', { targets: other }), refusal(404, 'rule_not_found'))
  t.match(
    await app.call('PATCH', '/v1/rules/none', { targets: [] }),
    refusal(400, 'validation.targets_empty')
  )
})

t.test('a change needs an agent that changes open rules; hot fields alone do not', async t => {
  const { capabilities } = editable
  const { 'rule.update': _, ...others } = capabilities
  const { app, agent, patch } = await patchFixture(t, {}, { capabilities: others })
  const unsupported = (field: string) => ({
    status: 422,
    body: { error: { code: 'rule_field_unsupported_by_client', details: { field } } }
  })

  t.match(await patch({ targets: other }), unsupported('targets'))
  t.match(await patch({ paused: true }), unsupported('paused'))
  t.match(await patch({ rate_limit: { concurrent_connections: 1 } }), { status: 200 })
  t.match(await app.push({ listen_port: 9000, paused: true }), unsupported('paused'))
  await agent.close()
  await until(async () => app.log.some(({ event }) => event === 'client.disconnected'), Boolean)
  t.match(await patch({ targets: other }), unsupported('targets'), 'the last connection counts')
})

t.test('a change for an offline client is stored, and applied at the reconnect', async t => {
  const { app, agent, id, clientId, patch } = await patchFixture(t)
  await agent.close()
  await until(async () => app.log.some(({ event }) => event === 'client.disconnected'), Boolean)

  t.match(await patch({ targets: other, listen_port: 9000 }), { status: 200, body: { targets: other } })

  const inventory = [{ kind: 'rule', id, revision: 1, state: 'applied' }] as const
  const again = await app.connect(clientId, { ...editable, inventory })
  t.match((await again.until(RulePush.name)).body, {
    revision: 2,
    listen_from: 9000,
    targets: other,
    retry: false
  })
  await until(
    () => app.push({ listen_port: 8080 }),
    ({ status }) => status === 201
  )
})

t.test(
  'a change made while the client was offline is kept even if its port is in use at the reconnect',
  async t => {
    const { app, agent, id, clientId, patch } = await patchFixture(t)
    await agent.close()
    await until(async () => app.log.some(({ event }) => event === 'client.disconnected'), Boolean)
    await patch({ targets: other })

    const again = await app.connect(clientId, { ...editable, react: () => ({ refuse: 'port_in_use' }) })

    t.match((await again.until(RulePush.name, 2)).body, { revision: 3, retry: true, targets: other })
    t.match(await app.get(id), { state: 'failed', state_reason: 'port_in_use', targets: other })
  }
)

t.test('grants limit the result of a patch, and a user who moves a rule has placed it', async t => {
  const app = await grantsFixture(t)
  await app.grant({ targets: ['10.0.0.1'] })
  const { rule_id: id } = (await app.pushAsAda()).body
  const { rule_id: given } = (await app.push({ listen_port: 8500, owner: 'ada', targets: other })).body
  const patch = (of: string, body: object, headers = app.ada) =>
    app.call('PATCH', `/v1/rules/${of}`, body, headers)

  t.match(await patch(id, { targets: other }), refusal(403, 'target_not_granted'))
  t.match(await patch(id, { listen_port: 9500 }), refusal(403, 'port_outside_grant'))
  t.match(
    await patch(given, { listen_port: 8501 }),
    refusal(403, 'target_not_granted'),
    'a superadmin placed it'
  )
  t.match(await patch(id, { placed_by: 'root' }), refusal(403, 'not_owner'))
  const byOperator = await app.call('PATCH', `/v1/rules/${id}`, { targets: other })
  t.match(byOperator, refusal(403, 'target_not_granted'), 'it is placed by ada still')
  t.match(await app.get(given), { placed_by: '_operator', targets: other, listen_port: 8500 })
  const { id: update, since } = updateCapability
  await app.connect(app.clientId, {
    ...capableAgent,
    capabilities: { ...capableAgent.capabilities, [update]: since }
  })
  t.match(await app.call('PATCH', `/v1/rules/${id}`, { placed_by: 'root', targets: other }), {
    status: 200,
    body: { placed_by: 'root' }
  })
})

t.test('the audit entry of a change has the old and new value of each changed field', async t => {
  const { app, patch } = await patchFixture(t)

  await patch({ listen_port: 9000, rate_limit: { concurrent_connections: 5 } })

  t.strictSame(app.decisions.at(-1)?.changes, [
    { field: 'listen_port', from: 8080, to: 9000 },
    { field: 'rate_limit', from: null, to: { concurrent_connections: 5 } }
  ])
})

async function agentFixture(t: Test, react: NonNullable<Script['react']>) {
  const { app, agent, clientId } = await patchFixture(t, null, { react })
  await agent.until(Inventory.name) // what the comparison sends must be answered before anything else is sent
  return { app: app as RulesFixture, agent, clientId }
}
