import t from 'tap'
import { newId } from '../../../kernel/platform/id.ts'
import { testServer } from '../../../kit/test-server.ts'
import { Enrollment } from '../entities.ts'
import type { EnrollmentRow, Invitation } from '../schema.ts'
import { codeIn, createCode, enrolledClient, plugins, redeem } from './fixture.ts'

t.test('a code is returned as a URI with endpoint, pin and code, and as a command', async t => {
  const app = await testServer(t, { plugins })

  const { status, body } = await app.call<Invitation>('POST', '/v1/client-enrollments', {
    name: ' edge ',
    address: 'edge.example.com'
  })

  t.equal(status, 201)
  t.strictSame(Object.keys(body).sort(), ['client_name', 'command', 'enrollment_id', 'expires_at', 'uri'])
  t.match(body, { client_name: 'edge', expires_at: '2026-01-15T12:10:00.000Z' })
  const { control } = app.server
  const code = codeIn(body)
  t.match(code, /^[A-Za-z0-9_-]{43}$/)
  t.equal(body.uri, `svc://127.0.0.1:${control.port()}/enroll?pin=sha256:${control.fingerprint}&code=${code}`)
  t.equal(body.command, `sluice agent enroll '${body.uri}'`)
  t.match(app.decisions, [{ action: 'enrollment.create', resourceKind: 'enrollment', status: 201 }])
  t.notMatch(JSON.stringify([app.log, app.decisions]), code)
  const stored = await app.server.depsOf('enrollment').store.read(em => em.findAll(Enrollment))
  t.notMatch(JSON.stringify(stored), code)
})

t.test('name, address and lifetime of a code are validated', async t => {
  const app = await testServer(t, { plugins, keys: { enrollment_ttl_secs: 60 } })
  for (const [body, code] of [
    [{}, 'validation.schema'],
    [{ name: '' }, 'invalid_client_name'],
    [{ name: 'edge', address: 'edge:443' }, 'invalid_client_address'],
    [{ name: 'edge', ttl_secs: 0 }, 'invalid_enrollment_ttl'],
    [{ name: 'edge', ttl_secs: 86_401 }, 'invalid_enrollment_ttl'],
    [{ name: 'edge', ttl_secs: 1.5 }, 'invalid_enrollment_ttl'],
    [{ name: 'edge', ttl: 5 }, 'validation.unknown_field']
  ] as const)
    t.match(await app.call('POST', '/v1/client-enrollments', body), {
      status: 400,
      body: { error: { code } }
    })

  t.match(await createCode(app), { expires_at: '2026-01-15T12:01:00.000Z' })
  t.match(await createCode(app, { name: 'edge', ttl_secs: 86_400 }), {
    expires_at: '2026-01-16T12:00:00.000Z'
  })
  t.match(await app.call('POST', `/v1/clients/${newId()}/enrollment`), {
    status: 404,
    body: { error: { code: 'client_not_found' } }
  })
})

t.test('the list shows enrollments that can still be redeemed, without their codes', async t => {
  const app = await testServer(t, { plugins })
  const open = await createCode(app)
  const used = await createCode(app)
  await createCode(app, { name: 'late', ttl_secs: 1 })
  await redeem(app, codeIn(used), 'token')
  await app.clock.advance(1000)

  const { body } = await app.call<EnrollmentRow[]>('GET', '/v1/client-enrollments')

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
  t.match(await app.call('DELETE', `/v1/client-enrollments/${used.enrollment_id}`), { status: 404 })
})

t.test(
  'a new code for a client, and revoking or deleting the client, delete its older unused codes',
  async t => {
    const app = await testServer(t, { plugins })
    const id = await enrolledClient(app, 'token')
    const renew = async () => (await app.call<Invitation>('POST', `/v1/clients/${id}/enrollment`)).body

    const [older, newer] = [await renew(), await renew()]
    t.equal(await redeem(app, codeIn(older), 'a'), 'enrollment_invalid')
    await app.call('POST', `/v1/clients/${id}/revoke`)
    t.equal(await redeem(app, codeIn(newer), 'a'), 'enrollment_invalid')
    const last = await renew()
    await app.call('DELETE', `/v1/clients/${id}`)
    t.equal(await redeem(app, codeIn(last), 'a'), 'enrollment_invalid')
    t.equal(await app.server.depsOf('enrollment').store.read(em => em.count(Enrollment)), 0)
  }
)

t.test('a code that expired long ago is deleted when the next one is made', async t => {
  const app = await testServer(t, { plugins })
  const old = await createCode(app)
  await redeem(app, codeIn(old), 'token')
  await app.clock.advance(8 * 24 * 3_600_000)

  await createCode(app)

  t.equal(await redeem(app, codeIn(old), 'token'), 'enrollment_invalid')
  t.match(await app.call('GET', '/v1/clients'), { body: [{ client_name: 'edge' }] })
})

t.test('a repeated Idempotency-Key never shows the code again', async t => {
  const app = await testServer(t, { plugins })
  const ask = () => app.call('POST', '/v1/client-enrollments', { name: 'edge' }, { 'idempotency-key': 'one' })

  t.match(await ask(), { status: 201 })
  t.match(await ask(), { status: 409, body: { error: { code: 'idempotency_secret_spent' } } })
  t.match((await app.call('GET', '/v1/client-enrollments')).body, { length: 1 })
})
