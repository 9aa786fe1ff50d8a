import t from 'tap'
import { User } from '../../../kernel/identity/entities.ts'
import { fakeClock } from '../../../kit/fake-clock.ts'
import { operatorToken } from '../../../kit/test-server.ts'
import { Session } from '../entities.ts'
import {
  addUser,
  authServer,
  cookieOf,
  depsOf,
  type ErrorBody,
  onboardedServer,
  origin,
  root,
  signedInBrowser
} from './fixture.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const unauthenticated = { status: 401, body: { error: { code: 'unauthenticated' } } }
const sessionNotFound = { status: 404, body: { error: { code: 'session_not_found' } } }

interface Row {
  readonly session_id: string
  readonly current: boolean
}

t.test('a session ends after 8 hours without a request', async t => {
  const app = await onboardedServer(t)
  const page = await signedInBrowser(app)

  await app.clock.advance(8 * hourMs - 1)
  t.equal((await page.call('GET', '/v1/users/me')).status, 200)
  await app.clock.advance(8 * hourMs - 1)
  t.equal((await page.call('GET', '/v1/users/me')).status, 200)
  await app.clock.advance(8 * hourMs)

  t.match(await page.call('GET', '/v1/users/me'), unauthenticated)
})

t.test('a session ends after 7 days even if it is used', async t => {
  const app = await onboardedServer(t)
  const page = await signedInBrowser(app)

  for (let i = 0; i < 7 * 4 - 1; i++) {
    await app.clock.advance(6 * hourMs)
    t.equal((await page.call('GET', '/v1/users/me')).status, 200)
  }
  await app.clock.advance(6 * hourMs)

  t.match(await page.call('GET', '/v1/users/me'), unauthenticated)
  await app.clock.advance(hourMs)
  t.equal(await depsOf(app).store.read(em => em.count(Session)), 0, 'and is deleted')
})

t.test('a clock step neither ends nor prolongs a session', async t => {
  for (const ms of [30 * 24 * hourMs, -400 * 24 * hourMs]) {
    const app = await onboardedServer(t, { dir: t.testdir() })
    const page = await signedInBrowser(app)

    app.clock.step(ms)

    await app.clock.advance(8 * hourMs - 1)
    t.equal((await page.call('GET', '/v1/users/me')).status, 200, `by ${ms} ms`)
    await app.clock.advance(8 * hourMs)
    t.match(await page.call('GET', '/v1/users/me'), unauthenticated)
  }
})

t.test('after the clock was set back during a stop, a session lasts no longer than a new one', async t => {
  const app = await onboardedServer(t)
  const page = await signedInBrowser(app)
  const { dir, clock } = app
  await app.stop()

  const next = await authServer(t, { dir, clock: fakeClock(clock.now() - 400 * 24 * hourMs) })
  const call = () => next.call('GET', '/v1/users/me', undefined, { authorization: '', cookie: page.cookie })

  t.equal((await call()).status, 200)
  await next.clock.advance(8 * hourMs)
  t.match(await call(), unauthenticated)
})

t.test('a logout ends the session and clears the cookie', async t => {
  const app = await onboardedServer(t)
  const page = await signedInBrowser(app)
  const other = await signedInBrowser(app)

  const reply = await page.call('POST', '/v1/auth/logout')

  t.equal(reply.status, 204)
  t.match(cookieOf(reply), /^svc_session=;.*Max-Age=0/)
  t.match(await page.call('GET', '/v1/users/me'), unauthenticated)
  t.equal((await other.call('GET', '/v1/users/me')).status, 200)
  t.match(await app.call('POST', '/v1/auth/logout'), unauthenticated, 'a bearer token has no session')
})

t.test('a write with a session must pass the CSRF checks', async t => {
  const app = await onboardedServer(t)
  const page = await signedInBrowser(app)
  const cases: [Record<string, string>, number, string | undefined][] = [
    [{}, 403, 'csrf_origin_required'],
    [{ origin: 'https://evil.test', 'x-svc-csrf': '1' }, 403, 'csrf_origin_mismatch'],
    [{ origin: `${origin}.evil.test`, 'x-svc-csrf': '1' }, 403, 'csrf_origin_mismatch'],
    [{ origin }, 403, 'csrf_header_required'],
    [{ origin, 'x-svc-csrf': '1', 'content-type': 'text/plain' }, 403, 'csrf_content_type_required'],
    [{ origin, 'x-svc-csrf': '1', 'content-type': 'application/json' }, 201, undefined]
  ]
  for (const [headers, status, code] of cases) {
    const reply = await page.call('POST', '/v1/users/root/credentials', { label: 'x' }, headers)
    t.equal(reply.status, status)
    t.equal(reply.body.error?.code, code)
  }
  t.equal((await page.call('GET', '/v1/users/me', undefined, {})).status, 200, 'a read needs no proof')
})

