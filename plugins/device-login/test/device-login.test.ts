// A device asks for a token, and a user who has signed in on another machine decides.
import { createHmac } from 'node:crypto'
import t, { type Test } from 'tap'
import { openCallers } from '../../../kit/callers.ts'
import { type Reply, type TestServer, type TestServerOptions, testServer } from '../../../kit/test-server.ts'
import { signInsOf } from '../../auth/test/fixture.ts'
import type { RequestDeps } from '../request-rows.ts'
import { sweepExpired } from '../sweep-expired.ts'

interface Started {
  readonly device_code: string
  readonly user_code: string
  readonly verification_uri: string
  readonly verification_uri_complete: string
}

interface Issued {
  readonly credential_id: string
  readonly token: string
  readonly created_at: string
  readonly expires_at: string
  readonly scopes: readonly string[] | null
}

interface Row {
  readonly credential_id: string
  readonly revoked_at: string | null
}

const origin = 'https://sluice.test'
const nobody = { authorization: '' }
const pollMs = 5_000
const refusal = (status: number, code: string) => ({ status, body: { error: { code } } })

async function openApp(t: Test, keys: TestServerOptions['keys'] = {}) {
  const app = await testServer(t, {
    plugins: ['users', 'auth', 'credentials', 'audit', 'device-login', 'metrics'],
    keys: { operator_http_public_origin: origin, trusted_proxies: ['127.0.0.1'], ...keys }
  })
  const as = openCallers(app.call, origin)
  const start = async (body: object = {}, from = '192.0.2.7') =>
    app.call<Started>(
      'POST',
      '/v1/auth/device',
      { label: 'cli@laptop', ...body },
      { ...nobody, 'x-forwarded-for': from }
    )
  const poll = (device_code: string, from = '192.0.2.7'): Promise<Reply<Issued>> =>
    app.call('POST', '/v1/auth/device/token', { device_code }, { ...nobody, 'x-forwarded-for': from })
  const ann = as({ user: 'ann' })
  const decide = (
    how: 'review' | 'approve' | 'deny',
    user_code: string,
    caller = ann
  ): Promise<Reply<Issued>> => caller('POST', `/v1/auth/device/${how}`, { user_code })
  return { app, as, ann, start, poll, decide }
}

const whoIs = ({ call }: TestServer, token: string) =>
  call('GET', '/v1/users/me', undefined, { authorization: `Bearer ${token}` })

t.test('an approved device gets a token of the user, once', async t => {
  const { app, ann, start, poll, decide } = await openApp(t)
  const { body } = await start()
  t.match(body, {
    user_code: /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/,
    verification_uri: `${origin}/device`,
    verification_uri_complete: `${origin}/device?code=${body.user_code}`,
    expires_in: 600,
    interval: 5
  })
  t.match(await poll(body.device_code), refusal(400, 'authorization_pending'))
  const typed = body.user_code.toLowerCase().replace('-', ' ')
  t.match(await decide('review', typed), {
    status: 200,
    body: { label: 'cli@laptop', remote_addr: '192.0.2.7', scopes: null }
  })
  t.match(await decide('approve', typed), { status: 204 })
  await app.clock.advance(pollMs)

  const { status, body: issued } = await poll(body.device_code)

  t.equal(status, 200)
  t.equal(Date.parse(issued.expires_at) - Date.parse(issued.created_at), 7 * 24 * 3_600_000)
  t.match(await whoIs(app, issued.token), { status: 200, body: { user_id: 'ann' } })
  t.match(await ann('GET', '/v1/users/ann/credentials'), {
    body: [{ credential_id: issued.credential_id, label: 'cli@laptop', scopes: null }]
  })
  await app.clock.advance(pollMs)
  t.match(await poll(body.device_code), refusal(400, 'expired_token'), 'it is issued once')
  t.match(await decide('approve', body.user_code), refusal(404, 'device_request_not_found'))
  t.same(
    app.decisions
      .filter(({ action }) => action.startsWith('device.'))
      .map(({ action, status }) => [action, status]),
    [
      ['device.start', 200],
      ['device.approve', 204],
      ['device.token', 200],
      ['device.approve', 404]
    ],
    'polls without a token are not audited'
  )
  t.notOk(JSON.stringify([app.decisions, app.log]).includes(issued.token.slice(5)))
})

