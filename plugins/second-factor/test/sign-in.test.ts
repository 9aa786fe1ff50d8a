// The second factor of a sign-in: codes of an app, recovery codes, replay and guessing.
import t from 'tap'
import { definePlugin } from '../../../kernel/plugin.ts'
import type { Reply } from '../../../kit/test-server.ts'
import { stepSlot } from '../../auth/exports.ts'
import { addUser, signInsOf, storeBytes } from '../../auth/test/fixture.ts'
import {
  answer,
  type Body,
  browserOf,
  challengeOf,
  codeNow,
  enroll,
  enrolledServer,
  login,
  plugins,
  refusal,
  serverFor,
  wrongCode
} from './fixture.ts'

const invalid = refusal(401, 'invalid_second_factor')

t.test('a sign-in needs a code of the confirmed app', async t => {
  const app = await serverFor(t)
  await addUser(app, 'ann')
  const first = await login(app)
  t.match(first, { status: 200, body: { second_factor_enrollment_required: false } })
  const browser = browserOf(app, first)
  const made = await browser.call('POST', '/v1/users/me/totp')
  t.match(made, { status: 201, body: { secret: /^[A-Z2-7]{32}$/, uri: /^otpauth:/ } })
  t.equal((await login(app)).status, 200, 'an app that is not confirmed is not asked')
  const { secret } = made.body
  t.match(await browser.call('POST', '/v1/users/me/totp/confirm', { code: wrongCode(app, secret) }), invalid)
  const confirmed = await browser.call('POST', '/v1/users/me/totp/confirm', { code: codeNow(app, secret) })
  t.equal(confirmed.status, 200)
  t.equal(new Set(confirmed.body.recovery_codes).size, 10)
  t.match(confirmed.body.recovery_codes[0], /^([A-Z2-7]{4}-){3}[A-Z2-7]{4}$/, '80 bits')

  const asked = await login(app)
  t.match(asked, {
    ...refusal(401, 'second_factor_required'),
    headers: { 'set-cookie': undefined }
  })
  t.same(Object.keys(asked.body.error.details).sort(), ['challenge', 'expires_at', 'methods'])
  t.same(asked.body.error.details.methods, ['totp', 'recovery_code'])
  const { challenge, expires_at } = asked.body.error.details
  t.equal(Date.parse(expires_at) - app.clock.now(), 5 * 60_000)

  t.match(await answer(app, { challenge, code: codeNow(app, secret) }), invalid, 'it has confirmed the app')
  await app.clock.advance(30_000)
  const signedIn = await answer(app, { challenge, code: codeNow(app, secret) })
  t.match(signedIn, {
    status: 200,
    body: { password_change_required: false, second_factor_enrollment_required: false }
  })
  const sessions = await browserOf(app, signedIn).call('GET', '/v1/users/me/sessions')
  t.match(sessions.body, [
    { method: 'password', provider: null, factors: ['password', 'totp'], current: false },
    { factors: ['password'] },
    { method: 'password', provider: null, factors: ['password', 'totp'], current: true }
  ])
  t.same(
    (await app.call<Body>('GET', '/v1/users/ann')).body.second_factors,
    ['totp'],
    'recovery codes belong to it'
  )
})

t.test('the audit log has the demand, the refusals, and the factors of the sign-in', async t => {
  const { app, secret, recovery } = await enrolledServer(t)
  const challenge = await challengeOf(app)
  await answer(app, { challenge, code: wrongCode(app, secret) })
  await answer(app, { challenge, recovery_code: recovery[0] ?? '' })
  const { body, text } = await app.call<readonly object[]>('GET', '/v1/audit?limit=3')
  t.match(body, [
    {
      action: 'auth.second-factor',
      resource_id: 'ann',
      outcome: 'allow',
      changes: [
        { field: 'method', to: 'password' },
        { field: 'factors', to: ['password', 'recovery_code'] }
      ]
    },
    { action: 'auth.second-factor', resource_id: 'ann', outcome: 'deny', reason: 'invalid_second_factor' },
    { action: 'auth.login', resource_id: 'ann', outcome: 'deny', reason: 'second_factor_required' }
  ])
  await addUser(app, 'bob')
  await login(app, 'bob')
  t.match((await app.call<readonly object[]>('GET', '/v1/audit?limit=1')).body, [
    { action: 'auth.login', changes: [{ to: 'password' }, { field: 'factors', to: ['password'] }] }
  ])
  const all = `${text}${JSON.stringify(app.log)}${storeBytes(app.dir)}`
  for (const hidden of [secret, challenge, ...recovery, recovery[0]?.replaceAll('-', '') ?? secret])
    t.notOk(all.includes(hidden), 'no secret is logged, recorded or stored in clear text')
})

