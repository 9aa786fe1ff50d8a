// POST /v1/rules/bulk changes many rules with one request, each alone or all together.
import t, { type Test } from 'tap'
import { RulePush, updateCapability } from '../wire.ts'
import { type ErrorReply, rulesFixture, until } from './fixture.ts'

const agentCapabilities = { [updateCapability.id]: updateCapability.since }

interface Bulk extends ErrorReply {
  readonly matched: number
  readonly results: readonly {
    readonly rule_id: string
    readonly status: number
    readonly error?: { code: string }
  }[]
}

async function bulkFixture(t: Test, rules = 3) {
  const app = await rulesFixture(t, { plugins: ['users', 'clients', 'rules', 'audit', 'labels'] })
  const clientId = await app.enroll()
  const agent = await app.connect(clientId, { capabilities: agentCapabilities })
  const ids: string[] = []
  for (let port = 1; port <= rules; port++)
    ids.push(
      (await app.push({ listen_port: port, labels: { env: port === 1 ? 'dev' : 'prod' } })).body.rule_id
    )
  const bulk = (body: object, headers: Record<string, string> = {}) =>
    app.call<Bulk>('POST', '/v1/rules/bulk', body, headers)
  const states = async () =>
    (await app.call<{ state: string }[]>('GET', '/v1/rules')).body.map(({ state }) => state)
  const audited = async (...actions: string[]) =>
    (await app.call<{ action: string }[]>('GET', '/v1/audit')).body.filter(entry =>
      actions.includes(entry.action)
    )
  return { ...app, clientId, agent, ids, bulk, states, audited }
}

t.test('rules are paused, resumed, patched and deleted, each with its entry in the audit log', async t => {
  const { ids, bulk, states, decisions, get } = await bulkFixture(t)

  const paused = await bulk({ ids, action: 'pause' }, { 'x-request-id': 'bulk-1' })

  t.strictSame(paused.body, { matched: 3, results: ids.map(rule_id => ({ rule_id, status: 204 })) })
  t.strictSame(await states(), ['paused', 'paused', 'paused'])
  const entries = decisions.filter(({ requestId }) => requestId === 'bulk-1')
  t.match(
    entries.filter(({ action }) => action === 'rule.pause'),
    ids.map(resourceId => ({ resourceKind: 'rule', resourceId, status: 204, changes: [{ field: 'paused' }] }))
  )
  t.equal(entries.filter(({ action }) => action === 'rule.bulk').length, 1)

  t.match(await bulk({ ids, action: 'resume' }), { status: 200, body: { matched: 3 } })
  t.strictSame(await states(), ['active', 'active', 'active'])
  const patch = { targets: [{ host: '10.0.0.9', port: 99 }], labels: { env: null, zone: 'a' } }
  t.match(await bulk({ selector: 'env=prod', action: 'patch', patch }), {
    body: { matched: 2, results: ids.slice(1).map(rule_id => ({ rule_id, status: 200 })) }
  })
  t.match(await get(ids[2] ?? ''), { targets: [{ host: '10.0.0.9' }], labels: { zone: 'a' } })
  t.match(await bulk({ selector: 'env!=dev', action: 'delete' }), { body: { matched: 2 } })
  t.strictSame(await states(), ['active', 'draining', 'draining'])
})

t.test('a refused rule does not stop the others, and has the answer of the single call', async t => {
  const { ids, bulk, states, user, decisions } = await bulkFixture(t)
  const none = '01K00000000000000000000000'

  const reply = await bulk({ ids: [ids[0], none, ids[0], ids[1]], action: 'pause' })

  t.match(reply, { status: 200, body: { matched: 3 } })
  t.match(reply.body.results, [
    { rule_id: ids[0], status: 204 },
    { rule_id: none, status: 404, error: { code: 'rule_not_found', message: `there is no rule ${none}` } },
    { rule_id: ids[1], status: 204 }
  ])
  t.strictSame(await states(), ['paused', 'paused', 'active'])
  t.match(
    decisions.find(({ status }) => status === 404),
    { action: 'rule.pause', reason: 'rule_not_found' }
  )

  const ann = await user('ann')
  t.match((await bulk({ ids, action: 'delete' }, ann)).body.results, [
    { status: 403, error: { code: 'not_owner' } },
    { status: 403 },
    { status: 403 }
  ])
  t.strictSame((await bulk({ selector: 'env', action: 'delete' }, ann)).body, { matched: 0, results: [] })
  t.equal((await states()).length, 3)
})

t.test('if two rules of one request want the same port, the first gets it', async t => {
  const { ids, bulk } = await bulkFixture(t)

  const reply = await bulk({ ids, action: 'patch', patch: { listen_port: 700 } })

  t.match(reply.body.results, [
    { status: 200 },
    { status: 409, error: { code: 'port_in_use', details: { rule_id: ids[0] } } },
    { status: 409 }
  ])
})

t.test('an atomic request changes all or none, and answers with the first refusal', async t => {
  const { ids, bulk, states, get, audited } = await bulkFixture(t)

  const refused = await bulk({ ids, action: 'patch', patch: { listen_port: 700 }, atomic: true })

  t.match(refused, { status: 409, body: { error: { code: 'port_in_use', details: { rule_id: ids[1] } } } })
  t.equal((await get(ids[0] ?? '')).listen_port, 1)
  t.match(await bulk({ ids: [...ids, 'nothing'], action: 'delete', atomic: true }), {
    status: 404,
    body: { error: { code: 'rule_not_found', details: { rule_id: 'nothing' } } }
  })
  t.strictSame(await states(), ['active', 'active', 'active'])
  t.strictSame(await audited('rule.delete'), [])
  t.match(await bulk({ ids, action: 'delete', atomic: true }), { status: 200, body: { matched: 3 } })
  t.strictSame(await states(), ['draining', 'draining', 'draining'])
})

