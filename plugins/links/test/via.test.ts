// `via` of rules and targets: how it is given, checked, stored, shown and sent.
import t from 'tap'
import { RulePush } from '../../rules/wire.ts'
import { targetKey } from '../paths/target-key.ts'
import { namesOf, partAt, refusal, type ViaFixture, viaFixture } from './via-fixture.ts'

const one = { host: '10.0.0.1', port: 80 }
const two = { host: '10.0.0.2', port: 81 }

const connectAll = (app: ViaFixture) =>
  Promise.all([app.agent('edge'), app.agent('relay'), app.agent('exit'), app.agent('other')])

t.test('a path is given by names or ids, shown by ids, and sent to each of its clients', async t => {
  const app = await viaFixture(t)
  const { edge: edgeId, relay: relayId, exit: exitId } = app.ids
  const [edge, relay, exit] = await connectAll(app)

  const made = await app.push({ via: ['relay', exitId], targets: [one], prefer_ipv6: true })

  t.match(made, { status: 201, body: { state: 'active', via: [relayId, exitId] } })
  t.notOk('via' in made.body.targets[0]!)
  t.notOk('path' in made.body.targets[0]!)
  t.same(await app.get(made.body.rule_id), (await app.call<object[]>('GET', '/v1/rules')).body[0])
  const key = targetKey({ ...one, priority: 0, path: [relayId, exitId] })
  t.same(app.pathsIn(await edge.until(RulePush.name)), [{ target: 0, next: relayId, key, others: [exitId] }])
  const common = { entry_id: edgeId, entry_name: 'edge', owner: '_operator', ports: 1, prefer_ipv6: true }
  t.same(await partAt(relay), { ...common, targets: [{ key, previous: edgeId, next: exitId }] })
  t.same(await partAt(exit), { ...common, targets: [{ key, previous: relayId, ...one }] })
})

t.test('the exit gets its part before the entry gets the rule', async t => {
  const app = await viaFixture(t)
  const edge = await app.agent('edge')
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
  const exit = await app.agent('exit', { react: () => answered })

  const made = app.push({ via: 'exit' })
  await partAt(exit)
  t.same(namesOf(edge), [])
  answer()

  t.match(await made, { status: 201, body: { state: 'active', via: [app.ids.exit] } })
  t.same(namesOf(edge), [RulePush.name])
})

t.test('a target overrides the path of the rule, and shows it only if it differs', async t => {
  const app = await viaFixture(t)
  const { edge: edgeId, relay: relayId, exit: exitId, other: otherId } = app.ids
  const [edge, , exit, other] = await connectAll(app)
  const three = { host: '10.0.0.3', port: 82 }

  const { body } = await app.push({
    via: 'exit',
    targets: [
      { ...one, via: null, priority: 9 },
      { ...two, via: ['relay', 'other'] },
      { ...three, via: [exitId] }
    ]
  })

  t.match(body, {
    via: [exitId],
    targets: [{ ...one, via: null }, { ...two, via: [relayId, otherId] }, three]
  })
  t.notOk('via' in body.targets[2]!)
  const paths = app.pathsIn(await edge.until(RulePush.name))
  t.match(paths, [
    { target: 0, next: relayId },
    { target: 1, next: exitId }
  ])
  t.match((await partAt(exit)).targets, [{ previous: edgeId, ...three }])
  t.match((await partAt(other)).targets, [{ previous: relayId, ...two }])
})

t.test('a rule of which only a target has a path sends one message, too', async t => {
  const app = await viaFixture(t)
  const [edge] = await connectAll(app)

  const { body } = await app.push({ targets: [one, { ...two, via: 'exit' }] })

  t.match(body, { state: 'active', via: null, targets: [one, { ...two, via: [app.ids.exit] }] })
  const push = await edge.until(RulePush.name)
  t.match(app.pathsIn(push), [{ target: 1, next: app.ids.exit }])
  t.same(Object.keys(push.body['fields'] as object), ['via'])
})

