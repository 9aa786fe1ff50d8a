// A running server replaces its certificate: at once while nobody pins it, otherwise when all clients trust the new one.
import t, { type Test } from 'tap'
import { openRunningAgent } from '../../../kit/running-agent.ts'
import { insertClient, type TestServer, testServer } from '../../../kit/test-server.ts'
import { isOnPostgres } from '../../../kit/test-store.ts'
import { notOnPostgres } from '../../../test/support/store.ts'

const endpointUrl = '/v1/settings/advertised-endpoint'
const rotateUrl = '/v1/settings/certificate/rotate'
const gate = 'gate.example.com:7443'

interface Shown {
  readonly fingerprint: string
  readonly names: readonly string[]
  readonly next: string | null
  readonly waiting_for: readonly { readonly name: string }[]
}

const show = async ({ call }: TestServer): Promise<Shown> =>
  (await call<Shown & Record<string, never>>('GET', '/v1/settings/certificate')).body

const pinIn = (uri: string): string | undefined => /pin=sha256:([0-9a-f]{64})/.exec(uri)?.[1]

async function createCode({ call }: TestServer): Promise<string> {
  const { body } = await call<{ uri: string } & Record<string, never>>('POST', '/v1/client-enrollments', {
    name: 'paris'
  })
  return body.uri
}

async function untilReplaced(server: TestServer): Promise<void> {
  while (!server.log.some(({ event }) => event === 'certificate.replaced'))
    await new Promise(resolve => setImmediate(resolve))
}

const ofOneServer = (title: string, work: (t: Test) => Promise<void>) =>
  t.test(title, { skip: notOnPostgres('all servers of a store have one certificate') }, work)

ofOneServer('an endpoint gets a certificate that covers it while nobody pins the old one', async t => {
  const server = await testServer(t)
  const before = await show(server)

  const { status, body } = await server.call('PUT', endpointUrl, { advertised_endpoint: gate })

  t.equal(status, 200)
  t.match(body, { effective: gate, source: 'override', diagnostic: null })
  const after = await show(server)
  t.not(after.fingerprint, before.fingerprint)
  t.ok(after.names.includes('DNS:gate.example.com'))
  t.strictSame(
    before.names.filter(name => !after.names.includes(name)),
    [],
    'what was covered still is'
  )
  t.equal(pinIn(await createCode(server)), after.fingerprint)
  const agent = await openRunningAgent(t, server, 'berlin')
  t.match(await agent.status(), { connected: true })

  await server.restart()

  t.match(await show(server), { fingerprint: after.fingerprint, next: null })
})

ofOneServer('a code that only the host of the server can use does not keep the certificate', async t => {
  const server = await testServer(t)
  const pin = pinIn(await createCode(server))

  t.match(await server.call('PUT', endpointUrl, { advertised_endpoint: gate }), { status: 200 })

  t.not(pinIn(await createCode(server)), pin)
})

ofOneServer('codes and keys of a replaced certificate are not offered', async t => {
  const server = await testServer(t)
  await createCode(server)
  const { body } = await server.call<{ key_id: string }>('POST', '/v1/enrollment-keys', { label: 'web' })
  const key = async () => (await server.call('GET', `/v1/enrollment-keys/${body.key_id}`)).body
  t.match(await key(), { state: 'active' })

  t.match(await server.call('POST', rotateUrl, { names: ['gate.example.com'] }), {
    body: { state: 'current' }
  })

  t.match(await key(), { state: 'stale' })
  t.strictSame((await server.call('GET', '/v1/client-enrollments')).body, [])
  t.match(await server.call('PUT', endpointUrl, { advertised_endpoint: 'other.example.com:7443' }), {
    status: 200
  })
})

ofOneServer('an endpoint that is refused leaves the certificate as it is', async t => {
  const server = await testServer(t)
  const { fingerprint } = await show(server)
  const refused = async (advertised_endpoint: unknown, headers = {}) =>
    (await server.call('PUT', endpointUrl, { advertised_endpoint }, headers)).status

  t.equal(await refused([gate, 'no port']), 422)
  t.equal(await refused(Array.from({ length: 30 }, (_, i) => `gate-${i}.example.com:7443`)), 422)
  t.equal(await refused(gate, { 'if-match': '"another"' }), 412)

  t.match(await show(server), { fingerprint, next: null })
})