t.test('a dry run makes the same checks and changes nothing', async t => {
  const { ids, bulk, states, get, objects, clientId, audited } = await bulkFixture(t)
  const before = await objects(clientId)

  const reply = await bulk({ ids, action: 'patch', patch: { listen_port: 700 }, dry_run: true })
  t.match(reply.body.results, [
    { status: 200 },
    { status: 409, error: { code: 'port_in_use' } },
    { status: 409 }
  ])
  t.match(await bulk({ ids, action: 'patch', patch: { listen_port: 700 }, dry_run: true, atomic: true }), {
    status: 409
  })
  t.match(await bulk({ selector: 'env', action: 'delete', dry_run: true }), {
    body: { matched: 3, results: [{ status: 204 }, { status: 204 }, { status: 204 }] }
  })

  t.strictSame(await states(), ['active', 'active', 'active'])
  t.strictSame(await objects(clientId), before)
  t.equal((await get(ids[0] ?? '')).listen_port, 1)
  t.strictSame(await audited('rule.delete', 'rule.patch'), [])
})

t.test('an offline client applies its changes at its reconnect', async t => {
  const { ids, bulk, agent, connect, clientId, call, states } = await bulkFixture(t)
  await agent.close()
  const state = async () => (await call<{ state: string }>('GET', `/v1/clients/${clientId}`)).body.state
  await until(state, found => found === 'disconnected')

  t.match(await bulk({ ids, action: 'pause' }), { status: 200, body: { results: [{ status: 204 }] } })

  const again = await connect(clientId, { capabilities: agentCapabilities })
  await again.until(RulePush.name, 3)
  t.match(
    again.received.flatMap(({ name, body }) => (name === RulePush.name ? [body] : [])),
    ids.map(rule_id => ({ rule_id, paused: true }))
  )
  t.strictSame(await states(), ['paused', 'paused', 'paused'])
})

t.test('a request with unclear rules or an unclear action is refused and changes nothing', async t => {
  const { ids, bulk, states } = await bulkFixture(t)
  const many = Array.from({ length: 1001 }, (_, i) => `rule-${i}`)

  for (const [body, status, code] of [
    [{ action: 'delete' }, 400, 'validation.schema'],
    [{ ids, selector: 'env', action: 'delete' }, 400, 'validation.schema'],
    [{ ids: [], action: 'delete' }, 400, 'validation.schema'],
    [{ ids }, 400, 'validation.schema'],
    [{ ids, action: 'stop' }, 400, 'validation.schema'],
    [{ ids, action: 'patch' }, 400, 'validation.schema'],
    [{ ids, action: 'delete', patch: { paused: true } }, 400, 'validation.schema'],
    [{ ids, action: 'patch', patch: {} }, 400, 'validation.body_empty'],
    [{ ids, action: 'patch', patch: { colour: 1 } }, 400, 'validation.unknown_field'],
    [{ selector: '', action: 'delete' }, 400, 'validation.selector'],
    [{ selector: 'env>1', action: 'delete' }, 400, 'validation.selector'],
    [{ ids: many, action: 'delete' }, 422, 'limit_reached']
  ] as const)
    t.match(await bulk(body), { status, body: { error: { code } } }, JSON.stringify(body).slice(0, 80))
  t.strictSame(await states(), ['active', 'active', 'active'])
})

t.test('without a plugin for selectors, a selector is refused', async t => {
  const app = await rulesFixture(t)
  t.match(await app.call('POST', '/v1/rules/bulk', { selector: 'env', action: 'delete' }), {
    status: 400,
    body: { error: { code: 'validation.unknown_field', details: { field: '/selector' } } }
  })
})

t.test('more rules than one transaction takes are changed, in their order', async t => {
  const { ids, bulk, states } = await bulkFixture(t, 40)

  const { body } = await bulk({ selector: 'env', action: 'pause' })

  t.strictSame(body, { matched: 40, results: ids.map(rule_id => ({ rule_id, status: 204 })) })
  t.strictSame(new Set(await states()), new Set(['paused']))
})

t.test('large changes of one user do not delay the change of another until all are made', async t => {
  const { ids, bulk, call, push, user } = await bulkFixture(t, 12)
  const ann = await user('ann')
  const own = (await push({ listen_port: 99, owner: 'ann' })).body.rule_id
  const answered: string[] = []
  const note = (name: string, request: Promise<{ readonly status: number }>) =>
    request.then(({ status }) => answered.push(`${name} ${status}`))
  const noise = { ids, action: 'patch', patch: { labels: { zone: 'a' } }, dry_run: true, atomic: true }

  await Promise.all([
    ...Array.from({ length: 12 }, () => note('noise', bulk(noise))),
    note('quiet', call('PATCH', `/v1/rules/${own}`, { labels: { zone: 'b' } }, ann))
  ])

  t.equal(answered.length, 13)
  t.ok(answered.indexOf('quiet 200') <= 8, answered.join(', ')) // its change and its audit entry each wait for one or a few
})
