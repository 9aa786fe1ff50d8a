import t from 'tap'
import { Client, SpentToken } from '../../../kernel/identity/entities.ts'
import { hashOf } from '../../../kernel/identity/secret.ts'
import { testServer } from '../../../kit/test-server.ts'
import type { ClientRow } from '../../clients/row.ts'
import type { Invitation } from '../schema.ts'
import { codeIn, enrolled, invite, plugins, redeem, setting } from './fixture.ts'

t.test('a client is there from redeem on, and its agent may ask again and get the same answer', async t => {
  const home = await testServer(t, { plugins })
  const invitation = await invite(home, { name: 'edge', address: '192.0.2.7' })
  t.strictSame((await home.call('GET', '/v1/clients')).body, [])

  const first = await redeem(home, codeIn(invitation), 'token')

  const { body } = await home.call<ClientRow[]>('GET', '/v1/clients')
  t.match(body, [{ client_name: 'edge', address: '192.0.2.7', state: 'disconnected', last_seen_at: null }])
  const id = body[0]?.client_id ?? ''
  t.strictSame(first, {
    client_id: id,
    client_name: 'edge',
    server_endpoint: `127.0.0.1:${home.server.control.port()}`
  })
  await home.call('PATCH', `/v1/clients/${id}/name`, { client_name: 'renamed' })
  await home.clock.advance(599_999)
  t.strictSame(await redeem(home, codeIn(invitation), 'token'), first)
  t.equal(await redeem(home, codeIn(invitation), 'other'), 'enrollment_used')
  await home.clock.advance(1)
  t.equal(await redeem(home, codeIn(invitation), 'token'), 'enrollment_expired')
})

t.test('of 50 agents that redeem one code at once exactly one wins', async t => {
  const home = await testServer(t, { plugins })
  const code = codeIn(await invite(home))

  const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => redeem(home, code, `token ${i}`)))

  t.equal(answers.filter(answer => typeof answer === 'object').length, 1)
  t.equal(answers.filter(answer => answer === 'enrollment_used').length, 49)
  t.equal((await home.call<ClientRow[]>('GET', '/v1/clients')).body.length, 1)
})

t.test('a code that is unknown, late or cancelled is refused, and makes no client', async t => {
  const home = await testServer(t, { plugins })
  const late = await invite(home, { name: 'late', ttl_secs: 1 })
  const cancelled = await invite(home)
  const url = `/v1/client-enrollments/${cancelled.enrollment_id}`
  await home.clock.advance(1000)

  t.match(await home.call('DELETE', url), { status: 204 })
  t.match(await home.call('DELETE', url), { status: 404, body: { error: { code: 'enrollment_not_found' } } })
  t.equal(await redeem(home, 'x'.repeat(43), 'token'), 'enrollment_invalid')
  t.equal(await redeem(home, codeIn(late), 'token'), 'enrollment_expired')
  t.equal(await redeem(home, codeIn(cancelled), 'token'), 'enrollment_invalid')
  t.strictSame((await home.call('GET', '/v1/clients')).body, [])
})

t.test('re-enrollment swaps the token and lifts a revocation, but only when it is redeemed', async t => {
  const home = await testServer(t, { plugins })
  const id = await enrolled(home, 'old')
  await home.call('POST', `/v1/clients/${id}/revoke`)

  const { status, body } = await home.call<Invitation>('POST', `/v1/clients/${id}/enrollment`)
  t.equal(status, 201)
  t.match(await home.call('GET', `/v1/clients/${id}`), { body: { state: 'revoked' } })
  t.match(await redeem(home, codeIn(body), 'new'), { client_id: id })

  t.match(await home.call('GET', `/v1/clients/${id}`), { body: { state: 'disconnected', revoked_at: null } })
  const { store } = home.server.depsOf('enrollment')
  t.match(await store.read(em => em.findAll(Client)), [{ id, tokenHash: hashOf('new') }])
  t.match(await store.read(em => em.findAll(SpentToken)), [{ hash: hashOf('old'), clientId: id }])
})

