// The rules that grants let a user create, and the effect of deleting a grant.
import t from 'tap'
import { rulesFixture, until } from '../../rules/test/fixture.ts'
import { messages, RulePush, RuleRemove } from '../../rules/wire.ts'
import { Targets } from '../wire.ts'
import { capableAgent, grantsFixture, lastSentTargets, plugins, refusal } from './fixture.ts'

t.test('a rule within one grant is created, and its owner is the caller', async t => {
  const app = await grantsFixture(t)
  await app.grant()

  t.match(await app.pushAsAda(), { status: 201, body: { owner: 'ada', state: 'active' } })
  t.equal((await app.pushAsAda({ listen_port: 8999, client: app.clientId, owner: 'ada' })).status, 201)
})

t.test('checks run in order: owner, client, protocol, port, target, connection', async t => {
  const app = await grantsFixture(t)
  const other = await app.enroll('offline')

  t.match(await app.pushAsAda({ owner: 'bob', client: 'nowhere' }), refusal(403, 'not_owner'))
  for (const client of ['edge', 'nowhere', other])
    t.match(await app.pushAsAda({ client }), refusal(403, 'client_not_granted'), client)
  await app.grant({ protocols: ['udp'], client_id: '*' })
  t.match(await app.pushAsAda({ listen_port: 1 }), refusal(403, 'protocol_not_granted'))
  await app.grant({ listen_port_start: 1, listen_port_end: 7999, client_id: '*', targets: ['10.9.0.0/16'] })
  t.match(await app.pushAsAda(), refusal(403, 'port_outside_grant'))
  t.match(await app.pushAsAda({ listen_port: 80 }), refusal(403, 'target_not_granted'))
  const targets = [{ host: '10.9.0.1', port: 80 }]
  t.match(
    await app.pushAsAda({ listen_port: 80, targets, client: 'offline' }),
    refusal(422, 'client_not_connected')
  )
  t.equal((await app.pushAsAda({ listen_port: 80, targets })).status, 201)
})

t.test('a client name is resolved among the granted clients', async t => {
  const app = await grantsFixture(t)
  const secondId = await app.enroll()
  await app.connect(secondId, capableAgent)
  await app.grant()

  t.match(await app.pushAsAda(), { status: 201, body: { client_id: app.clientId } })
  await app.enroll()
  await app.grant({ client_id: secondId })
  const ambiguous = await app.pushAsAda({ listen_port: 8081 })
  t.match(ambiguous, refusal(409, 'client_name_ambiguous'))
  t.same(ambiguous.body.error.details['client_ids'], [app.clientId, secondId].sort())
})

t.test('a user sees only the clients of their grants and rules', async t => {
  const app = await grantsFixture(t)
  const other = await app.enroll('other')
  const seen = async () => {
    const { body } = await app.call<{ client_id: string }[]>('GET', '/v1/clients', undefined, app.ada)
    return body.map(({ client_id: id }) => id)
  }

  t.same(await seen(), [])
  const { grant_id: id } = (await app.grant({ client_id: other })).body
  t.same(await seen(), [other])
  await app.push({ owner: 'ada' })
  t.same(await seen(), [app.clientId, other].sort())
  await app.call('DELETE', `/v1/grants/${id}`)
  t.same(await seen(), [app.clientId])
  await app.grant({ client_id: '*' })
  t.same(await seen(), [app.clientId, other].sort())
})

t.test('a target must be in the list of one covering grant', async t => {
  const app = await grantsFixture(t)
  await app.grant({ targets: ['10.0.0.0/8:80', 'db.example:5000-5010', '[fd00::]:1'] })

  for (const [host, port, status] of [
    ['10.255.0.1', 80, 201],
    ['10.255.0.1', 81, 403],
    ['11.0.0.1', 80, 403],
    ['::ffff:10.0.0.9', 80, 201],
    ['fd00::1', 1, 403],
    ['DB.example', 5010, 201],
    ['db.example', 5011, 403],
    ['some.example', 80, 201] // the agent checks its addresses when it connects
  ] as const) {
    const created = await app.pushAsAda({ targets: [{ host, port }] })
    t.equal(created.status, status, `${host} ${port}`)
    if (status === 201) await app.call('DELETE', `/v1/rules/${created.body.rule_id}`)
    else t.match(created, refusal(403, 'target_not_granted'))
  }
})

