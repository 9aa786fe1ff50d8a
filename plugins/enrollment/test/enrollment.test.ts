// Codes over HTTP, redeemed by the handler that the control stream calls; the stream itself is in stream.test.ts.
import t from 'tap'
import { newId } from '../../../kernel/base/id.ts'
import { Client, SpentToken } from '../../../kernel/identity/entities.ts'
import { hashOf } from '../../../kernel/identity/secret.ts'
import { type House, house } from '../../../test/kit/house.ts'
import type { ClientRow } from '../../clients/row.ts'
import { Enrollment } from '../entities.ts'
import enrollment from '../plugin.ts'
import type { EnrollmentRow, Invitation } from '../schema.ts'
import { Redeem, Redeemed } from '../wire.ts'

const plugins = ['advertised-endpoint', 'clients', 'enrollment']
const setting = '/v1/settings/advertised-endpoint'
const codeIn = ({ uri }: Invitation): string => new URL(uri).searchParams.get('code') ?? ''

/** As an agent says it, bytes in and bytes out; a refusal is its code. */
async function redeem({ server }: House, code: string, token: string) {
  const deps = server.depsOf('enrollment')
  const [greeting] = enrollment.greetings ?? []
  const bytes = deps.codec.encode(Redeem, { code, token_hash: hashOf(token) })
  try {
    const answer = await greeting?.run({ stranger: { remoteAddr: '192.0.2.1' }, deps }, deps.codec, bytes)
    return deps.codec.decode(Redeemed, answer?.body ?? new Uint8Array())
  } catch (error) {
    return (error as { code: string }).code // of Refused: a test that gets another error sees undefined
  }
}

async function invite(home: House, body: object = { name: 'edge' }): Promise<Invitation> {
  return (await home.call<Invitation>('POST', '/v1/client-enrollments', body)).body
}

/** A client whose agent holds `token`. */
async function enrolled(home: House, token: string): Promise<string> {
  await redeem(home, codeIn(await invite(home)), token)
  const { body } = await home.call<ClientRow[]>('GET', '/v1/clients')
  return body.at(-1)?.client_id ?? ''
}

t.test('a code comes as a URI with endpoint, pin and code, and as the command that takes it', async t => {
  const home = await house(t, { plugins })

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
  const home = await house(t, { plugins, keys: { enrollment_ttl_secs: 60 } })
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

t.test('a client is there from redeem on, and its agent may ask again and get the same answer', async t => {
  const home = await house(t, { plugins })
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
  const home = await house(t, { plugins })
  const code = codeIn(await invite(home))

  const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => redeem(home, code, `token ${i}`)))

  t.equal(answers.filter(answer => typeof answer === 'object').length, 1)
  t.equal(answers.filter(answer => answer === 'enrollment_used').length, 49)
  t.equal((await home.call<ClientRow[]>('GET', '/v1/clients')).body.length, 1)
})

t.test('a code that is unknown, late or cancelled is refused, and makes no client', async t => {
  const home = await house(t, { plugins })
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

t.test('the list shows codes that can still be redeemed, and never the code', async t => {
  const home = await house(t, { plugins })
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

t.test('re-enrollment swaps the token and lifts a revocation, but only when it is redeemed', async t => {
  const home = await house(t, { plugins })
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
  const home = await house(t, { plugins })
  const invitation = await invite(home)
  const first = await redeem(home, codeIn(invitation), 'token')
  const { body } = await home.call<ClientRow[]>('GET', '/v1/clients')
  const url = `/v1/clients/${body[0]?.client_id}`
  await home.call('POST', `${url}/revoke`)

  t.strictSame(await redeem(home, codeIn(invitation), 'token'), first)

  t.match(await home.call('GET', url), { body: { state: 'revoked' } })
})

t.test('a token that was used before opens nothing, and leaves the code as it was', async t => {
  const home = await house(t, { plugins })
  const id = await enrolled(home, 'spent')
  await enrolled(home, 'of another')
  await home.call('POST', `/v1/clients/${id}/revoke`)
  const { body } = await home.call<Invitation>('POST', `/v1/clients/${id}/enrollment`)

  t.equal(await redeem(home, codeIn(body), 'spent'), 'enrollment_invalid')
  t.equal(await redeem(home, codeIn(body), 'of another'), 'enrollment_invalid')

  t.match(await redeem(home, codeIn(body), 'fresh'), { client_id: id })
})

t.test('a new code for a client, its revocation and its removal void the older unused ones', async t => {
  const home = await house(t, { plugins })
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

t.test('a code keeps the endpoint of its making; one made on loopback looks again at redeem', async t => {
  const home = await house(t, { plugins })
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
    const home = await house(t, { plugins })
    const waiting = await invite(home)
    await home.call('PUT', setting, { advertised_endpoint: 'localhost:1' })
    const settled = await invite(home)
    await home.call('PUT', setting, { advertised_endpoint: null })
    await home.stop()
    const keys = { advertised_endpoint: 'late.example:7443' }
    const { dir, clock } = home

    const broken = await house(t, { plugins, keys, dir, clock })
    t.match(await broken.call('POST', '/v1/client-enrollments', { name: 'edge' }), {
      status: 422,
      body: { error: { code: 'endpoint_not_in_cert_san' } }
    })
    t.equal(await redeem(broken, codeIn(waiting), 'a'), 'failed_precondition')
    t.match(await redeem(broken, codeIn(settled), 'b'), { server_endpoint: 'localhost:1' })
    t.equal((await broken.call<ClientRow[]>('GET', '/v1/clients')).body.length, 1)
    await broken.stop()

    const invalid = await house(t, { plugins, keys: { advertised_endpoint: 'nonsense' }, dir, clock })
    t.match(await invalid.call('POST', '/v1/client-enrollments', { name: 'edge' }), {
      status: 422,
      body: { error: { code: 'endpoint_invalid' } }
    })
    t.equal(await redeem(invalid, codeIn(waiting), 'a'), 'failed_precondition')
    await invalid.stop()

    const repaired = await house(t, { plugins, dir, clock })
    t.match(await redeem(repaired, codeIn(waiting), 'a'), { client_name: 'edge' })
  }
)

t.test('a code that is long over is forgotten when the next is made', async t => {
  const home = await house(t, { plugins })
  const old = await invite(home)
  await redeem(home, codeIn(old), 'token')
  await home.clock.advance(8 * 24 * 3_600_000)

  await invite(home)

  t.equal(await redeem(home, codeIn(old), 'token'), 'enrollment_invalid')
  t.match(await home.call('GET', '/v1/clients'), { body: [{ client_name: 'edge' }] })
})

t.test('a repeated Idempotency-Key never shows the code again', async t => {
  const home = await house(t, { plugins })
  const ask = () =>
    home.call('POST', '/v1/client-enrollments', { name: 'edge' }, { 'idempotency-key': 'one' })

  t.match(await ask(), { status: 201 })
  t.match(await ask(), { status: 409, body: { error: { code: 'idempotency_secret_spent' } } })
  t.match((await home.call('GET', '/v1/client-enrollments')).body, { length: 1 })
})
