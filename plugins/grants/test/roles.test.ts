// Rules of operators and viewers, and what an operator cannot reach.
import t from 'tap'
import { rule, until } from '../../rules/test/fixture.ts'
import { type GrantsFixture, grantsFixture, lastSentTargets, refusal } from './fixture.ts'

const all = ['users', 'clients', 'rules', 'grants', 'cli', 'apply', 'credentials', 'auth']

/** Returns the headers of a user who has this role. */
async function userWith(app: GrantsFixture, user_id: string, role: string) {
  const headers = await app.user(user_id)
  const { status } = await app.call('PATCH', `/v1/users/${user_id}`, { role })
  t.equal(status, 200)
  return headers
}

t.test('an operator places rules for everybody without a grant, and a viewer places none', async t => {
  const app = await grantsFixture(t)
  const operator = await userWith(app, 'opal', 'operator')
  const viewer = await userWith(app, 'vic', 'viewer')
  const as = (headers: object, method: 'POST' | 'GET' | 'PATCH' | 'DELETE', path: string, body?: object) =>
    app.call<{ rule_id: string }>(method, path, body, headers as Record<string, string>)

  const placed = await as(operator, 'POST', '/v1/rules', { ...rule, owner: 'ada' })
  t.match(placed, { status: 201, body: { owner: 'ada', placed_by: 'opal', state: 'active' } })
  const path = `/v1/rules/${placed.body.rule_id}`
  t.match(await as(viewer, 'GET', path), { status: 200, body: { owner: 'ada' } })
  t.match(await as(viewer, 'GET', '/v1/rules?owner=ada'), { status: 200, body: [{ owner: 'ada' }] })
  t.match(
    await as(viewer, 'POST', '/v1/rules', { ...rule, listen_port: 8081 }),
    refusal(403, 'role_required')
  )
  t.match(await as(viewer, 'PATCH', path, { paused: true }), refusal(403, 'role_required'))
  t.match(await as(viewer, 'DELETE', path), refusal(403, 'role_required'))
  t.equal((await as(operator, 'DELETE', path)).status, 204)
})

t.test('an operator cannot say that somebody with equal or more rights placed a rule', async t => {
  const app = await grantsFixture(t)
  const operator = await userWith(app, 'opal', 'operator')
  await userWith(app, 'otto', 'operator')
  const push = (body: object) => app.call('POST', '/v1/rules', { ...rule, ...body }, operator)

  for (const placed_by of ['root', 'otto', '_operator'])
    t.match(await push({ placed_by }), refusal(403, 'not_owner'), placed_by)
  await app.grant()
  t.match(await push({ owner: 'ada', placed_by: 'ada' }), { status: 201 })

  const ofRoot = await app.push({ placed_by: 'root', listen_port: 8090 })
  t.equal(ofRoot.status, 201)
  const same = { ...rule, listen_port: 8090, owner: '_operator', targets: [{ host: '10.0.0.3', port: 80 }] }
  const replace = (placed_by: string) =>
    app.call('PUT', `/v1/rules/${ofRoot.body.rule_id}/definition`, { ...same, placed_by }, operator)
  t.match(await replace('otto'), refusal(403, 'not_owner'))
  t.match(await replace('root'), { status: 200, body: { placed_by: 'root' } }, 'as it was')
})

t.test('grants limit the rules of a former operator', async t => {
  const app = await grantsFixture(t)
  const operator = await userWith(app, 'opal', 'operator')
  await app.grant({ targets: ['10.9.0.0/16'] })
  const { rule_id: id } = (
    await app.call<{ rule_id: string }>('POST', '/v1/rules', { ...rule, owner: 'ada' }, operator)
  ).body
  t.equal(lastSentTargets(app, id), null)

  await app.call('PATCH', '/v1/users/opal', { role: 'viewer' })

  await until(
    async () => lastSentTargets(app, id),
    sent => sent !== null
  )
  t.same(lastSentTargets(app, id), [{ cidr: '10.9.0.0/16' }])
  t.match(
    await app.call('DELETE', `/v1/rules/${id}`, undefined, operator),
    refusal(403, 'role_required'),
    'and a token with the old role changes nothing more'
  )
})

t.test('an operator reaches no power of a superadmin', async t => {
  const app = await grantsFixture(t, { plugins: all })
  const operator = await userWith(app, 'opal', 'operator')
  const password = { new_password: 'a password of the operator', temporary: false }
  const writes: readonly (readonly ['POST' | 'PATCH' | 'DELETE', string, object | undefined, string])[] = [
    ['PATCH', '/v1/users/opal', { role: 'superadmin' }, 'role_required'],
    ['PATCH', '/v1/users/root', { disabled: true }, 'role_required'],
    ['POST', '/v1/users', { user_id: 'eve', display_name: 'Eve', role: 'superadmin' }, 'role_required'],
    ['DELETE', '/v1/users/root', undefined, 'role_required'],
    ['POST', '/v1/users/root/password', password, 'role_required'],
    ['POST', '/v1/users/root/credentials', {}, 'not_owner'],
    ['POST', '/v1/users/ada/credentials', {}, 'not_owner'],
    ['POST', '/v1/grants', { user_id: 'opal', client_id: '*', protocols: ['tcp'] }, 'role_required']
  ]

  for (const [method, path, body, code] of writes)
    t.match(await app.call(method, path, body, operator), refusal(403, code), `${method} ${path}`)

  const { body } = await app.call<{ credential_id: string }[]>('GET', '/v1/users/root/credentials')
  for (const { credential_id: id } of body)
    for (const [method, path] of [['DELETE', id] as const, ['POST', `${id}/rotate`] as const])
      t.match(
        await app.call(method, `/v1/users/root/credentials/${path}`, undefined, operator),
        refusal(403, 'not_owner')
      )
  t.match(await app.call('GET', '/v1/users/root/credentials', undefined, operator), { status: 200 })
})

t.test('operators and superadmins share one lease to apply documents, and viewers get none', async t => {
  const app = await grantsFixture(t, { plugins: all })
  const operator = await userWith(app, 'opal', 'operator')
  const viewer = await userWith(app, 'vic', 'viewer')
  const begin = (headers?: Record<string, string>) => app.call('POST', '/v1/apply-leases', undefined, headers)

  t.equal((await begin(operator)).status, 201)
  t.match(await begin(), refusal(409, 'apply_in_progress'))
  t.match(await begin(viewer), refusal(403, 'role_required'))
  t.equal((await app.call('POST', '/v1/apply-checks', {}, viewer)).status, 200)
})
