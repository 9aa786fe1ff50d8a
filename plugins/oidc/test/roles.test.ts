// The groups of a user at the provider give the role.
import t, { type Test } from 'tap'
import { addUser, origin } from '../../auth/test/fixture.ts'
import { oidcServer, openBrowser } from './fixture.ts'

interface UserRow {
  readonly role: string
  readonly role_source: string | null
}

const roles = { admins: 'superadmin', ops: 'operator', 'cn=staff,dc=corp': 'viewer' }

async function open(t: Test, more: object = {}) {
  const { app, provider } = await oidcServer(t, { make_users: true, roles, ...more })
  const browser = openBrowser(app)
  const signIn = (groups: unknown, sub = 'subject-1', name = 'ann') => {
    provider.claims = { preferred_username: name, sub, groups }
    return browser.signIn(provider)
  }
  const roleOf = async (user = 'ann') => {
    const { role, role_source: source } = (await app.call<UserRow>('GET', `/v1/users/${user}`)).body
    return [role, source]
  }
  return { app, provider, browser, signIn, roleOf }
}

t.test('at each sign-in the role is the highest of the groups', async t => {
  const { app, browser, signIn, roleOf } = await open(t)
  const source = 'oidc:corp'
  for (const [groups, role] of [
    [['other'], ['user', null]],
    [['cn=staff,dc=corp'], ['viewer', source]],
    [
      ['cn=staff,dc=corp', 'admins', 'ops'],
      ['superadmin', source]
    ],
    [['ops'], ['operator', source]],
    [['ops'], ['operator', source]],
    ['admins', ['superadmin', source]],
    [[], ['user', null]],
    [
      ['__proto__', 'constructor', 'OPS'],
      ['user', null]
    ]
  ] as const) {
    t.equal(await signIn(groups), `${origin}/`)
    t.same(await roleOf(), role, JSON.stringify(groups))
  }
  t.match((await browser.send('GET', '/v1/users/me')).body, { role: 'user' })
  t.match(
    app.decisions
      .filter(({ action }) => action === 'user.update')
      .map(({ actor, changes }) => [actor, changes]),
    [
      ['_oidc', [{ field: 'role', from: 'user', to: 'viewer' }]],
      ['_oidc', [{ field: 'role', from: 'viewer', to: 'superadmin' }]],
      ['_oidc', [{ field: 'role', from: 'superadmin', to: 'operator' }]],
      ['_oidc', [{ field: 'role', from: 'operator', to: 'superadmin' }]],
      ['_oidc', [{ field: 'role', from: 'superadmin', to: 'user' }]]
    ]
  )
})

t.test('without the claim the sign-in fails, and nothing changes', async t => {
  const { app, signIn, roleOf } = await open(t)
  await signIn(['ops'])
  const before = app.decisions.length
  for (const groups of [undefined, null, 7, { ops: true }, ['ops', 7]])
    t.equal(await signIn(groups), '/#error=oidc_groups_missing', JSON.stringify(groups))
  t.same(await roleOf(), ['operator', 'oidc:corp'])
  t.same(
    app.decisions.slice(before).filter(({ outcome }) => outcome === 'allow'),
    []
  )
})

t.test('who leaves the allowed groups loses the role at the refused sign-in', async t => {
  const { app, signIn, roleOf } = await open(t, { allowed_groups: ['staff'] })
  t.equal(await signIn(['staff', 'admins']), `${origin}/`)
  t.same(await roleOf(), ['superadmin', 'oidc:corp'])
  t.equal(await signIn(['guests']), '/#error=oidc_not_allowed')
  t.same(await roleOf(), ['user', null])
  t.match(
    app.decisions.findLast(({ action }) => action === 'oidc.finish'),
    { status: 401, reason: 'oidc_not_allowed', outcome: 'deny', resourceId: 'ann' }
  )
})

t.test('a role that was given by hand stays', async t => {
  const { app, signIn, roleOf } = await open(t)
  await addUser(app, 'bob', 'operator')
  await app.call('POST', '/v1/users/bob/identities', { provider: 'corp', sub: 'subject-2' })
  for (const groups of [['admins'], [], ['cn=staff,dc=corp']]) {
    t.equal(await signIn(groups, 'subject-2', 'bob'), `${origin}/`)
    t.same(await roleOf('bob'), ['operator', null])
  }
})

t.test('nobody changes a role of a provider by hand, and other fields are free', async t => {
  const { app, signIn, roleOf } = await open(t)
  await signIn(['ops'])
  const change = (body: object) => app.call('PATCH', '/v1/users/ann', body)
  t.match(await change({ role: 'user' }), { status: 409, body: { error: { code: 'managed_by_provider' } } })
  t.equal((await change({ role: 'operator', display_name: 'Ann' })).status, 200)
  t.same(await roleOf(), ['operator', 'oidc:corp'])
})

t.test('the role stays when the provider leaves, and may then be changed by hand', async t => {
  const { app, signIn, roleOf } = await open(t)
  await signIn(['ops'])
  Object.assign(app.server.depsOf('oidc').config, { providers: {} }) // as a reload does
  t.same(await roleOf(), ['operator', 'oidc:corp'])
  t.equal((await app.call('PATCH', '/v1/users/ann', { role: 'viewer' })).status, 200)
  t.same(await roleOf(), ['viewer', null])
})

t.test('the last identity of a provider takes its role along', async t => {
  const { app, signIn, roleOf } = await open(t)
  await signIn(['ops'])
  await app.call('POST', '/v1/users/ann/identities', { provider: 'corp', sub: 'subject-2' })
  const { body } = await app.call<readonly { identity_id: string }[]>('GET', '/v1/users/ann/identities')
  const remove = (at: number) => app.call('DELETE', `/v1/users/ann/identities/${body[at]?.identity_id}`)
  t.equal((await remove(0)).status, 204)
  t.same(await roleOf(), ['operator', 'oidc:corp'])
  t.equal((await remove(1)).status, 204)
  t.same(await roleOf(), ['user', null])
})

t.test('groups never demote the last superadmin', async t => {
  const { app, signIn, roleOf } = await open(t)
  await signIn(['admins'])
  t.equal((await app.call('PATCH', '/v1/users/root', { disabled: true })).status, 200)
  t.equal(await signIn([]), `${origin}/`, 'the sign-in succeeds')
  t.same(await roleOf(), ['superadmin', 'oidc:corp'])
  t.match(app.log.findLast(({ event }) => event === 'oidc.last_superadmin')?.fields, {
    user: 'ann',
    provider: 'corp'
  })
  t.equal((await app.call('PATCH', '/v1/users/root', { disabled: false })).status, 200)
  await signIn([])
  t.same(await roleOf(), ['user', null])
})