ofOneServer('a code that was not used yet pins the certificate, so no other one replaces it', async t => {
  const server = await testServer(t)
  t.match(await server.call('PUT', endpointUrl, { advertised_endpoint: gate }), { status: 200 })
  const { fingerprint } = await show(server)
  await createCode(server)

  const other = { advertised_endpoint: 'other.example.com:7443' }
  t.match(await server.call('PUT', endpointUrl, other), {
    status: 422,
    body: {
      error: { code: 'endpoint_not_in_cert_san', message: /sluice cert rotate --san other\.example\.com/ }
    }
  })
  t.equal((await show(server)).fingerprint, fingerprint)
})

ofOneServer('a rotation waits for each enrolled client, and the server then switches by itself', async t => {
  const server = await testServer(t)
  const agent = await openRunningAgent(t, server, 'paris')
  const away = await insertClient(server, 'berlin')
  const { fingerprint: old } = await show(server)

  const { body } = await server.call('POST', rotateUrl, { names: ['gate.example.com'] })

  t.match(body, { state: 'next' })
  while ((await show(server)).waiting_for.length > 1);
  t.match(await show(server), {
    fingerprint: old,
    next: body['fingerprint'],
    waiting_for: [{ name: 'berlin' }]
  })
  t.equal(pinIn(await createCode(server)), old)

  t.match(await server.call('POST', `/v1/clients/${away}/revoke`), { status: 204 })
  await server.clock.advance(60_000)
  await untilReplaced(server)

  t.match(await show(server), { fingerprint: body['fingerprint'], next: null })
  t.match(await agent.status(), { connected: true }, 'its stream continues')
  t.equal(pinIn(await createCode(server)), body['fingerprint'])
  await agent.restart()
  await agent.connected()
  await server.restart()
  await agent.connected()
  t.match(await server.call('PUT', endpointUrl, { advertised_endpoint: gate }), { status: 200 })
})

ofOneServer('a rotation continues after a restart', async t => {
  const server = await testServer(t)
  const agent = await openRunningAgent(t, server, 'paris')
  await agent.stop()
  const { body } = await server.call('POST', rotateUrl, {})
  t.match(await show(server), { next: body['fingerprint'], waiting_for: [{ name: 'paris' }] })

  await server.restart()
  await agent.restart()
  await agent.connected()
  await untilReplaced(server)

  t.match(await show(server), { fingerprint: body['fingerprint'], next: null })
  await agent.restart()
  await agent.connected()
})

ofOneServer('a start covers the configured endpoints while nobody pins the certificate', async t => {
  const first = await testServer(t)
  await first.stop()

  const keys = { advertised_endpoint: [gate, '198.51.100.7:7443'] }
  const server = await testServer(t, { keys, dir: first.dir })

  t.match((await server.call('GET', endpointUrl)).body, { effective: gate, source: 'seed', diagnostic: null })
  const { fingerprint } = await show(server)
  await server.restart()
  t.equal((await show(server)).fingerprint, fingerprint, 'the next start changes nothing')
})

ofOneServer('a name that no certificate can have is refused', async t => {
  const server = await testServer(t)
  const { fingerprint } = await show(server)

  t.match(await server.call('POST', rotateUrl, { names: ['ok.example', 'no name'] }), {
    status: 400,
    body: { error: { code: 'validation.schema', details: { field: '/names/1' } } }
  })
  t.match(await show(server), { fingerprint, next: null })
})

t.test('a certificate of the operator, or of several servers, is not replaced', async t => {
  const first = await testServer(t)
  await first.stop()
  const file = `${first.dir}/control.pem`
  const keys = isOnPostgres ? {} : { tls_cert_path: file, tls_key_path: file }
  const server = await testServer(t, { keys, ...(isOnPostgres ? {} : { dir: first.dir }) })
  const { fingerprint } = await show(server)

  t.match(await server.call('POST', rotateUrl, {}), {
    status: 409,
    body: { error: { code: 'rotation_refused' } }
  })
  t.match(await server.call('PUT', endpointUrl, { advertised_endpoint: gate }), {
    status: 422,
    body: { error: { code: 'endpoint_not_in_cert_san' } }
  })
  t.equal((await show(server)).fingerprint, fingerprint)
})
