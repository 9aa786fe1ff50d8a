// Names and descriptions of rules.
import t from 'tap'
import type { Reply } from '../../../kit/test-server.ts'
import { capability as udp } from '../../udp/wire.ts'
import type { RuleRecord } from '../api/rule-record.ts'
import { Rule } from '../entities.ts'
import { RulePush } from '../wire.ts'
import { type ErrorReply, inOrder, type RulesFixture, rulesFixture, until } from './fixture.ts'
import { editable } from './patch-fixture.ts'

type Answer = Reply<RuleRecord & ErrorReply>

async function namesFixture(t: Parameters<typeof rulesFixture>[0]) {
  const app = await rulesFixture(t, {
    plugins: ['users', 'clients', 'rules', 'multi-target', 'port-range', 'udp']
  })
  const clientId = await app.enroll()
  const agent = await app.connect(clientId, {
    capabilities: { ...editable.capabilities, [udp.id]: udp.since }
  })
  const patch = (id: string, body: object): Promise<Answer> => app.call('PATCH', `/v1/rules/${id}`, body)
  return { ...app, clientId, agent, patch }
}

const taken = (rule_id: string) => ({
  status: 409,
  body: { error: { code: 'rule_name_taken', details: { field: '/name', rule_id } } }
})

const listIds = async ({ call }: RulesFixture, query: string): Promise<string[]> =>
  (await call<RuleRecord[]>('GET', `/v1/rules?${query}`)).body.map(({ rule_id }) => rule_id)

t.test('create, PATCH, PUT of a definition and reads have name and description', async t => {
  const { push, patch, get, call } = await namesFixture(t)

  const created = await push({ name: 'web', description: 'the shop' })
  t.match(created, { status: 201, body: { name: 'web', description: 'the shop' } })
  const { rule_id: id } = created.body
  t.match(await push({ listen_port: 8081 }), { body: { name: null, description: null } })

  t.match(await patch(id, { name: 'shop', description: null }), {
    status: 200,
    body: { name: 'shop', description: null }
  })
  const definition = { client: 'edge', listen_port: 8080, targets: [{ host: '10.0.0.1', port: 80 }] }
  const put = (more: object) => call('PUT', `/v1/rules/${id}/definition`, { ...definition, ...more })
  t.match(await put({}), { status: 200, body: { name: 'shop' } }, 'a definition without a name keeps it')
  t.match(await put({ name: 'store', description: '' }), { body: { name: 'store', description: null } })
  t.match(await put({ name: null }), { status: 200, body: { name: null } })
  t.match(await get(id), { name: null })
})

t.test('a change of name or description sends nothing to the agent, and changes the ETag', async t => {
  const { push, patch, objects, clientId, agent } = await namesFixture(t)
  const { body: rule } = await push()
  const before = await objects(clientId)
  const received = agent.received.length

  const { body } = await patch(rule.rule_id, { name: 'web', description: 'the shop' })

  t.not(body.etag, rule.etag)
  t.strictSame(await objects(clientId), before)
  t.equal(agent.received.length, received)
})

t.test('an offline client and an agent without rule.update do not prevent a new name', async t => {
  const { push, patch, agent } = await namesFixture(t)
  const { body: rule } = await push()
  await agent.close()

  t.match(await patch(rule.rule_id, { name: 'web' }), { status: 200, body: { name: 'web' } })
})

t.test('an invalid name is refused with the rule for names, and nothing is stored', async t => {
  const { push, patch } = await namesFixture(t)
  const { body: rule } = await push()

  for (const name of ['', 'Web', 'a b', '-a', 'a-', 'a_b', 'a.b', 'ä', 'a'.repeat(64), 7]) {
    const refused = {
      status: 400,
      body: { error: { code: 'validation.rule_name', details: { field: '/name' } } }
    }
    t.match(await patch(rule.rule_id, { name }), refused, JSON.stringify(name))
    t.match(await push({ listen_port: 1, name }), refused)
  }
  const { body } = await patch(rule.rule_id, { name: 'Web' })
  t.match(body.error.message, /1 to 63 of a-z, 0-9 and -.* got "Web"/)
  for (const name of ['a', '8', 'a-8', 'a'.repeat(63)])
    t.match(await patch(rule.rule_id, { name }), { status: 200, body: { name } })
})

