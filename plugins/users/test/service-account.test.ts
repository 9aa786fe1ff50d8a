// Service accounts: users for automation, which cannot sign in.
import t from 'tap'
import { definePlugin, type Kernel } from '../../../kernel/plugin.ts'
import type { SignIn } from '../../auth/exports.ts'
import type { Recovery } from '../../auth/password/recovery.ts'
import type { Users } from '../exports.ts'
import { password, refusal, signIn, usersFixture } from './fixture.ts'

const ci = { user_id: 'ci', display_name: 'CI', kind: 'service' }
const refused = refusal(422, 'service_account')

t.test('a service account is created with its role, and uses the API with a token', async t => {
  const { ask, user } = await usersFixture(t)
  await user('root', 'superadmin')

  const as = await user('ci', 'operator', { kind: 'service' })

  t.match(await ask('GET', '/ci'), { status: 200, body: { kind: 'service', role: 'operator' } })
  t.match(await ask('GET', '/me', undefined, as), { status: 200, body: { user_id: 'ci' } })
  t.match(await ask('GET', '?kind=service'), { status: 200, body: [{ user_id: 'ci' }] })
  t.same((await ask('GET', '/me/sessions', undefined, as)).body, [])
})

t.test('the kind is user or service, and never changes', async t => {
  const { ask, user } = await usersFixture(t)
  await user('root', 'superadmin')
  await user('ann')

  t.match(await ask('POST', '', { ...ci, kind: 'robot' }), refusal(400, 'validation.schema'))
  t.match(await ask('PATCH', '/ann', { kind: 'service' }), refusal(400, 'validation.unknown_field'))
  t.match(await ask('GET', '/ann'), { body: { kind: 'user' } })
})

t.test('a service account gets no password: at its creation, by a reset, or by itself', async t => {
  const app = await usersFixture(t)
  const { ask, user, server } = app
  await user('root', 'superadmin')

  t.match(await ask('POST', '', { ...ci, initial_password: password }), refused)
  t.match(await ask('GET', '/ci'), refusal(404, 'user_not_found'))
  const as = await user('ci', 'user', { kind: 'service' })
  const change = {
    current_password: password,
    new_password: `${password} 2`,
    new_password_confirm: `${password} 2`
  }
  t.match(await ask('POST', '/me/password', change, as), refused)
  t.match(await ask('POST', '/ci/password', {}), refused)
  t.match(await ask('POST', '/ci/password', { new_password: `${password} 2`, temporary: false }), refused)
  const { recovery } = server.depsOf('auth') as Kernel & { readonly recovery: Recovery }
  await t.rejects(recovery.reset('ci', 'keep'), { message: /is a service account/ })
  t.equal((await ask('GET', '/me', undefined, as)).status, 200, 'its token is not revoked')
})

t.test('a login with the name of a service account is answered like that of an unknown user', async t => {
  const app = await usersFixture(t)
  await app.user('root', 'superadmin')
  await app.user('ci', 'user', { kind: 'service' })

  const unknown = await signIn(app, 'nobody')
  const service = await signIn(app, 'ci')

  t.match(unknown, refusal(401, 'invalid_login'))
  t.same([service.status, service.body], [unknown.status, unknown.body])
  t.same(
    app.decisions.slice(-2).map(({ actor, reason, resourceId }) => [actor, reason, resourceId]),
    [
      [null, 'invalid_login', null],
      [null, 'invalid_login', null]
    ]
  )
})

t.test('a plugin cannot sign a service account in', async t => {
  const gate = definePlugin({
    name: 'gate',
    version: '1.0.0',
    kernel: '^2.0.0',
    needs: { auth: '^1.0.0', users: '^1.0.0' }
  })
  const { user, server } = await usersFixture(t, {
    plugins: ['users', 'auth', 'credentials', 'clients', 'rules', gate]
  })
  await user('ci', 'user', { kind: 'service' })
  const deps = server.depsOf('gate') as Kernel & { readonly signIn: SignIn; readonly users: Users }
  const call = { requestInfo: { headers: {}, remoteAddr: '192.0.2.1' }, setCookie: () => t.fail('a cookie') }

  await t.rejects(
    deps.store.change(em => deps.signIn.start(em, { userId: 'ci', method: 'gate' }, call as never)),
    { message: /is a service account/ }
  )
  t.equal(await deps.store.read(em => deps.users.caller(em, { userId: 'ci', method: 'gate' })), null)
})

t.test('a service account is not the last superadmin, and does not end the onboarding', async t => {
  const { ask, user, call } = await usersFixture(t)
  const status = () => call('GET', '/v1/auth/status')
  await user('ci', 'superadmin', { kind: 'service' })

  t.match(await status(), { body: { onboarding_required: true } })
  await user('root', 'superadmin', { initial_password: password })
  t.match(await status(), { body: { onboarding_required: false } })
  for (const change of [{ role: 'user' }, { disabled: true }])
    t.match(await ask('PATCH', '/root', change), refusal(409, 'last_superadmin'))
  t.match(await ask('DELETE', '/root'), refusal(409, 'last_superadmin'))
  t.equal((await ask('PATCH', '/ci', { role: 'user' })).status, 200)
})

t.test('a superadmin service account does not demote, disable or delete itself', async t => {
  const { ask, user } = await usersFixture(t)
  await user('root', 'superadmin')
  const as = await user('ci', 'superadmin', { kind: 'service' })

  t.match(await ask('PATCH', '/ci', { role: 'user' }, as), refusal(409, 'cannot_remove_self'))
  t.match(await ask('DELETE', '/ci', undefined, as), refusal(409, 'cannot_remove_self'))
})
