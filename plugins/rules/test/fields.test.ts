// Rule fields that other plugins own: present, unsupported, removed, and restored.
import t from 'tap'
import { Type } from 'typebox'
import { definePlugin, type Plugin } from '../../../kernel/plugin.ts'
import note from '../../../test/third-party/note/plugin.ts'
import { capability, Idle } from '../../../test/third-party/note/wire.ts'
import { Rule } from '../entities.ts'
import { fieldUnsupported, ruleField, shapeSlot } from '../exports.ts'
import { messages, RulePush, RuleRemove } from '../wire.ts'
import { rulesFixture, until } from './fixture.ts'

const udp = definePlugin({
  name: 'datagrams',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { rules: '^1.0.0' },
  fills: [
    shapeSlot.fill({
      shape: 'udp',
      requires: { capability: { id: 'rule.udp', since: '0.4.0' }, refusal: fieldUnsupported }
    })
  ]
})
const withNote: readonly (string | Plugin)[] = ['users', 'clients', 'rules', note]
const capableAgent = { capabilities: { 'rule.note_idle': '1.0.0' }, messages: [...messages, Idle] }

t.test('a field is checked, stored, shown, listed, and sent to the client', async t => {
  const app = await rulesFixture(t, { plugins: withNote })
  const agent = await app.connect(await app.enroll(), capableAgent)

  const made = await app.push({ note_idle_secs: 90 })
  const plain = await app.push({ listen_port: 1, note_idle_secs: null })

  t.match(made, { status: 201, body: { note_idle_secs: 90 } })
  t.equal(plain.body['note_idle_secs'], null)
  t.match((await app.call('GET', '/v1/rules')).body, [{ note_idle_secs: 90 }, { note_idle_secs: null }])
  t.same((await app.call('GET', '/v1/notes')).body, [{ rule_id: made.body.rule_id, note_idle_secs: 90 }])
  const { fields } = (await agent.until(RulePush.name)).body as { fields: Record<string, Uint8Array> }
  t.same(Object.keys(fields), ['note_idle_secs'])
  t.same(app.server.depsOf('rules').codec.decode(Idle, fields['note_idle_secs']!), { secs: 90 })
})

t.test('a value that the plugin of the field refuses is not stored', async t => {
  const app = await rulesFixture(t, { plugins: [...withNote, udp] })
  await app.connect(await app.enroll(), capableAgent)

  t.match(await app.push({ note_idle_secs: 0 }), {
    status: 400,
    body: { error: { code: 'validation.schema', details: { field: '/note_idle_secs' } } }
  })
  t.match(await app.push({ note_idle_secs: 5, protocol: 'udp', client: 'nobody' }), {
    status: 400,
    body: { error: { code: 'validation.note_idle_on_udp' } }
  })
  t.same((await app.call('GET', '/v1/rules')).body, [])
})

t.test('a field or shape that the client does not support is refused before the rule is stored', async t => {
  const app = await rulesFixture(t, { plugins: [...withNote, udp] })
  await app.connect(await app.enroll('old'), { version: '0.3.0', capabilities: null })
  await app.connect(await app.enroll('outdated'), { capabilities: { 'rule.note_idle': '0.9.0' } })

  for (const client of ['old', 'outdated'])
    for (const [body, details] of [
      [{ note_idle_secs: 5 }, { field: 'note_idle_secs' }],
      [{ protocol: 'udp' }, {}]
    ])
      t.match(await app.push({ client, ...body }), {
        status: 422,
        body: { error: { code: 'rule_field_unsupported_by_client', details } }
      })
  t.same((await app.call('GET', '/v1/rules')).body, [])
})

t.test('a rule with a supported shape is sent to a client that supports it', async t => {
  const app = await rulesFixture(t, { plugins: ['users', 'clients', 'rules', udp] })
  await app.connect(await app.enroll('by-version'), { version: '0.4.0', capabilities: null })
  await app.connect(await app.enroll('by-capability'), { capabilities: { 'rule.udp': '1.0.0' } })

  for (const client of ['by-version', 'by-capability'])
    t.match(await app.push({ client, protocol: 'Udp' }), { status: 201, body: { protocol: 'udp' } })
  t.equal((await app.push({ client: 'by-capability' })).status, 201, 'TCP and UDP may use the same port')
})