t.test('the agent receives the lists of all covering grants, or none when one grant has no list', async t => {
  const app = await grantsFixture(t)
  await app.grant({ targets: ['10.0.0.0/8'] })
  await app.grant({ targets: ['db.example:5000'], listen_port_end: 8500 })
  await app.grant({ targets: ['192.0.2.1'], protocols: ['udp'] })

  const { rule_id: id } = (await app.pushAsAda()).body
  const byRoot = (await app.push({ owner: 'ada', listen_port: 8081 })).body.rule_id
  t.same(lastSentTargets(app, id), [
    { cidr: '10.0.0.0/8' },
    { host: 'db.example', port_from: 5000, port_to: 5000 }
  ])
  t.equal(lastSentTargets(app, byRoot), null, 'grants do not limit rules of a superadmin')
  t.notOk('grant_targets' in (await app.get(id)), 'the API does not show it')

  const { grant_id: wide } = (await app.grant()).body
  await app.agent.until(RulePush.name, 3)
  t.equal(lastSentTargets(app, id), null)
  await app.call('DELETE', `/v1/grants/${wide}`)
  await app.agent.until(RulePush.name, 4)
  t.equal(lastSentTargets(app, id)?.length, 2)
  const pushes = app.agent.received.filter(({ name }) => name === RulePush.name)
  t.same(
    pushes.map(({ body }) => [body['rule_id'], body['revision']]),
    [id, byRoot, id, id].map((ruleId, at) => [ruleId, at + 1])
  )
})

t.test('deleting a grant removes the rules that no other grant allows, on the client too', async t => {
  const app = await grantsFixture(t)
  const { grant_id: id } = (await app.grant()).body
  await app.grant({ listen_port_end: 8100 })
  const kept = (await app.pushAsAda({ listen_port: 8100 })).body.rule_id
  const removed = (await app.pushAsAda({ listen_port: 8101 })).body.rule_id
  const placed = (await app.push({ owner: 'ada', listen_port: 8102 })).body.rule_id

  const { status, body } = await app.call('DELETE', `/v1/grants/${id}`)

  t.equal(status, 200)
  t.same(body, { grant_id: id, removed_rule_ids: [removed] })
  t.match((await app.agent.until(RuleRemove.name)).body, { rule_id: removed, removal: 'cut' })
  const left = await app.call<{ rule_id: string }[]>('GET', '/v1/rules')
  t.same(
    left.body.map(({ rule_id }) => rule_id),
    [kept, placed]
  )
  t.match(await app.call('DELETE', `/v1/grants/${id}`), refusal(404, 'grant_not_found'))
})

t.test('a client without target filters refuses a rule with a target list', async t => {
  const app = await grantsFixture(t)
  await app.connect(await app.enroll('old'), { capabilities: {} })
  await app.grant({ client: 'old', targets: ['10.0.0.0/8'] })

  t.match(await app.pushAsAda({ client: 'old' }), refusal(422, 'target_filter_unsupported_by_client'))
  await app.grant({ client: 'old' })
  t.equal((await app.pushAsAda({ client: 'old' })).status, 201)
})

t.test('a rule fails and is cut when a target list applies that its client cannot filter', async t => {
  const app = await grantsFixture(t)
  const old = await app.enroll('old')
  const first = await app.connect(old, { capabilities: {} })
  await app.grant({ client_id: old, targets: ['10.0.0.0/8'] })
  const { grant_id: wide } = (await app.grant({ client_id: old })).body
  const { rule_id: id } = (await app.pushAsAda({ client: 'old' })).body

  await app.call('DELETE', `/v1/grants/${wide}`)
  await first.closed()
  const second = await app.connect(old, { capabilities: {}, inventory: [{ kind: 'rule', id, revision: 1 }] })

  t.match((await second.until(RuleRemove.name)).body, { rule_id: id, removal: 'cut' })
  await until(
    () => app.get(id),
    ({ state_reason }) => state_reason === 'target_filter_unsupported_by_client'
  )
})

t.test('a rule with a target list fails without the plugin, and is pushed again when it returns', async t => {
  const first = await grantsFixture(t)
  await first.grant({ targets: ['10.0.0.0/8'] })
  const { rule_id: id } = (await first.pushAsAda()).body
  await first.stop()

  const without = await rulesFixture(t, { dir: first.dir })
  t.match(await without.get(id), { state: 'failed', state_reason: 'field_not_loaded' })
  await without.stop()

  const again = await rulesFixture(t, { dir: first.dir, plugins })
  const agent = await again.connect(first.clientId, { ...capableAgent, messages: [...messages, Targets] })
  t.match((await agent.until(RulePush.name)).body, { rule_id: id })
})