t.test('a code signs in once, also in concurrent requests and after a restart', async t => {
  const { app, secret } = await enrolledServer(t)
  const code = codeNow(app, secret)
  const challenges = [await challengeOf(app), await challengeOf(app), await challengeOf(app)]
  const replies = await Promise.all(challenges.map(challenge => answer(app, { challenge, code })))
  t.same(replies.map(({ status }) => status).sort(), [200, 401, 401])
  await app.restart()
  t.match(await answer(app, { challenge: await challengeOf(app), code }), invalid)
  t.match(
    await answer(app, { challenge: await challengeOf(app), code: codeNow(app, secret, -1) }),
    invalid,
    'nor one before it'
  )
  t.equal(
    (await answer(app, { challenge: await challengeOf(app), code: codeNow(app, secret, 1) })).status,
    200
  )
})

t.test('a recovery code signs in once, in any spelling', async t => {
  const { app, recovery } = await enrolledServer(t)
  const [first = '', second = ''] = recovery
  const challenges = [await challengeOf(app), await challengeOf(app)]
  const both = challenges.map(challenge => answer(app, { challenge, recovery_code: first }))
  t.same((await Promise.all(both)).map(({ status }) => status).sort(), [200, 401])
  const spelled = ` ${second.replaceAll('-', '').toLowerCase()} `
  t.equal((await answer(app, { challenge: await challengeOf(app), recovery_code: spelled })).status, 200)
  t.match(await answer(app, { challenge: await challengeOf(app), recovery_code: second }), invalid)
})

t.test('users without recovery codes are asked for the app alone', async t => {
  const { app, recovery } = await enrolledServer(t)
  for (const recovery_code of recovery)
    t.equal((await answer(app, { challenge: await challengeOf(app), recovery_code })).status, 200)
  const { challenge, methods } = (await login(app)).body.error.details
  t.same(methods, ['totp'])
  t.match(await answer(app, { challenge, recovery_code: recovery[0] ?? '' }), invalid)
})

t.test('a challenge lives 5 minutes, allows 5 tries and opens one session', async t => {
  const { app, secret } = await enrolledServer(t)
  const old = await challengeOf(app)
  await app.clock.advance(5 * 60_000)
  t.match(await answer(app, { challenge: old, code: codeNow(app, secret) }), invalid)

  const used = await challengeOf(app)
  t.equal((await answer(app, { challenge: used, code: codeNow(app, secret) })).status, 200)
  t.match(await answer(app, { challenge: used, code: codeNow(app, secret, 1) }), invalid)

  const spent = await challengeOf(app)
  for (let i = 0; i < 5; i++)
    t.match(await answer(app, { challenge: spent, code: wrongCode(app, secret) }), invalid)
  const right = { challenge: spent, code: codeNow(app, secret, 1) }
  t.match(await answer(app, right), refusal(429, 'rate_limited'), 'the throttle is judged first')
  t.match(await answer(app, right, { 'x-forwarded-for': '198.51.100.1' }), invalid)
})

t.test('a challenge needs the session key of its login', async t => {
  const { app, secret } = await enrolledServer(t)
  const key = { 'x-svc-session-key': 'a'.repeat(43) }
  const challenge = await challengeOf(app, key)
  const given = { challenge, code: codeNow(app, secret) }
  t.match(await answer(app, given), invalid)
  t.match(await answer(app, given, { 'x-svc-session-key': 'b'.repeat(43) }), invalid)
  t.equal((await answer(app, given, key)).status, 200)
  const free = { challenge: await challengeOf(app), code: codeNow(app, secret, 1) }
  t.match(await answer(app, free, key), invalid, 'nor does it gain one')
})

