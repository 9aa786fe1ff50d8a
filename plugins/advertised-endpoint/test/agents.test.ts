// Agents learn the endpoints of the server.
import t from 'tap'
import { Endpoints, messages, welcomePart } from '../../../agent/wire/endpoints.ts'
import { openCodec } from '../../../kernel/wire/codec.ts'
import { Refused } from '../../../kernel/wire/message.ts'
import { openRunningAgent } from '../../../kit/running-agent.ts'
import { connectAgent, scriptedResponse, type Teardown } from '../../../kit/scripted-agent.ts'
import {
  insertClient,
  type LogLine,
  recordLog,
  type TestServer,
  testServer
} from '../../../kit/test-server.ts'
import { openEndpointAnnouncer } from '../endpoint-announcer.ts'

const url = '/v1/settings/advertised-endpoint'
const plugins = ['advertised-endpoint', 'enrollment', 'clients']
const codec = openCodec(messages)
const currentCapabilities: Readonly<Record<string, string>> = { endpoints: '1.0.0' }

async function connect(t: Teardown, app: TestServer, name: string, capabilities = currentCapabilities) {
  const { port, fingerprint } = app.server.control
  return connectAgent(t, {
    port: port(),
    fingerprint,
    token: await insertClient(app, name),
    capabilities,
    messages,
    responses: [scriptedResponse(Endpoints, () => ({}))]
  })
}

const decodeEndpoints = (parts: Readonly<Record<string, Uint8Array>>): unknown => {
  const part = parts[welcomePart]
  return part && codec.decode(Endpoints, part).endpoints
}

t.test('an agent gets the endpoints in Welcome, and again when they change', async t => {
  const app = await testServer(t, { plugins, keys: { advertised_endpoint: 'localhost:1,localhost:2' } })
  const edge = await connect(t, app, 'edge')
  t.same(decodeEndpoints(edge.welcome.parts), ['localhost:1', 'localhost:2'])

  await app.call('PUT', url, { advertised_endpoint: ['localhost:3', 'localhost:4'] })
  t.same((await edge.until(Endpoints.name)).body, { endpoints: ['localhost:3', 'localhost:4'] })
  t.same(decodeEndpoints((await connect(t, app, 'second')).welcome.parts), ['localhost:3', 'localhost:4'])

  await app.call('PUT', url, { advertised_endpoint: 'nonsense' })
  await app.call('PUT', url, { advertised_endpoint: null })
  t.same((await edge.until(Endpoints.name, 2)).body, { endpoints: ['localhost:1', 'localhost:2'] })
})

t.test(
  'Welcome has an empty list without a configured endpoint, and none if the certificate does not cover it',
  async t => {
    const app = await testServer(t, { plugins })
    t.same(decodeEndpoints((await connect(t, app, 'edge')).welcome.parts), [])
    await app.stop()

    const keys = { advertised_endpoint: 'late.example:7443' }
    const late = await testServer(t, { plugins, keys, dir: app.dir })
    t.equal(decodeEndpoints((await connect(t, late, 'other')).welcome.parts), undefined)
  }
)

t.test('an agent without the capability gets no endpoints', async t => {
  const app = await testServer(t, { plugins })
  const old = await connect(t, app, 'old', {})
  const edge = await connect(t, app, 'edge')

  await app.call('PUT', url, { advertised_endpoint: 'localhost:1' })
  await edge.until(Endpoints.name)

  t.notOk(old.received.some(({ name }) => name === Endpoints.name))
})

t.test('the log names an agent that does not accept the endpoints', async t => {
  const log: LogLine[] = []
  const logged = Promise.withResolvers<void>()
  const refusing = {
    clientId: 'edge',
    ended: new AbortController().signal,
    can: () => true,
    request: async () => {
      throw new Refused('bundle_replaced', 'the bundle now has another token')
    }
  }
  const { announceToAll } = openEndpointAnnouncer({
    control: { peers: { all: () => [refusing] } },
    endpoint: { announced: async () => ['localhost:1'] },
    log: recordLog(log, logged.resolve)
  } as unknown as Parameters<typeof openEndpointAnnouncer>[0]) // it uses only these members

  await announceToAll()
  await logged.promise

  t.match(log, [{ level: 'warn', event: 'endpoint.announce_failed', fields: { client_id: 'edge' } }])
})

t.test('an enrollment URI contains all endpoints', async t => {
  const app = await testServer(t, { plugins, keys: { advertised_endpoint: 'localhost:1,localhost:2' } })

  const { body } = await app.call<{ uri: string }>('POST', '/v1/client-enrollments', { name: 'edge' })

  t.match(body.uri, /^svc:\/\/localhost:1\/enroll\?pin=sha256:[0-9a-f]{64}&code=[\w-]{43}&also=localhost:2$/)
})

t.test('a real agent moves to another endpoint of its server, and reports it', async t => {
  const app = await testServer(t)
  const edge = await openRunningAgent(t, app, 'edge')
  const { port } = app.server.control
  const endpoints = [`127.0.0.1:${port()}`, `localhost:${port()}`]

  await app.call('PUT', url, { advertised_endpoint: endpoints })
  await edge.restart()
  await edge.connected()

  t.ok(endpoints.includes((await edge.status()).server_endpoint))
})