t.test('an invalid description is refused with the limit that it breaks', async t => {
  const { push, patch } = await namesFixture(t)
  const { body: rule } = await push()

  for (const [description, message] of [
    ['a\nb', /line breaks or other control characters/],
    ['a\u202eb', /control characters/],
    ['ä'.repeat(128), /256 bytes; the maximum is 255/],
    ['a'.repeat(256), /255/]
  ] as const) {
    const { status, body } = await patch(rule.rule_id, { description })
    t.equal(status, 400)
    t.match(body.error, { code: 'validation.description', message, details: { field: '/description' } })
  }
  t.match(await patch(rule.rule_id, { description: 'ä'.repeat(127) }), { status: 200 })
})

t.test('a name is unique among the rules of an owner on a client', async t => {
  const app = await namesFixture(t)
  const { push, patch, enroll, connect, user } = app
  const { body: web } = await push({ name: 'web' })

  t.match(await push({ listen_port: 8081, name: 'web' }), taken(web.rule_id))
  const { body: other } = await push({ listen_port: 8081, name: 'other' })
  t.match(await patch(other.rule_id, { name: 'web' }), taken(web.rule_id))
  t.match(await patch(web.rule_id, { name: 'web' }), { status: 200 }, 'its own name is no conflict')
  const { body } = await patch(other.rule_id, { name: 'web' })
  t.match(body.error.message, new RegExp(`rule ${web.rule_id} of _operator on client edge has the name web`))

  await user('ann')
  t.match(await push({ listen_port: 8082, name: 'web', owner: 'ann' }), { status: 201 })
  await connect(await enroll('lyon'))
  t.match(await push({ client: 'lyon', name: 'web' }), { status: 201 })
  t.equal((await listIds(app, 'name=web')).length, 3)
})

t.test('the store itself refuses a second rule with the name', async t => {
  const { push, server } = await namesFixture(t)
  const { store } = server.depsOf('rules')
  await push({ name: 'web' })
  const { body: other } = await push({ listen_port: 8081 })

  await t.rejects(store.change(em => em.nativeUpdate(Rule, { id: other.rule_id }, { name: 'web' })))
})

t.test('of two creates with one name at the same time, one is refused', async t => {
  const { push } = await namesFixture(t)

  const replies = await Promise.all([1, 2, 3, 4].map(port => push({ listen_port: port, name: 'web' })))

  t.strictSame(replies.map(({ status }) => status).sort(), [201, 409, 409, 409])
})

t.test('a rule that was removed frees its name, even while its connections drain', async t => {
  const { push, call, get } = await namesFixture(t)
  const { body: web } = await push({ name: 'web' })

  t.match(await call('DELETE', `/v1/rules/${web.rule_id}`), { status: 204 })
  t.match(await get(web.rule_id), { state: 'draining', name: 'web' })
  t.match(await push({ listen_port: 8081, name: 'web' }), { status: 201 })
})

t.test('a refused change restores the name, unless another rule has taken it', async t => {
  const { enroll, connect, push, call, get } = await rulesFixture(t)
  const clientId = await enroll()
  const held = Promise.withResolvers<{ refuse: string }>()
  const react = inOrder({ refuse: 'port_in_use' }, 'accept', held.promise, 'accept')
  let id = ''
  const agent = await connect(clientId, {
    ...editable,
    react: ({ body }) => (body['rule_id'] === id ? react() : 'accept')
  })
  const { body: other } = await push({ listen_port: 1 })
  id = (await push({ name: 'old' })).body.rule_id

  const change = (body: object) => call('PATCH', `/v1/rules/${id}`, body)
  t.match(await change({ name: 'new', listen_port: 9000 }), { status: 409 })
  t.match(await get(id), { name: 'old', listen_port: 8080 })

  const changing = change({ name: 'new', listen_port: 9000 })
  await agent.until(RulePush.name, 5)
  t.match(await call('PATCH', `/v1/rules/${other.rule_id}`, { name: 'old' }), { status: 200 })
  held.resolve({ refuse: 'port_in_use' })
  t.match(await changing, { status: 409 })
  t.match(await get(id), { name: 'new', listen_port: 8080 })
})

t.test('a failed rule that is pushed again with another name is tried again', async t => {
  const { enroll, connect, push, call, get } = await rulesFixture(t)
  await connect(await enroll(), { ...editable, react: inOrder({ refuse: 'port_in_use' }, 'accept') })
  const { rule_id: id } = (await push({ name: 'old' })).body.error.details
  const definition = { client: 'edge', listen_port: 8080, targets: [{ host: '10.0.0.1', port: 80 }] }

  t.match(await call('PUT', `/v1/rules/${id}/definition`, { ...definition, name: 'new' }), { status: 200 })
  t.match(await get(String(id)), { name: 'new', state: 'active' })
})