t.test('a rule fails and is cut without the plugin of its field, and returns with the plugin', async t => {
  for (const { plugin, body, reason } of [
    { plugin: note, body: { note_idle_secs: 90 }, reason: 'field_not_loaded' },
    { plugin: udp, body: { protocol: 'udp' }, reason: 'rule_shape_not_loaded' }
  ]) {
    const script = { ...capableAgent, capabilities: { ...capableAgent.capabilities, 'rule.udp': '1.0.0' } }
    const first = await rulesFixture(t, { plugins: ['users', 'clients', 'rules', plugin] })
    const clientId = await first.enroll()
    await first.connect(clientId, script)
    const { rule_id: id } = (await first.push(body)).body
    await first.stop()

    await (await rulesFixture(t, { dir: first.dir })).stop()
    const without = await rulesFixture(t, { dir: first.dir }) // a second start changes nothing
    t.match(await without.get(id), { state: 'failed', state_reason: reason })
    t.same(await without.objects(clientId), [{ id, revision: 2, removal: 'cut' }])
    const inventory = [{ kind: 'rule', id, revision: 1 }]
    const agent = await without.connect(clientId, { ...script, inventory })
    t.match((await agent.until(RuleRemove.name)).body, { rule_id: id, removal: 'cut' })
    t.notOk(agent.received.some(({ name }) => name === RulePush.name))
    t.match(await without.push({ ...body, listen_port: 1 }), { status: body.protocol ? 422 : 400 })
    await without.stop()

    const again = await rulesFixture(t, { dir: first.dir, plugins: ['users', 'clients', 'rules', plugin] })
    t.match(await again.get(id), { state: 'pending', state_reason: null })
    await again.connect(clientId, script)
    await until(
      () => again.get(id),
      ({ state }) => state === 'active'
    )
    await again.stop()
  }
})

t.test('a draining rule keeps draining without the plugin of its field', async t => {
  const first = await rulesFixture(t, { plugins: withNote })
  const clientId = await first.enroll()
  await first.connect(clientId, capableAgent)
  const { rule_id: id } = (await first.push({ note_idle_secs: 90 })).body
  await first.call('DELETE', `/v1/rules/${id}`)
  await first.stop()

  const without = await rulesFixture(t, { dir: first.dir })

  t.match(await without.get(id), { state: 'draining' })
  t.match(await without.objects(clientId), [{ id, removal: 'drain' }])
})

t.test('rules of a client that was deleted while the plugin was disabled are removed', async t => {
  const first = await rulesFixture(t, { plugins: withNote })
  const clientId = await first.enroll()
  await first.connect(clientId, capableAgent)
  await first.push({ note_idle_secs: 90 })
  await first.stop()
  const without = await rulesFixture(t, { dir: first.dir, plugins: ['clients'] })
  await without.call('POST', `/v1/clients/${clientId}/revoke`)
  await without.call('DELETE', `/v1/clients/${clientId}`)
  await without.stop()

  const again = await rulesFixture(t, { dir: first.dir, plugins: ['users', 'clients', 'rules'] })

  t.same((await again.call('GET', '/v1/rules')).body, [])
})

t.test('a change of plugins does not revive a rule that failed at create', async t => {
  const first = await rulesFixture(t, { plugins: withNote })
  const clientId = await first.enroll()
  await first.connect(clientId, { ...capableAgent, react: () => ({ refuse: 'port_in_use' }) })
  const id = (await first.push({ note_idle_secs: 9 })).body.error.details['rule_id']!
  await first.stop()
  await (await rulesFixture(t, { dir: first.dir })).stop()

  const again = await rulesFixture(t, { dir: first.dir, plugins: withNote })

  t.match(await again.get(id), { state: 'failed', state_reason: 'port_in_use' })
  t.same(await again.objects(clientId), [])
})

t.test('a downgraded agent loses the rules that it does not support, until it is upgraded', async t => {
  const app = await rulesFixture(t, { plugins: withNote })
  const clientId = await app.enroll()
  const first = await app.connect(clientId, capableAgent)
  const { rule_id: id } = (await app.push({ note_idle_secs: 90 })).body
  const inventory = [{ kind: 'rule', id, revision: 1 }]
  await first.close()

  const older = await app.connect(clientId, { inventory, capabilities: {} })
  t.match((await older.until(RuleRemove.name)).body, { rule_id: id, removal: 'cut' })
  await until(
    () => app.get(id),
    ({ state_reason }) => state_reason === 'rule_field_unsupported_by_client'
  )
  t.match(app.log.find(({ event }) => event === 'rule.unsupported')?.fields, { rule: id, client: clientId })
  t.notOk(older.received.some(({ name }) => name === RulePush.name))
  await older.close()

  await app.connect(clientId, capableAgent)
  await until(
    () => app.get(id),
    ({ state }) => state === 'active'
  )
})

