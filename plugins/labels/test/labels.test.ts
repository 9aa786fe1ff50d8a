// Labels of clients, users, grants and rules: set at creation, merged by PATCH, shown, deleted with the record.
import t from 'tap'
import { codeIn, createCode, redeem } from '../../enrollment/test/fixture.ts'
import { Label } from '../entities.ts'
import { type LabelledReply, labelsFixture, refusal } from './fixture.ts'

const labels = { env: 'prod', 'example.com/tier': 'db' }

t.test('labels are set at creation and shown in reads and lists', async t => {
  const { call, push, get } = await labelsFixture(t)

  const user = await call<LabelledReply>('POST', '/v1/users', { user_id: 'ann', display_name: 'Ann', labels })
  t.match(user, { status: 201, body: { labels } })
  const grant = {
    user_id: 'ann',
    client: 'edge',
    listen_port_start: 1,
    listen_port_end: 9,
    protocols: ['tcp'],
    labels
  }
  t.match(await call('POST', '/v1/grants', grant), { status: 201, body: { labels } })
  const rule = await push({ labels })
  t.match(rule, { status: 201, body: { labels } })
  t.strictSame((await get(rule.body.rule_id))['labels'], labels)

  t.match(await call<LabelledReply[]>('GET', '/v1/users'), { body: [{ labels }] })
  t.match(await call<LabelledReply[]>('GET', '/v1/grants'), { body: [{ labels }] })
  t.match(await call<LabelledReply[]>('GET', '/v1/rules'), { body: [{ labels }] })
  t.match(await call<LabelledReply[]>('GET', '/v1/clients'), { body: [{ labels: {} }] })
})

t.test('PATCH merges labels, and null removes one or all', async t => {
  const { call, clientId } = await labelsFixture(t)
  await call('POST', '/v1/users', { user_id: 'ann', display_name: 'Ann' })
  const grant = {
    user_id: 'ann',
    client_id: '*',
    listen_port_start: 1,
    listen_port_end: 9,
    protocols: ['tcp']
  }
  const { grant_id: grantId } = (await call<{ grant_id: string }>('POST', '/v1/grants', grant)).body

  for (const url of [`/v1/clients/${clientId}`, '/v1/users/ann', `/v1/grants/${grantId}`]) {
    const patch = async (given: unknown) =>
      (await call<LabelledReply>('PATCH', url, { labels: given })).body.labels
    t.strictSame(await patch(labels), labels, url)
    t.strictSame(await patch({ env: null, zone: 'a' }), { 'example.com/tier': 'db', zone: 'a' })
    t.strictSame(await patch({ gone: null }), { 'example.com/tier': 'db', zone: 'a' })
    t.strictSame(await patch(null), {})
  }
  t.match(await call('PATCH', `/v1/grants/01K00000000000000000000000`, { labels: {} }), {
    status: 404,
    body: { error: { code: 'grant_not_found' } }
  })
  t.match(await call('PATCH', `/v1/clients/01K00000000000000000000000`, { labels: {} }), { status: 404 })
})

t.test('PATCH of a client or a grant also changes other properties', async t => {
  const { call, clientId } = await labelsFixture(t)
  await call('POST', '/v1/users', { user_id: 'ann', display_name: 'Ann' })
  const range = { client_id: '*', listen_port_start: 1, listen_port_end: 9, protocols: ['tcp'] }
  const { grant_id: id } = (
    await call<{ grant_id: string }>('POST', '/v1/grants', { user_id: 'ann', ...range })
  ).body
  await call('POST', '/v1/grants', { user_id: 'ann', ...range, note: 'second' })

  t.match(
    await call('PATCH', `/v1/clients/${clientId}`, { client_name: ' lyon ', address: 'lyon.example' }),
    {
      status: 200,
      body: { client_name: 'lyon', address: 'lyon.example', labels: {} }
    }
  )
  t.match(await call('PATCH', `/v1/clients/${clientId}`, { client_name: '' }), { status: 400 })
  t.match(await call('PATCH', `/v1/grants/${id}`, { note: 'first' }), {
    status: 200,
    body: { note: 'first' }
  })
  t.match(await call('PATCH', `/v1/grants/${id}`, { note: 'second' }), { status: 409 })
  t.match(await call('PATCH', `/v1/grants/${id}`, { listen_port_end: 10 }), { status: 400 })
})

t.test(
  'invalid labels are refused with their field and the expected format, and nothing changes',
  async t => {
    const { call, push, clientId, get } = await labelsFixture(t)
    const { body: rule } = await push({ labels })
    const definition = { client: 'edge', listen_port: 8080, targets: [{ host: '10.0.0.1', port: 80 }] }
    const many = Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`k${i}`, '']))

    for (const [given, field] of [
      [{ 'a b': 'x' }, '/labels/a b'],
      [{ '-a': 'x' }, '/labels/-a'],
      [{ '': 'x' }, '/labels/'],
      [{ 'a/b/c': 'x' }, '/labels/a~1b~1c'],
      [{ 'Example.com/a': 'x' }, '/labels/Example.com~1a'],
      [{ [`${'a'.repeat(254)}/b`]: 'x' }, `/labels/${'a'.repeat(254)}~1b`],
      [{ ['a'.repeat(64)]: 'x' }, `/labels/${'a'.repeat(64)}`],
      [{ env: 'a b' }, '/labels/env'],
      [{ env: 'a'.repeat(64) }, '/labels/env'],
      [{ env: 'a-' }, '/labels/env'],
      [{ env: 1 }, '/labels/env'],
      [['env'], '/labels'],
      [many, '/labels']
    ] as const) {
      const wrong = refusal('validation.labels', field)
      t.match(await call('PATCH', `/v1/clients/${clientId}`, { labels: given }), wrong, JSON.stringify(given))
      t.match(await call('POST', '/v1/users', { user_id: 'bo', display_name: 'Bo', labels: given }), wrong)
      t.match(await push({ listen_port: 1, labels: given }), wrong)
      t.match(
        await call('PUT', `/v1/rules/${rule.rule_id}/definition`, { ...definition, labels: given }),
        wrong
      )
      t.match(await call('POST', '/v1/client-enrollments', { name: 'lyon', labels: given }), wrong)
    }
    const most = { [`${'a'.repeat(63)}.${'b'.repeat(63)}/${'c'.repeat(63)}`]: 'd'.repeat(63), empty: '' }
    t.match(await call('PATCH', `/v1/clients/${clientId}`, { labels: most }), { body: { labels: most } })
    t.strictSame((await get(rule.rule_id))['labels'], labels)
    t.match(await call('GET', '/v1/users/bo'), { status: 404 })
  }
)