t.test('targets are equal if host, port and path are equal', async t => {
  const app = await viaFixture(t)
  await connectAll(app)
  const duplicate = refusal(400, 'validation.targets_duplicate')

  for (const [via, first, second] of [
    [null, one, { ...one, via: null }],
    ['exit', one, { ...one, via: ['exit'] }],
    ['exit', { ...one, via: 'relay' }, { ...one, via: app.ids.relay }],
    [null, { ...one, via: ['relay', 'exit'] }, { ...one, via: ['relay', app.ids.exit] }]
  ])
    t.match(await app.push({ via, targets: [first, second] }), duplicate)
  const made = await app.push({
    via: 'exit',
    targets: [one, { ...one, via: null }, { ...one, via: 'other' }, { ...one, via: ['relay', 'exit'] }]
  })
  t.match(made, { status: 201, body: { state: 'active' } })
})

t.test('a path of a wrong form is refused, as it is written and after the look-up', async t => {
  const app = await viaFixture(t)
  await app.agent('edge')
  const { edge, exit } = app.ids

  for (const [via, reason] of [
    [[], 'empty'],
    ['', 'empty'],
    [['relay', 'exit', 'other', 'a fourth'], 'too_long'],
    [['nobody', 'nobody'], 'repeated'],
    ['edge', 'self'],
    [[edge], 'self'],
    [['relay', edge, 'exit'], 'self'],
    [['exit', exit], 'repeated']
  ]) {
    const invalid = (field: string) => refusal(400, 'validation.via', { field, reason })
    t.match(await app.push({ via }), invalid('/via'))
    t.match(await app.push({ targets: [one, { ...two, via }] }), invalid('/targets/1/via'))
  }
  t.match(await app.push({ via: 7 }), refusal(400, 'validation.schema', { field: '/via' }))
  t.same((await app.call('GET', '/v1/rules')).body, [])
})

t.test(
  'names are looked up: unknown ones do not exist, and several clients with one are ambiguous',
  async t => {
    const app = await viaFixture(t)
    await app.agent('edge')
    const second = await app.enroll('exit')

    t.match(await app.push({ via: 'nobody' }), refusal(404, 'client_not_found', { field: '/via' }))
    t.match(
      await app.push({ via: '01KCD3F0P7Q4Y6Z8V1T5S9R2NA' }),
      refusal(404, 'client_not_found', { field: '/via' })
    )
    t.match(
      await app.push({ via: ['relay', 'exit'] }),
      refusal(409, 'client_name_ambiguous', { client_ids: [app.ids.exit, second].sort() })
    )
  }
)

t.test('a client on the path must not be revoked, and be connected and capable', async t => {
  const app = await viaFixture(t)
  await app.agent('edge')
  const { exit: exitId } = app.ids
  const of = (client_id: string) => ({ client_id, field: 'via' })

  t.match(await app.push({ via: 'exit' }), refusal(422, 'client_not_connected', of(exitId)))
  const queued = await app.push({ via: 'exit', if_offline: 'queue' })
  t.match(queued, { status: 201, body: { state: 'pending' } })
  const exit = await app.agent('exit', { capabilities: {} })
  const unsupported = (id: string) => refusal(422, 'rule_field_unsupported_by_client', of(id))
  t.match(await app.push({ via: 'exit', listen_port: 81 }), unsupported(exitId))
  await app.close(exit, exitId)
  t.equal((await app.call('POST', `/v1/clients/${exitId}/revoke`)).status, 204)
  const revoked = refusal(409, 'client_revoked', of(exitId))
  t.match(await app.push({ via: ['relay', 'exit'], listen_port: 81 }), revoked, 'before the absent relay')
  t.match(await app.push({ via: ['relay', 'exit'], listen_port: 81, if_offline: 'queue' }), revoked)

  await app.agent('other', { capabilities: {} })
  await app.agent('relay')
  const { status, body } = await app.push({ client: 'other', via: 'relay' })
  t.match({ status, body }, unsupported(app.ids.other), 'the entry, too')
})

t.test('a rule for UDP has no path, because no agent carries datagrams', async t => {
  const app = await viaFixture(t, {
    plugins: [
      'users',
      'clients',
      'rules',
      'multi-target',
      'udp',
      'cli',
      'advertised-endpoint',
      'doctor',
      'links'
    ]
  })
  await app.agent('edge', { capabilities: { link: '1.0.0', 'rule.udp': '9.0.0', 'rule.targets': '9.0.0' } })
  await app.agent('exit')
  const refused = refusal(422, 'rule_field_unsupported_by_client', { field: 'via', client_id: app.ids.edge })

  t.match(await app.push({ via: 'exit', protocol: 'udp' }), refused)
  t.match(await app.push({ targets: [{ ...one, via: 'exit' }], protocol: 'udp' }), refused)
})
