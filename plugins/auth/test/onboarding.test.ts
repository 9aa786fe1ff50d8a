import t from 'tap'
import { openSetupToken } from '../setup-token.ts'
import {
  authServer,
  depsOf,
  login,
  onboard,
  onboardedServer,
  setupTokenOf,
  storeBytes,
  unauthenticated
} from './fixture.ts'

const minuteMs = 60_000

t.test('the first start logs a setup token and stores only its hash', async t => {
  const app = await authServer(t)

  const lines = app.log.filter(({ message }) => message.includes('onboarding setup token'))
  t.equal(lines.length, 1)
  t.match(lines[0], { event: 'onboarding.setup_token', message: /: [\w-]{43}$/ })
  t.notOk(storeBytes(app.dir).includes(setupTokenOf(app)))
})

t.test('the API refuses requests until the setup token has created a superadmin', async t => {
  const app = await authServer(t)
  const status = () =>
    app.call<{ onboarding_required: boolean }>('GET', '/v1/auth/status', undefined, unauthenticated)
  t.match(await status(), { status: 200, body: { onboarding_required: true } })
  t.match(await app.call('GET', '/v1/users/me', undefined, unauthenticated), {
    status: 503,
    body: { error: { code: 'bootstrap_required' } }
  })

  const created = await onboard(app, { display_name: '  Root Smith ' })

  t.equal(created.status, 201)
  t.strictSame(created.body, { user_id: 'root', display_name: 'Root Smith', role: 'superadmin' })
  t.equal(created.headers['set-cookie'], undefined)
  t.match(await status(), { status: 200, body: { onboarding_required: false } })
  t.match(await app.call('GET', '/v1/users/me', undefined, unauthenticated), { status: 401 })
  t.match(await login(app), { status: 200 })
})

t.test('a missing and a wrong token are refused before the rest of the body is checked', async t => {
  const app = await authServer(t)

  t.match(await onboard(app, { setup_token: undefined, password: 'short' }), {
    status: 401,
    body: { error: { code: 'setup_token_required' } }
  })
  t.match(await onboard(app, { setup_token: 'wrong', password: 'short' }), {
    status: 401,
    body: { error: { code: 'setup_token_invalid' } }
  })
})

t.test('onboarding refuses an invalid body', async t => {
  const cases: [object, number, string][] = [
    [{ password: 'eleven byte', password_confirm: 'eleven byte' }, 422, 'password_too_short'],
    [{ password: 'x'.repeat(1025) }, 422, 'password_too_long'],
    [{ password_confirm: 'another one' }, 422, 'password_mismatch'],
    [{ user_id: 'Root' }, 422, 'invalid_user_id'],
    [{ user_id: '_root' }, 422, 'reserved_user_id'],
    [{ user_id: 'me' }, 422, 'reserved_user_id'],
    [{ display_name: ' ' }, 422, 'invalid_display_name'],
    [{ role: 'superadmin' }, 400, 'validation.unknown_field'],
    [{ password: 7 }, 400, 'validation.schema']
  ]
  const app = await authServer(t)
  for (const [body, status, code] of cases)
    t.match(await onboard(app, body), { status, body: { error: { code } } }, code)
  t.equal((await onboard(app)).status, 201, 'the token is still valid')
})

t.test('the setup token expires after 30 minutes and at a restart', async t => {
  const app = await authServer(t)
  const first = setupTokenOf(app)

  await app.clock.advance(30 * minuteMs)
  t.match(await onboard(app), { status: 401, body: { error: { code: 'setup_token_invalid' } } })
  await app.stop()
  const next = await authServer(t, { dir: app.dir, clock: app.clock })

  t.not(setupTokenOf(next), first)
  t.match(await onboard(next, { setup_token: first }), { status: 401 })
  t.match(await onboard(next), { status: 201 })
})

t.test('only the setup token of the latest start is valid, at all servers of the store', async t => {
  const app = await authServer(t)
  const otherSetupToken = openSetupToken(depsOf(app))

  const setup_token = await otherSetupToken.make()

  t.match(await onboard(app), { status: 401, body: { error: { code: 'setup_token_invalid' } } })
  t.notOk(storeBytes(app.dir).includes(setup_token))
  t.match(await onboard(app, { setup_token }), { status: 201 })
  t.notOk(await otherSetupToken.isValid(setup_token))
})

t.test('only one of several concurrent onboardings succeeds', async t => {
  const app = await authServer(t)

  const created = await Promise.all(['ann', 'bob', 'cid'].map(user_id => onboard(app, { user_id })))

  t.strictSame(created.map(({ status }) => status).sort(), [201, 409, 409])
  t.match(created.find(({ status }) => status === 409)?.body, { error: { code: 'already_bootstrapped' } })
})

t.test('onboarding works only once, and no later start logs a token', async t => {
  const app = await onboardedServer(t)
  t.match(await onboard(app), { status: 409, body: { error: { code: 'already_bootstrapped' } } })
  await app.stop()

  const next = await authServer(t, { dir: app.dir, clock: app.clock })

  t.equal(setupTokenOf(next), '')
  t.match(await onboard(next), { status: 409 })
})

t.test('guesses at the setup token are throttled', async t => {
  const app = await authServer(t)
  for (let i = 0; i < 5; i++) await onboard(app, { setup_token: `guess ${i}` })

  const locked = await onboard(app)
  t.match(locked, {
    status: 429,
    headers: { 'retry-after': '60' },
    body: { error: { code: 'rate_limited' } }
  })

  await app.clock.advance(minuteMs)
  t.match(await onboard(app), { status: 201 })
})

t.test('the operator token works before onboarding and does not end it', async t => {
  const app = await authServer(t)

  t.match(await app.call('GET', '/v1/users/me'), { status: 200 })
  t.match(await onboard(app), { status: 201 })
  t.match(await login(app), { status: 200 })
})

t.test('a clock step neither ends nor prolongs the setup token', async t => {
  for (const ms of [3_600_000, -400 * 24 * 3_600_000]) {
    const app = await authServer(t, { dir: t.testdir() })
    app.clock.step(ms)
    await app.clock.advance(30 * minuteMs)
    t.match(await onboard(app), { status: 401, body: { error: { code: 'setup_token_invalid' } } })

    const young = await authServer(t, { dir: t.testdir() })
    young.clock.step(ms)
    await young.clock.advance(30 * minuteMs - 1)
    t.equal((await onboard(young)).status, 201, `by ${ms} ms`)
  }
})