t.test('a new client has the labels of its enrollment code', async t => {
  const app = await labelsFixture(t)
  const code = await createCode(app, { name: 'lyon', labels })
  t.match(await app.call<LabelledReply[]>('GET', '/v1/client-enrollments'), {
    body: [{ client_name: 'lyon', labels }]
  })

  await redeem(app, codeIn(code), 'token')

  t.match(await app.call<LabelledReply[]>('GET', '/v1/clients?sort=client_name'), {
    body: [{ client_name: 'edge' }, { client_name: 'lyon', labels }]
  })
})

t.test('a change of rule labels sends no push, and changes the ETag', async t => {
  const { call, push, objects, clientId, get } = await labelsFixture(t)
  const { body: rule } = await push({ labels })
  const before = await objects(clientId)
  const read = await call<LabelledReply>('GET', `/v1/rules/${rule.rule_id}`)

  const put = await call('PATCH', `/v1/rules/${rule.rule_id}`, {
    labels: { env: 'dev', 'example.com/tier': null }
  })

  t.match(put, { status: 200, body: { labels: { env: 'dev' }, state: 'active' } })
  t.strictSame(await objects(clientId), before)
  const again = await call('GET', `/v1/rules/${rule.rule_id}`)
  t.not(again.headers['etag'], read.headers['etag'])
  t.equal(again.headers['etag'], put.headers['etag'])
  const late = { 'if-match': String(read.headers['etag']) }
  t.match(await call('PATCH', `/v1/rules/${rule.rule_id}`, { labels: null }, late), { status: 412 })
  t.strictSame((await get(rule.rule_id))['labels'], { env: 'dev' })
})

t.test('a whole rule without labels does not change them, and null removes them', async t => {
  const { call, push, get } = await labelsFixture(t)
  const { body: rule } = await push({ labels })
  const whole = { listen_port: 8080, targets: [{ host: '10.0.0.1', port: 80 }] }

  const definition = { client: 'edge', ...whole, targets: [{ host: '10.0.0.2', port: 80 }] }
  t.match(await call('PUT', `/v1/rules/${rule.rule_id}/definition`, definition), {
    status: 200,
    body: { labels }
  })
  t.match(await call('PUT', `/v1/rules/${rule.rule_id}/definition`, { ...definition, labels: null }), {
    status: 200
  })
  t.strictSame((await get(rule.rule_id))['labels'], {})
})

t.test('an agent without support for labels accepts a rule with labels', async t => {
  const on = await labelsFixture(t)
  const other = await on.enroll('old')
  const agent = await on.connect(other, { capabilities: {} })

  t.match(await on.push({ client: 'old', labels }), { status: 201, body: { state: 'active', labels } })
  t.strictSame(
    Object.keys((agent.received.at(-1)?.body as { fields?: object } | undefined)?.fields ?? { none: 1 }),
    []
  )
})

t.test('only callers that can change a record can label it', async t => {
  const { call, push, user, clientId } = await labelsFixture(t)
  const ann = await user('ann')
  const { body: rule } = await push()

  for (const [method, url] of [
    ['PATCH', `/v1/rules/${rule.rule_id}`],
    ['PATCH', `/v1/clients/${clientId}`],
    ['PATCH', '/v1/users/ann']
  ] as const)
    t.match(await call(method, url, { labels }, ann), { status: 403 }, url)
})

t.test('labels are deleted with their record, and a later user of that name inherits none', async t => {
  const { call, push, server, clock, stop, restart, clientId } = await labelsFixture(t)
  const { store } = server.depsOf('labels')
  const count = () => store.read(em => em.count(Label, {}))
  await call('POST', '/v1/users', { user_id: 'ann', display_name: 'Ann', labels })
  const grant = {
    user_id: 'ann',
    client_id: '*',
    listen_port_start: 1,
    listen_port_end: 9,
    protocols: ['tcp']
  }
  await call('POST', '/v1/grants', { ...grant, labels })
  await push({ labels })
  await call('PATCH', `/v1/clients/${clientId}`, { labels })
  t.equal(await count(), 8)

  await call('DELETE', '/v1/users/ann')
  t.equal(await count(), 4)
  await call('POST', `/v1/clients/${clientId}/revoke`)
  await call('DELETE', `/v1/clients/${clientId}`)
  t.equal(await count(), 0)

  // As if the user was deleted and created again while the plugin was disabled.
  await call('POST', '/v1/users', { user_id: 'bo', display_name: 'Bo', labels })
  clock.advance(1000)
  await store.change(em => em.execute(`update kernel_user set created_at = ${clock.now()} where id = 'bo'`))
  await stop()
  await restart()
  t.match(await call('GET', '/v1/users/bo'), { body: { labels: {} } })
})