t.test('a bearer token takes precedence over the session cookie', async t => {
  const app = await onboardedServer(t)
  const { cookie } = await signedInBrowser(app)
  const me = (authorization: string) =>
    app.call<{ user_id: string }>('GET', '/v1/users/me', undefined, { authorization, cookie })

  t.match(await me(`Bearer ${operatorToken}`), { status: 200, body: { user_id: '_operator' } })
  t.match(await me('Bearer wrong'), unauthenticated)
})

t.test('a session of a disabled user is refused', async t => {
  const app = await onboardedServer(t)
  await addUser(app, 'ann')
  const page = await signedInBrowser(app, { user_id: 'ann' })

  await depsOf(app).store.change(em => em.nativeUpdate(User, { id: 'ann' }, { disabled: true }))

  t.match(await page.call('GET', '/v1/users/me'), { status: 401, body: { error: { code: 'user_disabled' } } })
  t.equal((await page.call('GET', '/v1/auth/status')).status, 200)
})

t.test(
  'a page learns from the status whether a user is signed in, and the question is not audited',
  async t => {
    const app = await onboardedServer(t)
    const page = await signedInBrowser(app)
    const before = app.decisions.length

    t.match(await page.call('GET', '/v1/auth/status'), { body: { signed_in: true } })
    const ask = (headers: Record<string, string>) => app.call('GET', '/v1/auth/status', undefined, headers)
    t.match(await ask({ authorization: '' }), { body: { signed_in: false } })
    t.match(await ask({ authorization: '', cookie: 'svc_session=unknown' }), { body: { signed_in: false } })

    t.equal(app.decisions.length, before)
  }
)

t.test('a user has at most 20 sessions; the oldest end', async t => {
  const app = await onboardedServer(t)
  const oldest = await signedInBrowser(app)
  const second = await signedInBrowser(app)
  for (let i = 0; i < 19; i++) await signedInBrowser(app)

  t.match(await oldest.call('GET', '/v1/users/me'), unauthenticated)
  t.equal((await second.call<Row[]>('GET', '/v1/users/me/sessions')).body.length, 20)
})

t.test('a user lists own sessions and ends one of them', async t => {
  const app = await onboardedServer(t)
  await addUser(app, 'ann')
  const page = await signedInBrowser(app)
  const other = await signedInBrowser(app)
  const ann = await signedInBrowser(app, { user_id: 'ann' })

  const { body: rows } = await page.call<Row[]>('GET', '/v1/users/me/sessions')
  t.match(rows, [
    {
      created_at: '2026-01-15T12:00:00.000Z',
      last_seen_at: '2026-01-15T12:00:00.000Z',
      expires_at: '2026-01-15T20:00:00.000Z',
      remote_addr: '192.0.2.1',
      current: true
    },
    { current: false }
  ])
  const path = `/v1/users/me/sessions/${rows[1]?.session_id}`
  t.match(await ann.call('DELETE', path), sessionNotFound, 'a session of another user')
  t.equal((await page.call('DELETE', path)).status, 204)
  t.match(await other.call('GET', '/v1/users/me'), unauthenticated)
  t.match(await page.call('DELETE', path), sessionNotFound)
})

t.test('the operator token has no sessions', async t => {
  const app = await onboardedServer(t)
  const userNotFound = { status: 404, body: { error: { code: 'user_not_found' } } }

  t.match(await app.call('GET', '/v1/users/me/sessions'), userNotFound)
  t.match(await app.call('DELETE', '/v1/users/me/sessions/x'), userNotFound)
})

t.test('a session with a temporary password can only change it', async t => {
  const app = await onboardedServer(t)
  await addUser(app, 'ann')
  const { temporary_password: temporary } = await depsOf(app).recovery.reset('ann', 'keep')
  const page = await signedInBrowser(app, { user_id: 'ann', password: temporary })

  t.match(await page.call('GET', '/v1/users/me/sessions'), {
    status: 403,
    body: { error: { code: 'password_change_required' } }
  })
  t.equal((await page.call('GET', '/v1/users/me')).status, 200)
  t.equal((await page.call('GET', '/v1/auth/status')).status, 200)
  const changed = await page.call<ErrorBody>('POST', '/v1/users/me/password', {
    current_password: temporary,
    new_password: root.password,
    new_password_confirm: root.password
  })
  t.equal(changed.status, 204)
  t.equal((await page.call('GET', '/v1/users/me/sessions')).status, 200)
})
