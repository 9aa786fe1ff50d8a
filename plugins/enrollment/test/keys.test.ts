// Enrollment keys over HTTP.
import t from 'tap'
import { testServer } from '../../../kit/test-server.ts'
import { EnrollmentKey } from '../entities.ts'
import { createKey, endpointUrl, keysUrl, plugins, redeemKey } from './fixture.ts'

const unknown = { status: 404, body: { error: { code: 'enrollment_key_not_found' } } }

t.test('a key is shown once, with its URI and command; the store has only its hash', async t => {
  const app = await testServer(t, { plugins })

  const { status, body } = await app.call<Record<string, string>>('POST', keysUrl, { label: ' web servers ' })

  t.equal(status, 201)
  t.match(body, {
    label: 'web servers',
    state: 'active',
    uses: null,
    used: 0,
    clients: 0,
    pending_clients: 0,
    expires_at: null,
    address: null,
    approve: false,
    ephemeral_secs: null,
    created_by: '_operator',
    created_at: '2026-01-15T12:00:00.000Z',
    key: /^svck_[\w-]{43}$/
  })
  const { key = '', uri = '', command, ...row } = body
  const { fingerprint } = app.server.control
  t.equal(uri, `svc://127.0.0.1:${app.server.control.port()}/enroll?pin=sha256:${fingerprint}&code=${key}`)
  t.equal(command, `sluice agent enroll '${uri}'`)
  t.strictSame((await app.call('GET', `${keysUrl}/${row['key_id']}`)).body, row)
  t.strictSame((await app.call('GET', keysUrl)).body, [row])
  const { store } = app.server.depsOf('enrollment')
  t.notMatch(JSON.stringify(await store.read(em => em.findAll(EnrollmentKey))), key.slice(5))
})

t.test('a deleted key is gone, and its clients stay', async t => {
  const app = await testServer(t, { plugins })
  const { key_id: id, key } = await createKey(app)
  await redeemKey(app, key, { token: 'one' })

  t.match(await app.call('DELETE', `${keysUrl}/${id}`), { status: 204 })

  t.match(await app.call('GET', `${keysUrl}/${id}`), unknown)
  t.match(await app.call('DELETE', `${keysUrl}/${id}`), unknown)
  t.match(await app.call('DELETE', `${keysUrl}/nonsense`), unknown)
  t.match(await app.call('GET', '/v1/clients'), { body: [{ client_name: 'web', enrollment_key_id: id }] })
})

t.test('an invalid key is refused with the field, and none is made', async t => {
  const app = await testServer(t, { plugins })
  const label = 'web'
  const cases = [
    [{}, '/label'],
    [{ label: '' }, '/label'],
    [{ label: '  ' }, '/label'],
    [{ label: 'ä'.repeat(200) }, '/label'],
    [{ label: 'a\u0007' }, '/label'],
    [{ label, uses: 0 }, '/uses'],
    [{ label, uses: 100_001 }, '/uses'],
    [{ label, ephemeral_secs: 299 }, '/ephemeral_secs'],
    [{ label, ephemeral_secs: 2_592_001 }, '/ephemeral_secs'],
    [{ label, address: '192.0.2.1' }, '/address'],
    [{ label, approve: 'yes' }, '/approve'],
    [{ label, expires_at: 'tomorrow' }, '/expires_at'],
    [{ label, expires_at: '9999-12-31T23:59:59-01:00' }, '/expires_at'],
    [{ label, expires_at: '2026-01-15T12:00:00Z' }, '/expires_at'],
    [{ label, key: 'mine' }, '/key']
  ] as const

  for (const [body, field] of cases)
    t.match(
      await app.call('POST', keysUrl, body),
      { status: 400, body: { error: { details: { field } } } },
      JSON.stringify(body)
    )
  t.strictSame((await app.call('GET', keysUrl)).body, [])
})

t.test('no key is made without a usable endpoint, and its URI has all endpoints', async t => {
  const app = await testServer(t, { plugins })
  await app.call('PUT', endpointUrl, { advertised_endpoint: 'localhost:1' })
  t.match(await createKey(app), { uri: /^svc:\/\/localhost:1\/enroll/ })
  await app.call('PUT', endpointUrl, { advertised_endpoint: null })
  await app.stop()

  const keys = { advertised_endpoint: 'late.example:7443' }
  const broken = await testServer(t, { plugins, keys, dir: app.dir, clock: app.clock })

  t.match(await broken.call('POST', keysUrl, { label: 'web' }), {
    status: 422,
    body: { error: { code: 'endpoint_not_in_cert_san' } }
  })
  t.match((await broken.call<unknown[]>('GET', keysUrl)).body.length, 1)
})

t.test('a thousand keys are the limit', async t => {
  const app = await testServer(t, { plugins })
  const { key_id: id } = await createKey(app)
  const { store } = app.server.depsOf('enrollment')
  await store.change(async em => {
    const [row] = await em.findAll(EnrollmentKey)
    const copies = Array.from({ length: 999 }, (_, i) => {
      const at = String(i)
      return { ...row, id: at.padStart(26, '0'), keyHash: at.padStart(64, '0') }
    })
    await em.insertMany(EnrollmentKey, copies as EnrollmentKey[])
  })

  t.match(await app.call('POST', keysUrl, { label: 'more' }), {
    status: 422,
    body: { error: { code: 'limit_reached', details: { limit: 1000 } } }
  })
  await app.call('DELETE', `${keysUrl}/${id}`)
  t.match(await app.call('POST', keysUrl, { label: 'more' }), { status: 201 })
})

t.test('a repeated Idempotency-Key does not show the key again', async t => {
  const app = await testServer(t, { plugins })
  const create = () => app.call('POST', keysUrl, { label: 'web' }, { 'idempotency-key': 'once' })
  t.match(await create(), { status: 201 })

  t.match(await create(), { status: 409, body: { error: { code: 'idempotency_secret_spent' } } })

  t.equal((await app.call<unknown[]>('GET', keysUrl)).body.length, 1)
})