t.test('fifteen wrong codes in 15 minutes lock the second factor of the user everywhere', async t => {
  const { app, secret } = await enrolledServer(t)
  const key = { 'x-svc-session-key': 'k'.repeat(43) }
  const known = await answer(app, { challenge: await challengeOf(app, key), code: codeNow(app, secret) }, key)
  t.equal(known.status, 200, 'this browser is known')
  let wrong = 0
  for (let i = 0; i < 40; i++) {
    const from = { 'x-forwarded-for': `198.51.100.${i}`, ...(i % 2 ? key : {}) }
    const tried = await answer(
      app,
      { challenge: await challengeOf(app, from), code: wrongCode(app, secret) },
      from
    )
    if (tried.status === 401) wrong++
    await app.clock.advance(10_000)
  }
  t.equal(wrong, 15)
  const right = async (headers = {}) =>
    answer(app, { challenge: await challengeOf(app, headers), code: codeNow(app, secret) }, headers)
  t.match(await right(), refusal(429, 'rate_limited'))
  await app.clock.advance(1000)
  t.match(await right(key), { ...refusal(429, 'rate_limited'), headers: { 'retry-after': /\d+/ } })
  t.equal((await login(app)).body.error.code, 'second_factor_required', 'the password is not locked')
  await app.clock.advance(15 * 60_000)
  t.equal((await right()).status, 200)
})

t.test('concurrent guesses do not exceed the limit', async t => {
  const { app, secret } = await enrolledServer(t)
  const guesses = []
  for (let i = 0; i < 20; i++) {
    const from = { 'x-forwarded-for': `198.51.100.${i}` }
    guesses.push({ challenge: await challengeOf(app, from), from })
  }
  const code = wrongCode(app, secret)
  const tried = await Promise.all(
    guesses.map(({ challenge, from }) => answer(app, { challenge, code }, from))
  )
  const counts = Map.groupBy(tried, ({ status }) => status)
  t.equal(counts.get(401)?.length, 15)
  t.equal(counts.get(429)?.length, 5)
})

t.test('a new app replaces the earlier one when a code confirms it', async t => {
  const { app, browser, secret, recovery } = await enrolledServer(t)
  const { body } = await browser.call('POST', '/v1/users/me/totp')
  t.equal((await answer(app, { challenge: await challengeOf(app), code: codeNow(app, secret) })).status, 200)
  const confirmed = await browser.call('POST', '/v1/users/me/totp/confirm', {
    code: codeNow(app, body.secret)
  })
  t.equal(confirmed.status, 200)
  await app.clock.advance(30_000)
  t.match(await answer(app, { challenge: await challengeOf(app), code: codeNow(app, secret) }), invalid)
  const [old = ''] = recovery
  t.match(await answer(app, { challenge: await challengeOf(app), recovery_code: old }), invalid)
  t.equal(
    (await answer(app, { challenge: await challengeOf(app), code: codeNow(app, body.secret) })).status,
    200
  )
})

t.test('recovery codes are renewed, and the app is removed with them', async t => {
  const { app, browser, recovery } = await enrolledServer(t)
  const renewed = await browser.call('POST', '/v1/users/me/totp/recovery-codes')
  t.equal(renewed.body.recovery_codes.length, 10)
  const [old = ''] = recovery
  const [fresh = ''] = renewed.body.recovery_codes
  t.match(await answer(app, { challenge: await challengeOf(app), recovery_code: old }), invalid)
  t.equal((await answer(app, { challenge: await challengeOf(app), recovery_code: fresh })).status, 200)
  t.equal((await browser.call('DELETE', '/v1/users/me/totp')).status, 204)
  t.equal((await login(app)).status, 200)
  const missing = refusal(404, 'not_found')
  t.match(await browser.call('DELETE', '/v1/users/me/totp'), missing)
  t.match(await browser.call('POST', '/v1/users/me/totp/recovery-codes'), missing)
  for (let i = 0; i < 16; i++)
    t.match(await browser.call('POST', '/v1/users/me/totp/confirm', { code: '123456' }), missing)
  await enroll(app, browser) // what was not judged does not count
})