t.test('name= and port= filter the list, also together with other filters', async t => {
  const app = await namesFixture(t)
  const { push, call } = app
  const { body: web } = await push({ name: 'web' })
  const { body: udp } = await push({ protocol: 'udp' })
  const { body: range } = await push({ listen_port: 9000, listen_port_end: 9010, name: 'range' })

  t.strictSame(await listIds(app, 'name=web'), [web.rule_id])
  t.strictSame(await listIds(app, 'port=8080'), [web.rule_id, udp.rule_id])
  t.strictSame(await listIds(app, 'port=9005&client=edge'), [range.rule_id])
  t.strictSame(await listIds(app, 'port=8080&name=web&owner=_operator'), [web.rule_id])
  t.strictSame(await listIds(app, 'name=nope'), [])
  t.match(await call('GET', '/v1/rules?port=0'), { status: 400 })
})

t.test('errors, decisions and events have the name beside the id', async t => {
  const app = await namesFixture(t)
  const { push, call, decisions, log } = app
  const { body: web } = await push({ name: 'web' })
  const named = { rule_id: web.rule_id, rule_name: 'web' }

  t.match(await push(), { status: 409, body: { error: { code: 'port_in_use', details: named } } })
  t.match((await push()).body.error.message, new RegExp(`rule web \\(${web.rule_id}\\) has tcp port 8080`))
  const bulk = { ids: [web.rule_id], action: 'patch', patch: { listen_port: 1 }, atomic: true }
  const { body: second } = await push({ listen_port: 1 })
  t.match(await call('POST', '/v1/rules/bulk', bulk), {
    body: { error: { code: 'port_in_use', details: named } }
  })
  const each = { ids: [web.rule_id, second.rule_id], action: 'patch', patch: { listen_port: 1 } }
  const { body: many } = await call<{ results: object[] }>('POST', '/v1/rules/bulk', each)
  t.match(many.results[0], { ...named, status: 409, error: { code: 'port_in_use' } })
  t.notOk('rule_name' in (many.results[1] ?? {}))
  t.notOk('rule_name' in (await push({ listen_port: 1 })).body.error.details, 'a rule without a name')
  await call('DELETE', `/v1/rules/${web.rule_id}`)

  const about = decisions.filter(({ resourceId, status }) => resourceId === web.rule_id && status !== null)
  t.match(about, [
    { action: 'rule.create', resourceName: 'web' },
    { action: 'rule.delete', resourceName: 'web' }
  ])
  const events = await until(
    async () => log.filter(({ fields }) => fields['rule'] === web.rule_id),
    lines => lines.some(({ event }) => event === 'rule.draining')
  )
  for (const { event, fields } of events) t.equal(fields['rule_name'], 'web', event)
})

t.test('journal, explanations and audit log have the name of the rule', async t => {
  const app = await rulesFixture(t, {
    plugins: ['users', 'clients', 'rules', 'journal', 'explain', 'audit', 'credentials']
  })
  const { push, call } = app
  await app.connect(await app.enroll())
  const { body: web } = await push({ name: 'web' })
  const { body: other } = await push({ listen_port: 8081 })

  const [entry] = (await call<object[]>('GET', `/v1/rules/${web.rule_id}/journal`)).body
  t.match(entry, { kind: 'state', rule_name: 'web' })
  const explain = (port: number) => call('POST', '/v1/explain', { client: 'edge', port, protocol: 'tcp' })
  const steps = (await explain(8080)).body['steps'] as unknown as object[]
  t.match(steps[1], { kind: 'rule', id: web.rule_id, rule_name: 'web' })
  t.notMatch((await explain(8081)).text, /rule_name/)

  await call('DELETE', `/v1/rules/${web.rule_id}`)
  await call('DELETE', `/v1/rules/${other.rule_id}`)
  const log = (await call<{ action: string }[]>('GET', '/v1/audit')).body
  t.match(
    log.filter(({ action }) => action !== 'rule.explain'),
    [
      { action: 'rule.delete', resource_id: other.rule_id, rule_name: null },
      { action: 'rule.delete', resource_id: web.rule_id, rule_name: 'web' },
      { action: 'rule.create', resource_id: other.rule_id, rule_name: null },
      { action: 'rule.create', resource_id: web.rule_id, rule_name: 'web' }
    ]
  )
})