t.test('of two polls at once, one gets the token', async t => {
  const { app, start, poll, decide } = await openApp(t)
  const { body } = await start()
  await decide('approve', body.user_code)

  const first = poll(body.device_code)
  await app.clock.advance(pollMs)
  const replies = await Promise.all([first, poll(body.device_code)])

  t.same(replies.map(({ status }) => status).sort(), [200, 400])
})

t.test('a denied device gets no token', async t => {
  const { app, ann, start, poll, decide } = await openApp(t)
  const { body } = await start()

  t.match(await decide('deny', body.user_code), { status: 204 })

  t.match(await poll(body.device_code), refusal(400, 'access_denied'))
  t.match(await decide('approve', body.user_code), refusal(404, 'device_request_not_found'))
  t.match(await ann('GET', '/v1/users/ann/credentials'), { body: [] })
  t.ok(app.decisions.some(({ action, status }) => action === 'device.deny' && status === 204))
})

t.test('a token that is revoked before the device fetches it is not handed over', async t => {
  const { ann, start, poll, decide } = await openApp(t)
  const { body } = await start()
  await decide('approve', body.user_code)
  const { body: rows } = await ann<readonly Issued[]>('GET', '/v1/users/ann/credentials')
  await ann('DELETE', `/v1/users/ann/credentials/${rows[0]?.credential_id}`)

  t.match(await poll(body.device_code), refusal(400, 'expired_token'))
})

t.test('who knows the device code does not know the token before or after its one fetch', async t => {
  const { app, start, poll, decide } = await openApp(t)
  const { body } = await start()
  const mac = createHmac('sha256', body.device_code).update('token of the device').digest('base64url')
  await decide('approve', body.user_code)
  t.match(await whoIs(app, `svct_${mac}`), refusal(401, 'unauthenticated'))

  const { body: issued } = await poll(body.device_code)

  t.match(await whoIs(app, issued.token), { status: 200 })
  t.match(await whoIs(app, `svct_${mac}`), refusal(401, 'unauthenticated'))
})

t.test('a restart between the approval and the fetch loses no token', async t => {
  const { app, start, poll, decide } = await openApp(t)
  const { body } = await start()
  await decide('approve', body.user_code)

  await app.restart()

  const { status, body: issued } = await poll(body.device_code)
  t.equal(status, 200)
  t.match(await whoIs(app, issued.token), { status: 200, body: { user_id: 'ann' } })
})

t.test('a token that no device fetches is revoked when the codes expire', async t => {
  const { app, ann, start, poll, decide } = await openApp(t)
  await app.clock.advance(30_000)
  const { body } = await start()
  const { body: fetched } = await start()
  await decide('approve', body.user_code)
  await decide('approve', fetched.user_code)
  t.equal((await poll(fetched.device_code)).status, 200)
  await app.clock.advance(600_000)
  t.match(await poll(body.device_code), refusal(400, 'expired_token'))
  t.match(await start(), { status: 200 }, 'another device does not delete the request before it is handled')

  await app.clock.advance(60_000)

  const { body: rows } = await ann<readonly Row[]>('GET', '/v1/users/ann/credentials')
  t.same(
    rows.map(({ revoked_at }) => revoked_at === null),
    [false, true],
    'the fetched one stays'
  )
  const revocations = app.decisions.filter(({ action }) => action === 'credential.revoke')
  t.match(revocations, [
    { actor: '_system', status: 200, resourceKind: 'credential', resourceId: rows[0]?.credential_id }
  ])
  t.equal(revocations.length, 1)
})