t.test('tokens are never asked, and have no second factor', async t => {
  const { app, browser } = await enrolledServer(t)
  const { body } = await browser.call('POST', '/v1/users/ann/credentials', {})
  const { token } = body as unknown as { token: string }
  const bearer = { authorization: `Bearer ${token}` }
  t.equal((await app.call('GET', '/v1/users/me', undefined, bearer)).status, 200)
  for (const [method, url] of [
    ['POST', '/v1/users/me/totp'],
    ['POST', '/v1/users/me/totp/recovery-codes'],
    ['DELETE', '/v1/users/me/totp']
  ] as const)
    t.match(await app.call<Body>(method, url, undefined, bearer), refusal(403, 'session_required'))
})

t.test('a deleted user leaves no factor to the next one of that name', async t => {
  const { app } = await enrolledServer(t)
  t.equal((await app.call('DELETE', '/v1/users/ann')).status, 200)
  await addUser(app, 'ann')
  const again = await login(app)
  t.equal(again.status, 200)
  const browser = browserOf(app, again)
  t.match(await browser.call('GET', '/v1/users/ann'), { body: { second_factors: [] } })
  await enroll(app, browser)
})

t.test('an answer has a challenge and one proof', async t => {
  const { app, secret } = await enrolledServer(t)
  const challenge = await challengeOf(app)
  const code = codeNow(app, secret)
  for (const body of [
    { code },
    { challenge },
    { challenge, code, recovery_code: 'x' },
    { challenge, passkey: {} }
  ])
    t.equal((await answer(app, body)).status, 400)
  const generic = await app.call<Body>('POST', '/v1/auth/step', { ticket: challenge, answer: code })
  t.match(generic, refusal(401, 'step_expired'), 'the challenge has its own route')
  t.match(await answer(app, { challenge: 'unknown', code }), invalid)
  t.equal((await answer(app, { challenge, code })).status, 200)
})

t.test('a step of another plugin follows the second factor', async t => {
  const badge = definePlugin({
    name: 'badge',
    version: '1.0.0',
    kernel: '^2.0.0',
    needs: { 'second-factor': '^1.0.0', auth: '^1.0.0' },
    fills: [
      stepSlot.fill({
        name: 'badge',
        prompts: { badge: { en: 'Your badge' } },
        demand: async ({ userId }) => (userId === 'ann' ? { methods: ['badge'] } : null),
        verify: async ({ answer }) => answer === 'right'
      })
    ]
  })
  const app = await serverFor(t, { plugins: [...plugins, badge] })
  await addUser(app, 'ann')
  const toStep = async (reply: Reply<Body>) => {
    const { ticket } = reply.body.error.details as unknown as { ticket: string }
    const given = { ticket, answer: 'right' }
    return app.call<Body>('POST', '/v1/auth/step', given, { authorization: '' })
  }
  const browser = browserOf(app, await toStep(await login(app)))
  const { secret } = await enroll(app, browser)
  await app.clock.advance(30_000)
  for (let i = 0; i < 20; i++) {
    const next = await answer(app, { challenge: await challengeOf(app), code: codeNow(app, secret) })
    t.match(next, refusal(401, 'step_required'), 'the code was right, which is no failed attempt')
    const signedIn = await toStep(next)
    t.match(
      (await browserOf(app, signedIn).call('GET', '/v1/users/me/sessions?sort=-created_at&limit=1')).body,
      [{ factors: ['password', 'totp', 'badge'] }]
    )
    await app.clock.advance(30_000)
  }
})

t.test('the demand of a second factor is not counted as a sign-in, and its answers are', async t => {
  const { app, secret } = await enrolledServer(t, { plugins: [...plugins, 'metrics'] })
  const before = await signInsOf(app)
  const challenge = await challengeOf(app)
  t.same(await signInsOf(app), before)

  t.match(await answer(app, { challenge, code: wrongCode(app, secret) }), invalid)
  t.equal((await answer(app, { challenge, code: codeNow(app, secret) })).status, 200)

  t.same(before, { 'method="password",outcome="ok"': 1 })
  t.same(await signInsOf(app), {
    'method="password",outcome="ok"': 2,
    'method="password",outcome="invalid_second_factor"': 1
  })
})
