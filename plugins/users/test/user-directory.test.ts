import t from 'tap'
import { cookieOf, password, refusal, signIn, usersFixture } from './fixture.ts'

const ann = { user_id: 'ann', display_name: 'Ann' }

t.test('a created user has every field of its row', async t => {
  const { ask, decisions } = await usersFixture(t)

  const { status, body } = await ask('POST', '', { ...ann, display_name: ' Ann ' })

  t.equal(status, 201)
  t.strictSame(body, {
    user_id: 'ann',
    display_name: 'Ann',
    role: 'user',
    disabled: false,
    role_source: null,
    kind: 'user',
    created_at: '2026-01-15T12:00:00.000Z',
    password_change_required: false,
    credential_count: 0,
    rule_count: 0
  })
  t.strictSame((await ask('GET', '/ann')).body, body)
  t.strictSame((await ask('GET', '')).body, [body])
  t.match(decisions, [{ action: 'user.create', resourceKind: 'user', resourceId: 'ann', status: 201 }])
})

t.test('an invalid new user is refused', async t => {
  const { ask, user } = await usersFixture(t)
  await user('root', 'superadmin')
  const cases: readonly (readonly [object, number, string])[] = [
    [{ user_id: 'Ann' }, 422, 'invalid_user_id'],
    [{ user_id: '_ann' }, 422, 'reserved_user_id'],
    [{ user_id: 'me' }, 422, 'reserved_user_id'],
    [{ display_name: '' }, 422, 'invalid_display_name'],
    [{ role: 'admin' }, 422, 'invalid_role'],
    [{ role: 7 }, 422, 'invalid_role'],
    [{ initial_password: 'short' }, 422, 'password_too_short'],
    [{ password_change_required: true }, 422, 'initial_password_required'],
    [{ user_id: 'root' }, 409, 'user_already_exists'],
    [{ user_id: undefined }, 400, 'validation.schema'],
    [{ displayname: 'Ann' }, 400, 'validation.unknown_field']
  ]

  for (const [body, status, code] of cases)
    t.match(await ask('POST', '', { ...ann, ...body }), refusal(status, code), JSON.stringify(body))
  t.match(await ask('POST', '', { ...ann, password_change_required: false }), { status: 201 })
})

t.test('an initial password opens a session, which is limited if the password must be changed', async t => {
  const app = await usersFixture(t)
  const { user } = app
  await user('root', 'superadmin', { initial_password: password })
  await user('ann', 'user', { initial_password: password, password_change_required: true })

  t.match(await signIn(app, 'root'), { status: 200, body: { password_change_required: false } })
  t.match(await signIn(app, 'ann'), { status: 200, body: { password_change_required: true } })
  t.match((await app.ask('GET', '/ann')).body, { password_change_required: true, credential_count: 1 })
})

t.test('a refused creation leaves no password behind', async t => {
  const app = await usersFixture(t)
  await app.user('root', 'superadmin')
  const before = await app.ask('GET', '/root')

  const again = { ...ann, user_id: 'root', initial_password: password }
  t.match(await app.ask('POST', '', again), refusal(409, 'user_already_exists'))

  t.match(await signIn(app, 'root'), refusal(401, 'invalid_login'))
  t.strictSame((await app.ask('GET', '/root')).body, before.body)
})

t.test('fields of plugins that are not loaded are neither shown nor accepted', async t => {
  const { ask, server } = await usersFixture(t, { plugins: ['users'] })

  t.match(
    await ask('POST', '', { ...ann, initial_password: password }),
    refusal(400, 'validation.unknown_field')
  )
  t.strictSame(Object.keys((await ask('POST', '', ann)).body), [
    'user_id',
    'display_name',
    'role',
    'disabled',
    'role_source',
    'kind',
    'created_at'
  ])
  t.notMatch(JSON.stringify(server.depsOf('users').document()), /credential_count|initial_password/)
  t.strictSame((await ask('DELETE', '/ann')).body, { user_id: 'ann' })
})

t.test('the list has pages, with each user once', async t => {
  const { ask, user } = await usersFixture(t)
  for (const userId of ['cyd', 'ann', 'bob']) await user(userId)

  const first = await ask('GET', '?limit=2')

  t.match(first.body, [{ user_id: 'ann', credential_count: 1 }, { user_id: 'bob' }])
  const [, next = ''] = /<\/v1\/users([^>]+)>/.exec(String(first.headers['link'])) ?? []
  t.match((await ask('GET', next)).body, [{ user_id: 'cyd' }])
})

t.test(
  'users read themselves, superadmins read all; ownership is checked before the user is looked up',
  async t => {
    const { ask, user } = await usersFixture(t)
    const root = await user('root', 'superadmin')
    const bob = await user('bob')

    t.match(await ask('GET', '/bob', undefined, bob), { status: 200, body: { user_id: 'bob' } })
    t.match(await ask('GET', '/root', undefined, bob), refusal(403, 'not_owner'))
    t.match(await ask('GET', '/nobody', undefined, bob), refusal(403, 'not_owner'))
    t.match(await ask('GET', '/nobody', undefined, root), refusal(404, 'user_not_found'))
    t.match(await ask('GET', '/_operator'), refusal(404, 'user_not_found'))
  }
)

