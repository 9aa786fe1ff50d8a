// Sessions that another plugin starts and ends, such as one for OIDC or passkeys.
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { Fault } from '../../../kernel/base/errors.ts'
import { defineRoute } from '../../../kernel/http/route.ts'
import { definePlugin, type Kernel } from '../../../kernel/plugin.ts'
import type { Users } from '../../users/exports.ts'
import type { SignIn } from '../exports.ts'
import { login, onboardedServer, signInsOf, unauthenticated } from './fixture.ts'

interface Deps extends Kernel {
  readonly signIn: SignIn
  readonly users: Users
}

const begin = defineRoute({
  method: 'POST',
  url: '/v1/badge/sign-in',
  action: 'badge.sign-in',
  access: 'public',
  status: 204,
  summary: 'Signs a user in by a badge, and makes it at its first time.',
  schema: () => ({
    body: Type.Object({ badge: Type.String() }, { additionalProperties: false }),
    reply: Type.Void()
  }),
  run: ({ signIn, users }: Deps, call) =>
    call
      .change({ kind: 'user', id: call.body.badge }, async em => {
        const userId = call.body.badge
        if (!(await users.find(em, userId)))
          await users.insert(em, { userId, displayName: userId, role: 'user' })
        await signIn.start(em, { userId, method: 'badge' }, call)
      })
      .catch((error: unknown) => {
        if (error instanceof Fault) signIn.count('badge', error.errorCode)
        throw error
      })
})

const finish = defineRoute({
  method: 'POST',
  url: '/v1/badge/sign-out',
  action: 'badge.sign-out',
  access: 'user',
  status: 204,
  summary: 'Ends the session.',
  schema: () => ({ reply: Type.Void() }),
  run: ({ signIn }: Deps, call) =>
    call.change({ kind: 'user', id: call.principal.userId }, em => signIn.end(em, call))
})

const badge = definePlugin<Deps>({
  name: 'badge',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { auth: '^1.0.0', users: '^1.0.0' },
  routes: [begin, finish]
})

const sameOrigin = { origin: 'https://sluice.test', 'x-svc-csrf': '1' }

async function signedIn(t: Test, user = 'ann') {
  const app = await onboardedServer(t, { plugins: ['users', 'auth', 'audit', 'credentials', badge] })
  const { status, headers } = await app.call('POST', '/v1/badge/sign-in', { badge: user }, unauthenticated)
  t.equal(status, 204)
  const cookie = String(headers['set-cookie']).split(';', 1)[0] ?? ''
  return { ...app, cookie: { ...unauthenticated, cookie } }
}

t.test('a plugin starts a session for a new user, and the audit log shows its method', async t => {
  const { call, cookie } = await signedIn(t)

  t.match(await call('GET', '/v1/users/me', undefined, cookie), { status: 200, body: { user_id: 'ann' } })
  t.match(await call('GET', '/v1/users/me/sessions', undefined, cookie), { body: [{ current: true }] })
  t.equal(
    (await call('POST', '/v1/users/me/credentials', {}, cookie)).status,
    403,
    'without a proof of the origin'
  )
  const issued = await call('POST', '/v1/users/ann/credentials', { label: 'x' }, { ...cookie, ...sameOrigin })
  t.equal(issued.status, 201)
  t.match(await call('GET', '/v1/audit?limit=1'), { body: [{ actor: 'ann', auth_method: 'badge' }] })
})

t.test('a plugin ends a session, and so does a logout', async t => {
  const { call, cookie } = await signedIn(t)
  t.equal((await call('POST', '/v1/badge/sign-out', undefined, { ...cookie, ...sameOrigin })).status, 204)
  t.equal((await call('GET', '/v1/users/me', undefined, cookie)).status, 401)

  const again = await call('POST', '/v1/badge/sign-in', { badge: 'ann' }, unauthenticated)
  const second = { ...unauthenticated, cookie: String(again.headers['set-cookie']).split(';', 1)[0] ?? '' }
  t.equal((await call('POST', '/v1/auth/logout', undefined, { ...second, ...sameOrigin })).status, 204)
  t.equal((await call('GET', '/v1/users/me', undefined, second)).status, 401)
})

t.test('a disabled user cannot get or use a session', async t => {
  const { call, cookie } = await signedIn(t)
  t.equal((await call('PATCH', '/v1/users/ann', { disabled: true })).status, 200)

  const { status, headers } = await call('POST', '/v1/badge/sign-in', { badge: 'ann' }, unauthenticated)
  t.match({ status, cookie: headers['set-cookie'] }, { status: 401, cookie: undefined })
  t.equal((await call('GET', '/v1/users/me', undefined, cookie)).status, 401)
})

t.test('sign-ins are counted by method and outcome', async t => {
  const app = await onboardedServer(t, { plugins: ['users', 'auth', 'audit', 'metrics', badge] })
  const signIn = (user: string) => app.call('POST', '/v1/badge/sign-in', { badge: user }, unauthenticated)
  t.same(await signInsOf(app), {})

  t.equal((await login(app)).status, 200)
  t.equal((await login(app, { password: 'a wrong password' })).status, 401)
  t.equal((await login(app, { password: 'another wrong one' })).status, 401)
  t.equal((await signIn('ann')).status, 204)
  t.equal((await app.call('PATCH', '/v1/users/ann', { disabled: true })).status, 200)
  t.equal((await signIn('ann')).status, 401)

  t.same(await signInsOf(app), {
    'method="password",outcome="ok"': 1,
    'method="password",outcome="invalid_login"': 2,
    'method="badge",outcome="ok"': 1,
    'method="badge",outcome="user_disabled"': 1
  })
})
