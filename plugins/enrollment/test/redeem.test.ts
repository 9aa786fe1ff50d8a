import t from 'tap'
import { Client, SpentToken } from '../../../kernel/identity/entities.ts'
import { hashOf } from '../../../kernel/identity/secret.ts'
import { testServer } from '../../../kit/test-server.ts'
import type { ClientRow } from '../../clients/client-row.ts'
import type { Invitation } from '../schema.ts'
import { codeIn, createCode, endpointUrl, enrolledClient, plugins, redeem } from './fixture.ts'

t.test(
  'a client exists from redeem on, and its agent may repeat the request and get the same response',
  async t => {
    const app = await testServer(t, { plugins })
    const invitation = await createCode(app, { name: 'edge', address: '192.0.2.7' })
    t.strictSame((await app.call('GET', '/v1/clients')).body, [])

    const first = await redeem(app, codeIn(invitation), 'token')

    const { body } = await app.call<ClientRow[]>('GET', '/v1/clients')
    t.match(body, [{ client_name: 'edge', address: '192.0.2.7', state: 'disconnected', last_seen_at: null }])
    const id = body[0]?.client_id ?? ''
    t.strictSame(first, {
      client_id: id,
      client_name: 'edge',
      server_endpoint: `127.0.0.1:${app.server.control.port()}`
    })
    await app.call('PATCH', `/v1/clients/${id}/name`, { client_name: 'renamed' })
    await app.clock.advance(599_999)
    t.strictSame(await redeem(app, codeIn(invitation), 'token'), first)
    t.equal(await redeem(app, codeIn(invitation), 'other'), 'enrollment_used')
    await app.clock.advance(1)
    t.equal(await redeem(app, codeIn(invitation), 'token'), 'enrollment_expired')
  }
)

t.test('exactly one of 50 agents that redeem a code at once succeeds', async t => {
  const app = await testServer(t, { plugins })
  const code = codeIn(await createCode(app))

  const responses = await Promise.all(Array.from({ length: 50 }, (_, i) => redeem(app, code, `token ${i}`)))

  t.equal(responses.filter(response => typeof response === 'object').length, 1)
  t.equal(responses.filter(response => response === 'enrollment_used').length, 49)
  t.equal((await app.call<ClientRow[]>('GET', '/v1/clients')).body.length, 1)
})

t.test('a code that is unknown, expired or cancelled is refused, and creates no client', async t => {
  const app = await testServer(t, { plugins })
  const late = await createCode(app, { name: 'late', ttl_secs: 1 })
  const cancelled = await createCode(app)
  const url = `/v1/client-enrollments/${cancelled.enrollment_id}`
  await app.clock.advance(1000)

  t.match(await app.call('DELETE', url), { status: 204 })
  t.match(await app.call('DELETE', url), { status: 404, body: { error: { code: 'enrollment_not_found' } } })
  t.equal(await redeem(app, 'x'.repeat(43), 'token'), 'enrollment_invalid')
  t.equal(await redeem(app, codeIn(late), 'token'), 'enrollment_expired')
  t.equal(await redeem(app, codeIn(cancelled), 'token'), 'enrollment_invalid')
  t.strictSame((await app.call('GET', '/v1/clients')).body, [])
})

t.test('a clock set back revives no expired code and does not shorten new ones', async t => {
  const app = await testServer(t, { plugins })
  const late = await createCode(app, { name: 'late', ttl_secs: 60 })
  await app.clock.advance(60_000)

  app.clock.step(-400 * 86_400_000)

  t.equal(await redeem(app, codeIn(late), 'token'), 'enrollment_expired')
  const code = codeIn(await createCode(app, { name: 'edge', ttl_secs: 60 }))
  await app.clock.advance(59_999)
  t.match(await redeem(app, code, 'token'), { client_name: 'edge' })
})