/** Returns a plugin with the field `mood`, which fails at the step that a test selects. */
function failingField() {
  const mood: { fails: 'load' | 'encode' | 'nowhere'; values: Map<string, number> } = {
    fails: 'nowhere',
    values: new Map()
  }
  const field = ruleField({
    key: 'mood',
    change: 'frozen',
    body: Type.Integer(),
    requires: { capability, refusal: fieldUnsupported },
    message: Idle,
    parse: value => value,
    async check() {},
    async save(id, value) {
      mood.values.set(id, value)
    },
    async load(ids) {
      if (mood.fails === 'load') throw new Error('cannot load')
      return new Map([...mood.values].filter(([id]) => ids.includes(id)))
    },
    encode(secs) {
      if (mood.fails === 'encode') throw new Error('cannot encode')
      return { secs }
    }
  })
  const plugin = definePlugin({
    name: 'mood',
    version: '1.0.0',
    kernel: '^2.0.0',
    needs: { rules: '^1.0.0' },
    fills: [field],
    messages: [Idle]
  })
  return { mood, plugin }
}

t.test('a rule with a field that cannot be encoded fails without blocking other rules', async t => {
  for (const fails of ['load', 'encode'] as const) {
    const { mood, plugin } = failingField()
    const app = await rulesFixture(t, { plugins: ['users', 'clients', 'rules', plugin] })
    const clientId = await app.enroll()
    const first = await app.connect(clientId, capableAgent)
    const { rule_id: id } = (await app.push({ mood: 1 })).body
    const plain = (await app.push({ listen_port: 1 })).body.rule_id
    await first.close()
    mood.fails = fails

    const agent = await app.connect(clientId, capableAgent)

    t.match((await agent.until(RulePush.name)).body, { rule_id: plain })
    const failed = app.push({ listen_port: 2, mood: 2 })
    t.match(await failed, {
      status: 422,
      body: { error: { code: 'activation_failed', details: { reason: 'internal' } } }
    })
    t.equal((await app.push({ listen_port: 3 })).status, 201)
    const { store } = app.server.depsOf('rules')
    t.match(await store.read(em => em.findOne(Rule, { id })), { state: 'failed', stateReason: 'internal' })
    const failures = app.log.filter(({ event, fields }) => event === 'rule.failed' && fields['rule'] === id)
    t.match(failures, [{ fields: { client: clientId, code: 'internal', error: /cannot (load|encode)/ } }])
    t.equal(failures.length, 1)
    await agent.close()

    mood.fails = 'nowhere'
    await app.connect(clientId, capableAgent)
    await until(
      () => app.get(id),
      ({ state }) => state === 'active'
    )
  }
})

t.test(
  'a rule that lost the row of its field is removed from the client, and returns with the row',
  async t => {
    const { mood, plugin } = failingField()
    const plugins = ['users', 'clients', 'rules', plugin]
    const app = await rulesFixture(t, { plugins })
    const clientId = await app.enroll()
    const first = await app.connect(clientId, capableAgent)
    const { rule_id: id } = (await app.push({ mood: 1 })).body
    await first.close()
    mood.values.clear()

    const inventory = [{ kind: 'rule', id, revision: 1 }]
    const agent = await app.connect(clientId, { ...capableAgent, inventory, digest: 'another' })

    t.match((await agent.until(RuleRemove.name)).body, { rule_id: id, removal: 'cut' })
    await until(
      () => app.get(id),
      ({ state_reason }) => state_reason === 'field_not_loaded'
    )
    t.notOk(agent.received.some(({ name }) => name === RulePush.name))
    await app.stop()

    mood.values.set(id, 1)
    const again = await rulesFixture(t, { dir: app.dir, plugins })
    await again.connect(clientId, capableAgent)
    await until(
      () => again.get(id),
      ({ state }) => state === 'active'
    )
  }
)