t.test('a repeated redeem lifts no revocation', async t => {
  const home = await testServer(t, { plugins })
  const invitation = await invite(home)
  const first = await redeem(home, codeIn(invitation), 'token')
  const { body } = await home.call<ClientRow[]>('GET', '/v1/clients')
  const url = `/v1/clients/${body[0]?.client_id}`
  await home.call('POST', `${url}/revoke`)

  t.strictSame(await redeem(home, codeIn(invitation), 'token'), first)

  t.match(await home.call('GET', url), { body: { state: 'revoked' } })
})

t.test('a token that was used before opens nothing, and leaves the code as it was', async t => {
  const home = await testServer(t, { plugins })
  const id = await enrolled(home, 'spent')
  await enrolled(home, 'of another')
  await home.call('POST', `/v1/clients/${id}/revoke`)
  const { body } = await home.call<Invitation>('POST', `/v1/clients/${id}/enrollment`)

  t.equal(await redeem(home, codeIn(body), 'spent'), 'enrollment_invalid')
  t.equal(await redeem(home, codeIn(body), 'of another'), 'enrollment_invalid')

  t.match(await redeem(home, codeIn(body), 'fresh'), { client_id: id })
})

t.test('a code keeps the endpoint of its making; one made on loopback looks again at redeem', async t => {
  const home = await testServer(t, { plugins })
  const loopback = await invite(home)
  await home.call('PUT', setting, { advertised_endpoint: 'localhost:1' })
  const fixed = await invite(home)
  await home.call('PUT', setting, { advertised_endpoint: 'localhost:2' })

  t.match(fixed.uri, /^svc:\/\/localhost:1\/enroll\?/)
  t.match(await redeem(home, codeIn(fixed), 'a'), { server_endpoint: 'localhost:1' })
  const first = await redeem(home, codeIn(loopback), 'b')
  t.match(first, { server_endpoint: 'localhost:2' })
  await home.call('PUT', setting, { advertised_endpoint: null })
  t.strictSame(await redeem(home, codeIn(loopback), 'b'), first)
})

t.test(
  'without a usable endpoint no code is made, and one without an endpoint waits for the repair',
  async t => {
    const home = await testServer(t, { plugins })
    const waiting = await invite(home)
    await home.call('PUT', setting, { advertised_endpoint: 'localhost:1' })
    const settled = await invite(home)
    await home.call('PUT', setting, { advertised_endpoint: null })
    await home.stop()
    const keys = { advertised_endpoint: 'late.example:7443' }
    const { dir, clock } = home

    const broken = await testServer(t, { plugins, keys, dir, clock })
    t.match(await broken.call('POST', '/v1/client-enrollments', { name: 'edge' }), {
      status: 422,
      body: { error: { code: 'endpoint_not_in_cert_san' } }
    })
    t.equal(await redeem(broken, codeIn(waiting), 'a'), 'failed_precondition')
    t.match(await redeem(broken, codeIn(settled), 'b'), { server_endpoint: 'localhost:1' })
    t.equal((await broken.call<ClientRow[]>('GET', '/v1/clients')).body.length, 1)
    await broken.stop()

    const invalid = await testServer(t, { plugins, keys: { advertised_endpoint: 'nonsense' }, dir, clock })
    t.match(await invalid.call('POST', '/v1/client-enrollments', { name: 'edge' }), {
      status: 422,
      body: { error: { code: 'endpoint_invalid' } }
    })
    t.equal(await redeem(invalid, codeIn(waiting), 'a'), 'failed_precondition')
    await invalid.stop()

    const repaired = await testServer(t, { plugins, dir, clock })
    t.match(await redeem(repaired, codeIn(waiting), 'a'), { client_name: 'edge' })
  }
)