t.test('two servers that sweep at once revoke a token once, and report no failure', async t => {
  const { app, start, decide } = await openApp(t)
  const { body } = await start()
  await decide('approve', body.user_code)
  const deps = app.server.depsOf('device-login') as unknown as RequestDeps
  const late = { ...deps, clock: { ...deps.clock, now: () => app.clock.now() + 660_000 } }

  await Promise.all([sweepExpired(late), sweepExpired(late)])

  const revocations = app.decisions.filter(({ action }) => action === 'credential.revoke')
  t.same(
    revocations.map(({ status }) => status),
    [200, 412]
  )
  t.notOk(app.log.some(({ event }) => event === 'device_login.not_revoked'))
})

t.test('a token that the user rotates before the device fetches it stays with the user', async t => {
  const { app, ann, start, poll, decide } = await openApp(t)
  const { body } = await start()
  await decide('approve', body.user_code)
  const { body: rows } = await ann<readonly Row[]>('GET', '/v1/users/ann/credentials')
  const { body: rotated } = await ann<Issued>(
    'POST',
    `/v1/users/ann/credentials/${rows[0]?.credential_id}/rotate`
  )

  t.match(await poll(body.device_code), refusal(400, 'expired_token'))
  await app.clock.advance(660_000)

  t.match(await whoIs(app, rotated.token), { status: 200 }, 'the sweep does not revoke it')
})

t.test('codes expire after 10 minutes, also over a restart', async t => {
  const { app, start, poll, decide } = await openApp(t)
  const { body: early } = await start()
  await app.clock.advance(300_000)
  const { body: late } = await start()
  await app.restart()
  await app.clock.advance(300_000)

  t.match(await poll(early.device_code), refusal(400, 'expired_token'))
  t.match(await decide('approve', early.user_code), refusal(404, 'device_request_not_found'))
  t.match(await poll(late.device_code), refusal(400, 'authorization_pending'))
  t.match(await decide('approve', late.user_code), { status: 204 })
})

t.test('a device that polls too often must slow down, by 5 s each time, and another need not', async t => {
  const { app, start, poll } = await openApp(t)
  const { body } = await start()
  const { body: other } = await start()
  const interval = (secs: number) => ({
    status: 400,
    body: { error: { code: 'slow_down', details: { interval: secs } } }
  })

  t.match(await poll(body.device_code), refusal(400, 'authorization_pending'))
  await app.clock.advance(4_000)
  t.match(await poll(body.device_code), interval(10))
  t.match(await poll(other.device_code), refusal(400, 'authorization_pending'))
  await app.clock.advance(9_000)
  t.match(await poll(body.device_code), interval(15))
  await app.clock.advance(15_000)
  t.match(await poll(body.device_code), refusal(400, 'authorization_pending'))
})

t.test('a viewer approves read scopes only, and everything means reading', async t => {
  const { app, as, start, poll, decide } = await openApp(t)
  const vic = as({ user: 'vic', role: 'viewer' })
  const { body: write } = await start({ scopes: ['user:write'] })
  const { body: all } = await start()

  t.match(await decide('approve', write.user_code, vic), refusal(403, 'credential_too_broad'))
  t.match(await decide('approve', all.user_code, vic), { status: 204 })

  t.match(await poll(all.device_code), { body: { user_id: 'vic', scopes: ['*:read'] } })
  t.match(await poll(write.device_code), refusal(400, 'authorization_pending'), 'another user may approve it')
  t.ok(app.decisions.some(({ action, status }) => action === 'device.approve' && status === 403))
})

t.test(
  'a token has the scopes that the device asked for, and the longest life that the server allows',
  async t => {
    const { app, start, poll, decide } = await openApp(t, { credential_max_secs: 3_600 })

    t.match(await start({ scopes: ['user:read', 'moon:read'] }), refusal(400, 'validation.scopes'))
    const { body } = await start({ scopes: ['user:read'] })
    await decide('approve', body.user_code)
    const { body: issued } = await poll(body.device_code)

    t.same(issued.scopes, ['user:read'])
    t.equal(Date.parse(issued.expires_at) - Date.parse(issued.created_at), 3_600_000)
    t.match(
      await app.call('POST', '/v1/users/ann/credentials', {}, { authorization: `Bearer ${issued.token}` }),
      {
        status: 403
      }
    )
  }
)

