import t, { type Test } from 'tap'
import type { ReceivedMessage } from '../../../kit/scripted-agent.ts'
import { until } from '../../rules/test/fixture.ts'
import { RulePush, RuleRemove } from '../../rules/wire.ts'
import { type GroupRule, groupsFixture, type Refused } from './fixture.ts'

/** A rule on three connected clients. */
async function three(t: Test, more: object = {}) {
  const app = await groupsFixture(t)
  const ids = [await app.edge('a'), await app.edge('b'), await app.edge('c')]
  const agents = [
    await app.agent(String(ids[0])),
    await app.agent(String(ids[1])),
    await app.agent(String(ids[2]))
  ]
  const { body: rule } = await app.group({ ids }, more)
  const patch = (body: object, headers: Record<string, string> = {}) =>
    app.call<GroupRule & Refused>('PATCH', `/v1/rules/${rule.rule_id}`, body, headers)
  return { app, ids, agents, rule, patch }
}

const lastPush = (received: readonly ReceivedMessage[]) =>
  received.filter(({ name }) => name === RulePush.name).at(-1)?.body

t.test('a patch of a group changes every client, and has one entry in the audit log', async t => {
  const { app, agents, rule, patch } = await three(t)

  const patched = await patch({ targets: [{ host: '10.0.0.9', port: 99 }], labels: { app: 'web' } })

  t.match(patched, {
    status: 200,
    body: { state: 'active', labels: { app: 'web' }, targets: [{ host: '10.0.0.9' }] }
  })
  for (const { received } of agents)
    t.match(lastPush(received), { targets: [{ host: '10.0.0.9', port: 99 }] })
  t.match(
    app.decisions.filter(({ action }) => action === 'rule.patch'),
    [{ resourceId: rule.rule_id, status: 200, changes: [{ field: 'targets' }, { field: 'labels' }] }]
  )
  t.match(await app.call('GET', '/v1/rules?selector=app%3Dweb'), { body: [{ rule_id: rule.rule_id }] })
})

t.test('a patch that one client cannot take changes none, and names it', async t => {
  const { app, ids, agents, rule, patch } = await three(t)
  const { body: other } = await app.push({ client: ids[1], listen_port: 9090 })
  const before = await app.read(rule.rule_id)
  const pushes = agents.map(({ received }) => received.length)

  const refused = await patch({ listen_port: 9090 })

  t.match(refused, {
    status: 409,
    body: {
      error: { code: 'port_in_use', details: { edges: [{ client_name: 'b', rule_id: other.rule_id }] } }
    }
  })
  t.equal(refused.body.error.details.edges.length, 1)
  t.strictSame(await app.read(rule.rule_id), before)
  t.strictSame(
    agents.map(({ received }) => received.length),
    pushes
  )
})

t.test('pause and resume apply to all clients of the group', async t => {
  const { app, rule } = await three(t)

  t.match(await app.call('POST', `/v1/rules/${rule.rule_id}/pause`), { status: 204 })
  t.match(await app.read(rule.rule_id), { state: 'paused', paused: true })
  t.strictSame(await app.states(rule.rule_id), { a: 'paused', b: 'paused', c: 'paused' })

  t.match(await app.call('POST', `/v1/rules/${rule.rule_id}/resume`), { status: 204 })
  t.match(await app.read(rule.rule_id), { state: 'active' })
})

t.test('an offline client applies the change at its reconnect', async t => {
  const { app, ids, agents, patch } = await three(t)
  await agents[2]?.close()
  await until(
    async () => app.server.control.peers.find(String(ids[2])),
    peer => peer === undefined
  )

  t.match(await patch({ targets: [{ host: '10.0.0.9', port: 99 }] }), {
    status: 200,
    body: { state: 'active' }
  })

  const back = await app.agent(String(ids[2]))
  t.match(await back.until(RulePush.name), { body: { targets: [{ host: '10.0.0.9' }] } })
})

t.test('a delete removes the rule from every client, then the group rule', async t => {
  const { app, agents, rule } = await three(t)

  t.match(await app.call('DELETE', `/v1/rules/${rule.rule_id}`), { status: 204 })

  for (const agent of agents) {
    const removal = await agent.until(RuleRemove.name)
    agent.sendRemoved({
      kind: 'rule',
      id: String(removal.body['rule_id']),
      revision: Number(removal.body['revision'])
    })
  }
  await until(
    async () => (await app.call('GET', `/v1/rules/${rule.rule_id}`)).status,
    status => status === 404
  )
  t.match(await app.group({ ids: rule.edges.map(({ client_id }) => client_id) }), { status: 201 })
})

t.test('If-Match refuses a lost update of a group rule, and a join does not change its version', async t => {
  const { app, rule, patch } = await three(t)
  const etag = String((await app.call('GET', `/v1/rules/${rule.rule_id}`)).headers['etag'])
  t.equal(rule.etag, etag)

  t.match(await patch({ paused: true }, { 'if-match': etag }), { status: 200 })
  t.match(await patch({ paused: false }, { 'if-match': etag }), {
    status: 412,
    body: { error: { code: 'resource_changed' } }
  })
})

t.test('a patch of `clients` adds and removes clients', async t => {
  const { app, ids, agents, rule, patch } = await three(t)
  const d = await app.edge('d', { env: 'prod' })
  await app.agent(d)

  t.match(await patch({ clients: { ids: [ids[0], d] } }), { status: 200, body: { state: 'active' } })

  t.strictSame(await app.states(rule.rule_id), { a: 'active', d: 'active' })
  t.match(await agents[1]?.until(RuleRemove.name), { body: { removal: 'drain' } })
  t.match(await patch({ clients: { ids: null, selector: 'env=prod' } }), { status: 200 })
  t.strictSame(await app.states(rule.rule_id), { d: 'active' })
  t.match((await app.read(rule.rule_id)).clients, { selector: 'env=prod' })
})

t.test('a rule cannot change between one client and a group', async t => {
  const { app, ids, rule, patch } = await three(t)
  const { body: single } = await app.push({ client: ids[0], listen_port: 7000 })
  const immutable = { status: 400, body: { error: { code: 'validation.rule_immutable_field' } } }

  t.match(await app.call('PATCH', `/v1/rules/${single.rule_id}`, { clients: { ids } }), immutable)
  t.match(await patch({ clients: null }), immutable)
  t.match(await patch({ client: 'a' }), immutable)
  t.match(await app.read(rule.rule_id), { state: 'active' })
})

t.test('an unchanged record that is sent back changes nothing', async t => {
  const { app, rule, patch } = await three(t)

  t.match(await patch({ ...rule }), { status: 200, body: { etag: rule.etag } })
  t.match(await app.call('PUT', `/v1/rules/${rule.rule_id}`, rule), {
    status: 200,
    body: { etag: rule.etag }
  })
})

t.test('a member is not found by its id, and the error names its group rule', async t => {
  const { app, agents, rule } = await three(t)
  const part = String(lastPush(agents[0]?.received ?? [])?.['rule_id'])

  for (const [method, url] of [
    ['GET', `/v1/rules/${part}`],
    ['DELETE', `/v1/rules/${part}`],
    ['POST', `/v1/rules/${part}/pause`],
    ['GET', `/v1/rules/${part}/stats`]
  ] as const)
    t.match(await app.call(method, url), {
      status: 404,
      body: { error: { code: 'rule_not_found', details: { rule_id: rule.rule_id } } }
    })
})