t.test('re-enrollment replaces the token and lifts a revocation, but only when it is redeemed', async t => {
  const app = await testServer(t, { plugins })
  const id = await enrolledClient(app, 'old')
  await app.call('POST', `/v1/clients/${id}/revoke`)

  const { status, body } = await app.call<Invitation>('POST', `/v1/clients/${id}/enrollment`)
  t.equal(status, 201)
  t.match(await app.call('GET', `/v1/clients/${id}`), { body: { state: 'revoked' } })
  t.match(await redeem(app, codeIn(body), 'new'), { client_id: id })

  t.match(await app.call('GET', `/v1/clients/${id}`), { body: { state: 'disconnected', revoked_at: null } })
  const { store } = app.server.depsOf('enrollment')
  t.match(await store.read(em => em.findAll(Client)), [{ id, tokenHash: hashOf('new') }])
  t.match(await store.read(em => em.findAll(SpentToken)), [{ hash: hashOf('old'), clientId: id }])
})

t.test('a repeated redeem lifts no revocation', async t => {
  const app = await testServer(t, { plugins })
  const invitation = await createCode(app)
  const first = await redeem(app, codeIn(invitation), 'token')
  const { body } = await app.call<ClientRow[]>('GET', '/v1/clients')
  const url = `/v1/clients/${body[0]?.client_id}`
  await app.call('POST', `${url}/revoke`)

  t.strictSame(await redeem(app, codeIn(invitation), 'token'), first)

  t.match(await app.call('GET', url), { body: { state: 'revoked' } })
})

t.test('a token that was used before is refused, and the code stays valid', async t => {
  const app = await testServer(t, { plugins })
  const id = await enrolledClient(app, 'spent')
  await enrolledClient(app, 'of another')
  await app.call('POST', `/v1/clients/${id}/revoke`)
  const { body } = await app.call<Invitation>('POST', `/v1/clients/${id}/enrollment`)

  t.equal(await redeem(app, codeIn(body), 'spent'), 'enrollment_invalid')
  t.equal(await redeem(app, codeIn(body), 'of another'), 'enrollment_invalid')

  t.match(await redeem(app, codeIn(body), 'fresh'), { client_id: id })
})

t.test(
  'a code keeps the endpoint of the time when it was made; on loopback it is resolved at redeem',
  async t => {
    const app = await testServer(t, { plugins })
    const loopback = await createCode(app)
    await app.call('PUT', endpointUrl, { advertised_endpoint: 'localhost:1' })
    const fixed = await createCode(app)
    await app.call('PUT', endpointUrl, { advertised_endpoint: 'localhost:2' })

    t.match(fixed.uri, /^svc:\/\/localhost:1\/enroll\?/)
    t.match(await redeem(app, codeIn(fixed), 'a'), { server_endpoint: 'localhost:1' })
    const first = await redeem(app, codeIn(loopback), 'b')
    t.match(first, { server_endpoint: 'localhost:2' })
    await app.call('PUT', endpointUrl, { advertised_endpoint: null })
    t.strictSame(await redeem(app, codeIn(loopback), 'b'), first)
  }
)

t.test(
  'no code is issued without a usable endpoint; a code without an endpoint is redeemed once there is one',
  async t => {
    const app = await testServer(t, { plugins })
    const waiting = await createCode(app)
    await app.call('PUT', endpointUrl, { advertised_endpoint: 'localhost:1' })
    const fixed = await createCode(app)
    await app.call('PUT', endpointUrl, { advertised_endpoint: null })
    await app.stop()
    const keys = { advertised_endpoint: 'late.example:7443' }
    const { dir, clock } = app

    const broken = await testServer(t, { plugins, keys, dir, clock })
    t.match(await broken.call('POST', '/v1/client-enrollments', { name: 'edge' }), {
      status: 422,
      body: { error: { code: 'endpoint_not_in_cert_san' } }
    })
    t.equal(await redeem(broken, codeIn(waiting), 'a'), 'failed_precondition')
    t.match(await redeem(broken, codeIn(fixed), 'b'), { server_endpoint: 'localhost:1' })
    t.equal((await broken.call<ClientRow[]>('GET', '/v1/clients')).body.length, 1)
    await broken.stop()

    const repaired = await testServer(t, { plugins, dir, clock })
    t.match(await redeem(repaired, codeIn(waiting), 'a'), { client_name: 'edge' })
  }
)
