import t from 'tap'
import { newId } from '../../../kernel/base/id.ts'
import { testServer } from '../../../kit/test-server.ts'
import { Enrollment } from '../entities.ts'
import type { EnrollmentRow, Invitation } from '../schema.ts'
import { codeIn, enrolled, invite, plugins, redeem } from './fixture.ts'

t.test('a code comes as a URI with endpoint, pin and code, and as the command that takes it', async t => {
  const home = await testServer(t, { plugins })

  const { status, body } = await home.call<Invitation>('POST', '/v1/client-enrollments', {
    name: ' edge ',
    address: 'edge.example.com'
  })

  t.equal(status, 201)
  t.strictSame(Object.keys(body).sort(), ['client_name', 'command', 'enrollment_id', 'expires_at', 'uri'])
  t.match(body, { client_name: 'edge', expires_at: '2026-01-15T12:10:00.000Z' })
  const { control } = home.server
  const code = codeIn(body)
  t.match(code, /^[A-Za-z0-9_-]{43}$/)
  t.equal(body.uri, `svc://127.0.0.1:${control.port()}/enroll?pin=sha256:${control.fingerprint}&code=${code}`)
  t.equal(body.command, `sluice agent enroll '${body.uri}'`)
  t.match(home.decisions, [{ action: 'enrollment.create', resourceKind: 'enrollment', status: 201 }])
  t.notMatch(JSON.stringify([home.log, home.decisions]), code)
  const stored = await home.server.depsOf('enrollment').store.read(em => em.findAll(Enrollment))
  t.notMatch(JSON.stringify(stored), code)
})

t.test('what is asked for is checked: name, address, life of the code', async t => {
  const home = await testServer(t, { plugins, keys: { enrollment_ttl_secs: 60 } })
  for (const [body, code] of [
    [{}, 'validation.schema'],
    [{ name: '' }, 'invalid_client_name'],
    [{ name: 'edge', address: 'edge:443' }, 'invalid_client_address'],
    [{ name: 'edge', ttl_secs: 0 }, 'invalid_enrollment_ttl'],
    [{ name: 'edge', ttl_secs: 86_401 }, 'invalid_enrollment_ttl'],
    [{ name: 'edge', ttl_secs: 1.5 }, 'invalid_enrollment_ttl'],
    [{ name: 'edge', ttl: 5 }, 'validation.unknown_field']
  ] as const)
    t.match(await home.call('POST', '/v1/client-enrollments', body), {
      status: 400,
      body: { error: { code } }
    })

  t.match(await invite(home), { expires_at: '2026-01-15T12:01:00.000Z' })
  t.match(await invite(home, { name: 'edge', ttl_secs: 86_400 }), { expires_at: '2026-01-16T12:00:00.000Z' })
  t.match(await home.call('POST', `/v1/clients/${newId()}/enrollment`), {
    status: 404,
    body: { error: { code: 'client_not_found' } }
  })
})

t.test('the list shows codes that can still be redeemed, and never the code', async t => {
  const home = await testServer(t, { plugins })
  const open = await invite(home)
  const used = await invite(home)
  await invite(home, { name: 'late', ttl_secs: 1 })
  await redeem(home, codeIn(used), 'token')
  await home.clock.advance(1000)

  const { body } = await home.call<EnrollmentRow[]>('GET', '/v1/client-enrollments')

  t.strictSame(body, [
    {
      enrollment_id: open.enrollment_id,
      client_id: null,
      client_name: 'edge',
      address: null,
      created_by: '_operator',
      created_at: '2026-01-15T12:00:00.000Z',
      expires_at: '2026-01-15T12:10:00.000Z'
    }
  ])
  t.match(await home.call('DELETE', `/v1/client-enrollments/${used.enrollment_id}`), { status: 404 })
})

t.test('a new code for a client, its revocation and its removal void the older unused ones', async t => {
  const home = await testServer(t, { plugins })
  const id = await enrolled(home, 'token')
  const renew = async () => (await home.call<Invitation>('POST', `/v1/clients/${id}/enrollment`)).body

  const [older, newer] = [await renew(), await renew()]
  t.equal(await redeem(home, codeIn(older), 'a'), 'enrollment_invalid')
  await home.call('POST', `/v1/clients/${id}/revoke`)
  t.equal(await redeem(home, codeIn(newer), 'a'), 'enrollment_invalid')
  const last = await renew()
  await home.call('DELETE', `/v1/clients/${id}`)
  t.equal(await redeem(home, codeIn(last), 'a'), 'enrollment_invalid')
  t.equal(await home.server.depsOf('enrollment').store.read(em => em.count(Enrollment)), 0)
})

t.test('a code that is long over is forgotten when the next is made', async t => {
  const home = await testServer(t, { plugins })
  const old = await invite(home)
  await redeem(home, codeIn(old), 'token')
  await home.clock.advance(8 * 24 * 3_600_000)

  await invite(home)

  t.equal(await redeem(home, codeIn(old), 'token'), 'enrollment_invalid')
  t.match(await home.call('GET', '/v1/clients'), { body: [{ client_name: 'edge' }] })
})

t.test('a repeated Idempotency-Key never shows the code again', async t => {
  const home = await testServer(t, { plugins })
  const ask = () =>
    home.call('POST', '/v1/client-enrollments', { name: 'edge' }, { 'idempotency-key': 'one' })

  t.match(await ask(), { status: 201 })
  t.match(await ask(), { status: 409, body: { error: { code: 'idempotency_secret_spent' } } })
  t.match((await home.call('GET', '/v1/client-enrollments')).body, { length: 1 })
})