t.test('only a session decides: no token, and nobody without a sign-in', async t => {
  const { as, start, decide } = await openApp(t)
  const { body } = await start()

  for (const how of ['review', 'approve', 'deny'] as const) {
    t.match(await decide(how, body.user_code, as('nobody')), refusal(401, 'unauthenticated'), how)
    t.match(
      await decide(how, body.user_code, as({ user: 'ann', by: 'api_token' })),
      refusal(403, 'session_required'),
      how
    )
  }
})

t.test('a user who guesses codes is stopped after five, and others are not', async t => {
  const { app, as, start, decide } = await openApp(t)
  const { body } = await start()
  for (let i = 0; i < 5; i++) t.match(await decide('review', 'BBBB-BBBB'), { status: 404 })

  t.match(await decide('review', body.user_code), refusal(429, 'rate_limited'))
  t.match(await decide('review', body.user_code, as({ user: 'bob' })), { status: 200 })
  await app.clock.advance(60_000)
  t.match(await decide('review', body.user_code), { status: 200 })
})

t.test('of ten unknown codes at once, five are tried', async t => {
  const { decide } = await openApp(t)

  const replies = await Promise.all([...Array(10).keys()].map(() => decide('review', 'BBBB-BBBB')))

  t.same(replies.map(({ status }) => status).sort(), [...Array(5).fill(404), ...Array(5).fill(429)])
})

t.test('a network that guesses device codes is stopped after 100, and others are not', async t => {
  const { app, start, poll } = await openApp(t)
  const { body } = await start()
  const guess = (i: number) => poll(`guess-${i}`, `2001:db8::${i}`)
  const replies = await Promise.all([...Array(101).keys()].map(guess))
  t.same(replies.map(({ status }) => status).sort(), [...Array(100).fill(400), 429])

  const refused = await poll(body.device_code, '2001:db8::1')

  t.match(refused, {
    ...refusal(429, 'rate_limited'),
    headers: { 'retry-after': '60' },
    body: { error: { details: { retry_after_secs: 60 } } }
  })
  t.match(await poll(body.device_code, '2001:db8:0:1::1'), refusal(400, 'authorization_pending'))
  await app.clock.advance(60_000)
  t.match(await guess(1), refusal(400, 'expired_token'))
})

t.test('polls of a known device are not counted', async t => {
  const { start, poll } = await openApp(t)
  const { body } = await start()

  for (let round = 0; round < 3; round++) {
    const replies = await Promise.all(Array.from({ length: 64 }, () => poll(body.device_code)))
    t.same([...new Set(replies.map(({ status }) => status))], [400])
  }
})

t.test('known codes are not counted', async t => {
  const { start, decide } = await openApp(t)
  const { body } = await start()

  for (let i = 0; i < 8; i++) t.match(await decide('review', body.user_code), { status: 200 })
})

t.test('one network cannot take the places of all devices', async t => {
  const { app, start } = await openApp(t)
  const replies = [...Array(65).keys()].map(i => start({}, `2001:db8::${i}`))

  t.same((await Promise.all(replies)).map(({ status }) => status).sort(), [...Array(64).fill(200), 429])
  t.match(await start({}, '192.0.2.8'), { status: 200 })
  await app.clock.advance(600_000)
  t.match(await start({}, '2001:db8::1'), { status: 200 }, 'expired requests make room')
})

t.test('devices that sign in are counted by their outcome, and waiting ones are not', async t => {
  const { app, start, poll, decide } = await openApp(t)
  const { body: approved } = await start()
  const { body: denied } = await start()
  await poll(approved.device_code)
  await poll(approved.device_code) // slow_down
  await decide('approve', approved.user_code)
  await decide('deny', denied.user_code)
  await app.clock.advance(10_000)

  t.equal((await poll(approved.device_code)).status, 200)
  await poll(denied.device_code)
  await poll('unknown')

  const counted = Object.entries(await signInsOf(app)).filter(([labels]) => labels.includes('device'))
  t.same(Object.fromEntries(counted), {
    'method="device",outcome="ok"': 1,
    'method="device",outcome="access_denied"': 1,
    'method="device",outcome="expired_token"': 1
  })
})
