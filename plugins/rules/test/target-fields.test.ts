// Properties of targets that other plugins own: given, stored, shown, sent, changed, undone, and without their plugin.
import t, { type Test } from 'tap'
import type { Static } from 'typebox'
import { Refused } from '../../../kernel/wire/message.ts'
import { scriptedResponse } from '../../../kit/scripted-agent.ts'
import { targetsCapability } from '../../multi-target/wire.ts'
import { messages, RulePush, updateCapability } from '../wire.ts'
import { color, colorMessage, colors } from './colors.ts'
import { type RulesFixture, rulesFixture, until } from './fixture.ts'

const plugins = ['users', 'clients', 'rules', 'port-range', 'multi-target', colors]
const capable = {
  capabilities: {
    [color.capability.id]: color.capability.since,
    [targetsCapability.id]: targetsCapability.since,
    [updateCapability.id]: updateCapability.since
  },
  messages: [...messages, colorMessage]
}

const one = { host: '10.0.0.1', port: 80 }
const two = { host: '10.0.0.2', port: 80 }

async function open(t: Test) {
  const app = await rulesFixture(t, { plugins })
  const clientId = await app.enroll()
  const agent = await app.connect(clientId, capable)
  const sent = async (n: number) => sentIn(app, (await agent.until(RulePush.name, n)).body)
  const colorsOf = async (id: string) => (await app.get(id)).targets.map(target => Object(target).color)
  return { app, clientId, agent, sent, colorsOf }
}

function sentIn(app: RulesFixture, body: unknown) {
  const { fields } = body as Static<typeof RulePush.body>
  const bytes = fields['targets.color']
  return bytes ? app.server.depsOf('rules').codec.decode(colorMessage, bytes).values : null
}

t.test('a property of targets is normalized, stored, shown, and sent by priority', async t => {
  const { app, sent } = await open(t)

  const made = await app.push({
    targets: [
      { ...one, priority: 7, color: 'Blue' },
      { ...two, priority: 3 }
    ]
  })

  t.match(made, { status: 201, body: { targets: [{ ...one, color: 'blue' }, two] } })
  t.notOk('color' in made.body.targets[1]!, 'a target without a value does not have the property')
  t.same(await sent(1), [{ target: 1, value: 'blue' }])
  const { rule_id: id } = made.body
  t.same(await app.get(id), (await app.call<object[]>('GET', '/v1/rules')).body[0])
})

t.test('a bad value names the target, and nothing is stored', async t => {
  const { app } = await open(t)

  t.match(await app.push({ targets: [one, { ...two, color: 'none' }] }), {
    status: 400,
    body: { error: { code: 'validation.no_color', details: { field: '/targets/1/color' } } }
  })
  t.match(await app.push({ targets: [{ ...one, color: 7 }] }), {
    status: 400,
    body: { error: { code: 'validation.schema', details: { field: '/targets/0/color' } } }
  })
  t.same((await app.call('GET', '/v1/rules')).body, [])
})

t.test('targets that differ in a distinguishing property are no duplicates; others are', async t => {
  const { app, colorsOf } = await open(t)
  const duplicate = { status: 400, body: { error: { code: 'validation.targets_duplicate' } } }

  for (const [first, second] of [
    [
      { ...one, color: 'red' },
      { ...one, color: 'RED' }
    ],
    [one, { ...one, color: 'plain' }],
    [one, { ...one, color: null }]
  ])
    t.match(await app.push({ targets: [first, second] }), duplicate)
  const { body } = await app.push({ targets: [one, { ...one, color: 'red' }] })
  t.same(await colorsOf(body.rule_id), [undefined, 'red'])
})

t.test('PATCH keeps the values without `targets`, and replaces them with it', async t => {
  const { app, sent, colorsOf } = await open(t)
  const { rule_id: id } = (await app.push({ targets: [{ ...one, color: 'red' }, two] })).body
  const patch = (body: object) => app.call('PATCH', `/v1/rules/${id}`, body)

  t.match(await patch({ prefer_ipv6: true }), { status: 200 })
  t.same(await sent(2), [{ target: 0, value: 'red' }])
  t.match(await patch({ targets: [two, { ...one, color: 'red' }] }), { status: 200 }, 'another order')
  t.same(await colorsOf(id), [undefined, 'red'])
  t.same(await sent(3), [{ target: 1, value: 'red' }])
  t.match(await patch({ targets: [one] }), { status: 200 })
  t.same(await colorsOf(id), [undefined])
  t.equal(await sent(4), null)
  const [decision] = app.decisions.filter(({ action }) => action === 'rule.patch').slice(-1)
  t.match(decision?.changes, [{ field: 'targets' }, { field: 'targets.color', from: { 1: 'red' }, to: null }])
})