t.test('only superadmins list, create, change and delete', async t => {
  const { ask, user } = await usersFixture(t)
  await user('root', 'superadmin')
  const bob = await user('bob')

  for (const [method, path, body] of [
    ['GET', '', undefined],
    ['POST', '', ann],
    ['PATCH', '/bob', { display_name: 'Bob' }],
    ['DELETE', '/bob', undefined],
    ['DELETE', '/nobody', undefined]
  ] as const)
    t.match(await ask(method, path, body, bob), refusal(403, 'role_required'), `${method} ${path}`)
})

t.test('an update changes name, role and state; absent fields keep their values', async t => {
  const { ask, user } = await usersFixture(t)
  await user('root', 'superadmin')
  await user('ann')

  t.match(await ask('PATCH', '/ann', { display_name: 'Ann B' }), {
    status: 200,
    body: { display_name: 'Ann B' }
  })
  t.match((await ask('PATCH', '/ann', { role: 'superadmin' })).body, {
    display_name: 'Ann B',
    role: 'superadmin'
  })
  t.match((await ask('PATCH', '/ann', {})).body, { role: 'superadmin', disabled: false })
  t.match((await ask('GET', '/ann')).body, { display_name: 'Ann B', role: 'superadmin', credential_count: 1 })
  t.match(await ask('PATCH', '/ann', { role: 'god' }), {
    status: 422,
    body: { error: { code: 'invalid_role', message: /one of superadmin, operator, viewer, user/ } }
  })
  t.match(await ask('PATCH', '/ann', { display_name: '\u001b' }), refusal(422, 'invalid_display_name'))
  t.match(await ask('PATCH', '/ann', { user_id: 'bob' }), refusal(400, 'validation.unknown_field'))
  t.match(await ask('PATCH', '/nobody', { role: 'user' }), refusal(404, 'user_not_found'))
  t.match(await ask('PATCH', '/nobody', { display_name: '' }), refusal(422, 'invalid_display_name'))
  t.match(await ask('PATCH', '/_operator', { role: 'user' }), refusal(404, 'user_not_found'))
})

t.test('disabling a user ends the sessions and refuses bearer tokens until the user is enabled', async t => {
  const app = await usersFixture(t)
  const { ask, user } = app
  await user('root', 'superadmin')
  const bearer = await user('ann', 'user', { initial_password: password })
  const session = { authorization: '', cookie: cookieOf(await signIn(app, 'ann')) }

  t.match(await ask('PATCH', '/ann', { disabled: true }), { status: 200, body: { disabled: true } })

  t.match(await ask('GET', '/me', undefined, bearer), refusal(401, 'user_disabled'))
  t.match(await ask('GET', '/me', undefined, session), refusal(401, 'unauthenticated'))
  t.match(await signIn(app, 'ann'), refusal(401, 'user_disabled'))
  await ask('PATCH', '/ann', { disabled: false })
  t.match(await ask('GET', '/me', undefined, bearer), { status: 200 })
  t.match(await ask('GET', '/me', undefined, session), refusal(401, 'unauthenticated'))
})

t.test('the last enabled superadmin cannot be removed; disabled ones do not count', async t => {
  const { ask, user } = await usersFixture(t)
  await user('root', 'superadmin')
  await user('eve', 'superadmin')
  await ask('PATCH', '/eve', { disabled: true })

  t.match(await ask('PATCH', '/root', { role: 'user' }), refusal(409, 'last_superadmin'))
  t.match(await ask('PATCH', '/root', { disabled: true }), refusal(409, 'last_superadmin'))
  t.match(await ask('DELETE', '/root'), refusal(409, 'last_superadmin'))
  t.match(await ask('PATCH', '/eve', { role: 'user' }), { status: 200 })
  t.match(await ask('PATCH', '/root', { display_name: 'Root', role: 'superadmin' }), { status: 200 })
})

t.test('users cannot demote, disable or delete themselves', async t => {
  const { ask, user } = await usersFixture(t)
  await user('eve', 'superadmin')
  const root = await user('root', 'superadmin')

  t.match(await ask('PATCH', '/root', { role: 'user' }, root), refusal(409, 'cannot_remove_self'))
  t.match(await ask('PATCH', '/root', { disabled: true }, root), refusal(409, 'cannot_remove_self'))
  t.match(await ask('DELETE', '/root', undefined, root), refusal(409, 'cannot_remove_self'))
  t.match(await ask('PATCH', '/root', { display_name: 'Root' }, root), { status: 200 })
})

t.test('only one of two superadmins who demote each other at once succeeds', async t => {
  const { ask, user } = await usersFixture(t)
  const root = await user('root', 'superadmin')
  const eve = await user('eve', 'superadmin')

  const replies = await Promise.all([
    ask('PATCH', '/eve', { role: 'user' }, root),
    ask('PATCH', '/root', { role: 'user' }, eve)
  ])

  t.same(replies.map(({ status }) => status).sort(), [200, 403])
  t.match(
    replies.find(({ status }) => status === 403),
    refusal(403, 'role_required'),
    'the second is no longer a superadmin'
  )
})

t.test('a repeated Idempotency-Key returns the user and creates no second one', async t => {
  const { call } = await usersFixture(t)
  const create = (body: object) => call('POST', '/v1/users', body, { 'idempotency-key': 'one' })

  const first = await create(ann)
  const second = await create(ann)

  t.equal(first.status, 201)
  t.strictSame([second.status, second.body], [201, first.body])
})
