// Enrollment by an agent, over TLS on the control stream.
import { once } from 'node:events'
import { connect } from 'node:tls'
import t, { type Test } from 'tap'
import { messages, Redeem, Redeemed, welcomePart } from '../../../agent/wire/enrollment.ts'
import { systemClock } from '../../../kernel/base/clock.ts'
import { hashOf } from '../../../kernel/identity/secret.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { openCodec } from '../../../kernel/wire/codec.ts'
import { alpn, controlMessages, Ended, Hello, protocolVersion } from '../../../kernel/wire/control.ts'
import { wireMessages } from '../../../kernel/wire/envelope.ts'
import { on } from '../../../kernel/wire/message.ts'
import { Stream } from '../../../kernel/wire/stream.ts'
import { recordLog, type TestServer, testServer } from '../../../kit/test-server.ts'
import type { ClientRow } from '../../clients/client-row.ts'
import type { Invitation } from '../schema.ts'
import { codeIn, endpointUrl, plugins, redeem } from './fixture.ts'

const codec = openCodec([...wireMessages, ...controlMessages, ...messages])

/** Connects a minimal agent. `endCode` resolves with the code of Ended, or with 'closed' without one. */
async function connectAgent(t: Test, { server: { control } }: TestServer) {
  const socket = connect({
    port: control.port(),
    host: '127.0.0.1',
    ALPNProtocols: [alpn],
    minVersion: 'TLSv1.3',
    rejectUnauthorized: false
  })
  t.teardown(() => socket.destroy())
  await once(socket, 'secureConnect')
  const { promise: endCode, resolve } = Promise.withResolvers<string>()
  const ended = on(Ended, async (_: null, { code }) => resolve(code))
  const handlers = [{ name: Ended.name, run: ended.run.bind(null, null) }]
  const { channel, ended: closed } = new Stream({
    socket,
    codec,
    handlers,
    clock: systemClock,
    log: recordLog([])
  })
  closed.addEventListener('abort', () => resolve('closed'))
  const refusal = (error: { code: string }): string => error.code

  return {
    endCode,
    isUp: () => !closed.aborted,
    redeem: (code: string, token: string) =>
      channel.request(Redeem, { code, token_hash: hashOf(token) }).catch(refusal),
    hello: (token: string) =>
      channel
        .request(Hello, {
          token,
          agent_version: '2.0.0',
          protocol_version: protocolVersion,
          capabilities: { versions: { 'a.thing': '1.0.0' } },
          instance_id: token,
          state_digest: ''
        })
        .catch(refusal)
  }
}

async function codeFor(app: TestServer, url: string, body?: object): Promise<string> {
  return codeIn((await app.call<Invitation>('POST', url, body)).body)
}

/** Enrolls a client and connects its agent. */
async function enrolledAgent(t: Test, app: TestServer, token: string, name = 'edge') {
  const edge = await connectAgent(t, app)
  const redeemed = await edge.redeem(await codeFor(app, '/v1/client-enrollments', { name }), token)
  if (typeof redeemed === 'string') throw new Error(`redeem: ${redeemed}`)
  await edge.hello(token)
  return { ...edge, url: `/v1/clients/${redeemed.client_id}` }
}

t.test('an agent redeems its code, sends Hello with the token that it made, and is connected', async t => {
  const app = await testServer(t, { plugins })

  const edge = await enrolledAgent(t, app, 'token')

  t.match(await app.call<ClientRow>('GET', edge.url), {
    body: {
      state: 'connected',
      connected: true,
      remote_addr: '127.0.0.1',
      connected_at: '2026-01-15T12:00:00.000Z',
      last_seen_at: '2026-01-15T12:00:00.000Z',
      agent_version: '2.0.0',
      capabilities: { 'a.thing': '1.0.0' }
    }
  })
})

t.test('Welcome repeats the response to an agent that missed it at redeem', async t => {
  const app = await testServer(t, { plugins })
  const edge = await connectAgent(t, app)
  const code = await codeFor(app, '/v1/client-enrollments', { name: 'edge' })
  const missed = await edge.redeem(code, 'token')
  await app.call('PUT', endpointUrl, { advertised_endpoint: 'localhost:1' })

  const welcome = await (await connectAgent(t, app)).hello('token')

  if (typeof welcome === 'string') throw new Error(`hello: ${welcome}`)
  t.strictSame(codec.decode(Redeemed, welcome.parts[welcomePart] ?? new Uint8Array()), missed)
})