t.test('a record can be sent back by PATCH and PUT, and PUT refuses another value', async t => {
  const { app, colorsOf } = await open(t)
  const { rule_id: id } = (await app.push({ targets: [{ ...one, color: 'red' }] })).body
  const record = await app.get(id)

  t.match(await app.call('PATCH', `/v1/rules/${id}`, record), { status: 200 })
  const { state: _, ...rest } = record
  t.match(await app.call('PUT', `/v1/rules/${id}`, { ...rest, targets: [{ ...one, color: 'blue' }] }), {
    status: 400,
    body: { error: { code: 'validation.rule_immutable_field', details: { field: '/targets' } } }
  })
  t.same(await colorsOf(id), ['red'])
})

t.test('PUT of a definition and a bulk change set the values', async t => {
  const { app, colorsOf } = await open(t)
  const { rule_id: id } = (await app.push({ targets: [{ ...one, color: 'red' }] })).body
  const definition = { client: 'edge', listen_port: 8080, targets: [{ ...one, color: 'blue' }] }

  t.match(await app.call('PUT', `/v1/rules/${id}/definition`, definition), { status: 200 })
  t.same(await colorsOf(id), ['blue'])
  const patch = { targets: [{ ...one, color: 'green' }, two] }
  t.match(await app.call('POST', '/v1/rules/bulk', { action: 'patch', ids: [id], patch }), { status: 200 })
  t.same(await colorsOf(id), ['green', undefined])
})

t.test('a refused change restores targets with their values', async t => {
  const { app, clientId, agent, colorsOf } = await open(t)
  const { rule_id: id } = (await app.push({ targets: [{ ...one, color: 'red' }, two] })).body
  agent.close()
  await until(
    async () => app.server.control.peers.find(clientId),
    peer => peer === undefined
  )
  const { body } = await app.call('PATCH', `/v1/rules/${id}`, { targets: [{ ...two, color: 'blue' }] })
  t.match(body, { change_pending: true, targets: [{ color: 'blue' }] })

  const refusing = scriptedResponse(RulePush, () => {
    throw new Refused('denied_by_agent', 'not here')
  })
  await app.connect(clientId, { ...capable, responses: [refusing] })

  await until(
    () => app.get(id),
    ({ change_pending: isPending }) => !isPending
  )
  t.same(await colorsOf(id), ['red', undefined])
})

t.test('a client without the capability is refused before the rule is stored or changed', async t => {
  const app = await rulesFixture(t, { plugins })
  const { [color.capability.id]: _, ...others } = capable.capabilities
  await app.connect(await app.enroll(), { capabilities: others })
  const refused = {
    status: 422,
    body: { error: { code: 'rule_field_unsupported_by_client', details: { field: 'targets.color' } } }
  }

  t.match(await app.push({ targets: [{ ...one, color: 'red' }] }), refused)
  const { rule_id: id } = (await app.push()).body
  t.match(await app.call('PATCH', `/v1/rules/${id}`, { targets: [{ ...one, color: 'red' }] }), refused)
  t.match(await app.get(id), { state: 'active' })
})

t.test('a rule fails without the plugin, keeps its values, and returns with it', async t => {
  const first = await rulesFixture(t, { plugins })
  const clientId = await first.enroll()
  await first.connect(clientId, capable)
  const { rule_id: id } = (await first.push({ targets: [{ ...one, color: 'red' }] })).body
  await first.stop()

  const without = await rulesFixture(t, { dir: first.dir })
  const record = await without.get(id)
  t.match(record, { state: 'failed', state_reason: 'field_not_loaded' })
  t.notOk('color' in record.targets[0]!)
  t.match(await without.call('PATCH', `/v1/rules/${id}`, { targets: [two] }), {
    status: 422,
    body: { error: { code: 'field_not_loaded' } }
  })
  await without.stop()

  const again = await rulesFixture(t, { dir: first.dir, plugins })
  await again.connect(clientId, capable)
  const restored = await until(
    () => again.get(id),
    ({ state }) => state === 'active'
  )
  t.match(restored, { targets: [{ ...one, color: 'red' }] })
})

t.test('the API describes the property with its capability', async t => {
  const app = await rulesFixture(t, { plugins })
  const { components } = (
    await app.call<{ components: { schemas: Record<string, object> } }>('GET', '/v1/openapi.json')
  ).body
  for (const name of ['RuleCreate', 'RuleDefinition', 'RuleUpdate', 'RulePatch'])
    t.match(components.schemas[name], {
      properties: { targets: { items: { properties: { color: { 'x-requires': color.capability } } } } }
    })
  t.match(components.schemas['Target'], { properties: { color: { description: 'A color.' } } })
})