t.test('a refused code gets an error on the stream, which stays open', async t => {
  const app = await testServer(t, { plugins })
  const edge = await connectAgent(t, app)
  const late = await codeFor(app, '/v1/client-enrollments', { name: 'late', ttl_secs: 1 })
  await app.clock.advance(1000)

  t.equal(await edge.redeem('x'.repeat(43), 'token'), 'enrollment_invalid')
  t.equal(await edge.redeem(late, 'token'), 'enrollment_expired')

  const code = await codeFor(app, '/v1/client-enrollments', { name: 'edge' })
  t.match(await edge.redeem(code, 'token'), { client_name: 'edge' })
})

t.test('a rename and a new address do not end the stream', async t => {
  const app = await testServer(t, { plugins })
  const edge = await enrolledAgent(t, app, 'token')
  const before = await app.call<ClientRow>('GET', edge.url)

  await app.call('PATCH', `${edge.url}/name`, { client_name: 'renamed' })
  await app.call('PUT', edge.url, { address: 'edge.example' })

  const renamed = { ...before.body, client_name: 'renamed', address: 'edge.example' }
  t.strictSame((await app.call('GET', edge.url)).body, renamed)
  t.ok(edge.isUp())
})

t.test('two clients of the same name are connected at the same time', async t => {
  const app = await testServer(t, { plugins })

  const [one, two] = [await enrolledAgent(t, app, 'one', 'twin'), await enrolledAgent(t, app, 'two', 'twin')]

  t.match(await app.call('GET', '/v1/clients'), {
    body: [
      { client_name: 'twin', connected: true },
      { client_name: 'twin', connected: true }
    ]
  })
  await app.call('POST', `${one.url}/revoke`)
  t.equal(await one.endCode, 'token_revoked')
  t.ok(two.isUp())
})

t.test('the stream of a revoked client ends, and a reconnect is refused with token_revoked', async t => {
  const app = await testServer(t, { plugins })
  const edge = await enrolledAgent(t, app, 'token')

  t.match(await app.call('POST', `${edge.url}/revoke`), { status: 204 })

  t.equal(await edge.endCode, 'token_revoked')
  t.match(await app.call('GET', edge.url), {
    body: { state: 'revoked', connected: false, remote_addr: null }
  })
  t.match(
    app.log.filter(({ event }) => event === 'client.disconnected'),
    [{ fields: { reason: 'token_revoked' } }]
  )
  t.equal(await (await connectAgent(t, app)).hello('token'), 'token_revoked')
  await app.call('DELETE', edge.url)
  t.equal(await (await connectAgent(t, app)).hello('token'), 'token_revoked')
  t.equal(await (await connectAgent(t, app)).hello('another'), 'token_unknown')
})

t.test('an agent that reconnects with its new token before the old session ends stays connected', async t => {
  const app = await testServer(t, { plugins })
  const old = await enrolledAgent(t, app, 'old')
  const code = await codeFor(app, `${old.url}/enrollment`)
  const next = await connectAgent(t, app)
  const deps = app.server.depsOf('enrollment')
  const store: Kernel['store'] = {
    ...deps.store,
    async change(work) {
      const done = await deps.store.change(work)
      await next.hello('new')
      return done
    }
  }

  await redeem(app, code, 'new', { ...deps, store })

  t.equal(await old.endCode, 'replaced')
  t.match(await app.call('GET', old.url), { body: { connected: true } })
  t.ok(next.isUp())
})

t.test('re-enrollment ends the session of the old token, and repeating it ends no session', async t => {
  const app = await testServer(t, { plugins })
  const old = await enrolledAgent(t, app, 'old')
  const code = await codeFor(app, `${old.url}/enrollment`)
  const next = await connectAgent(t, app)
  t.ok(old.isUp(), 'making the code changes nothing')

  const first = await next.redeem(code, 'new')

  t.equal(await old.endCode, 'token_revoked')
  t.equal(await (await connectAgent(t, app)).hello('old'), 'token_revoked')
  await next.hello('new')
  t.match(await app.call('GET', old.url), { body: { connected: true } })
  t.strictSame(await (await connectAgent(t, app)).redeem(code, 'new'), first)
  t.ok(next.isUp())
  t.match(await app.call('GET', old.url), { body: { connected: true } })
})
