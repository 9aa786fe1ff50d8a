import { once } from 'node:events'
import { createServer as createTlsServer } from 'node:tls'
import t from 'tap'
import { writeBundle, writePending } from '../../agent/stream/bundle.ts'
import { alpn } from '../../kernel/wire/control.ts'
import { Refused } from '../../kernel/wire/message.ts'
import { openCertificate } from '../../plugins/certificate/certificate.ts'
import { messages } from '../../plugins/rules/wire.ts'
import { deadEndpoint, scriptedServer } from './scripted-server.ts'
import { bundleOf, pushRule, startTestAgent } from './test-agent.ts'

const refuse = (code: string) => () => {
  throw new Refused(code, 'refused')
}
const loopTurns = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await new Promise(resolve => setImmediate(resolve))
}

t.test('a certificate that is not pinned ends the connection before the agent sends data', async t => {
  const { cert, key, fingerprint } = await openCertificate(t.testdir(), { names: [] })
  const received: Buffer[] = []
  const tls = createTlsServer({ cert, key, minVersion: 'TLSv1.3', ALPNProtocols: [alpn] }, socket => {
    socket.on('data', chunk => received.push(chunk))
    socket.on('error', () => {})
  }).listen(0, '127.0.0.1')
  await once(tls, 'listening')
  t.teardown(() => void tls.close())
  const address = tls.address()
  const endpoint = `127.0.0.1:${typeof address === 'object' ? address?.port : ''}`

  const agent = startTestAgent(t, { dir: t.testdir(), server: { endpoint, fingerprint: '00'.repeat(32) } })
  const line = await agent.log.until('control.tls_pinned_mismatch')
  t.same(line.fields, { expected: '00'.repeat(32), got: fingerprint })
  t.same(received, [])

  await loopTurns(5)
  await agent.clock.advance(250)
  await agent.log.until('control.tls_pinned_mismatch', 2)
})

t.test('the next pinned certificate is accepted, too', async t => {
  const server = await scriptedServer(t)
  const dir = t.testdir()
  const { fingerprint: next_server_cert_sha256 } = server
  const old = bundleOf({ endpoint: server.endpoint, fingerprint: '00'.repeat(32) }, 'token-one')
  writeBundle(`${dir}/bundle.json`, { ...old, next_server_cert_sha256 })

  startTestAgent(t, { dir, server })

  t.match((await server.next()).hello, { token: 'token-one' })
})

t.test('reconnects wait a random part of 0.5 s, which doubles up to 30 s', async t => {
  const server = { endpoint: await deadEndpoint(), fingerprint: 'ab'.repeat(32) }
  const { clock, log } = startTestAgent(t, { dir: t.testdir(), server })

  for (const [i, ms] of [250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000].entries()) {
    await log.until('control.unreachable', i + 1)
    await loopTurns(5)
    await clock.advance(ms - 1)
    await loopTurns(5)
    t.equal(log.count('control.unreachable'), i + 1, `not before ${ms} ms`)
    await clock.advance(1)
  }
  await log.until('control.unreachable', 9)
})

t.test('an agent waits a random part of the retry time from the server, bounded to 0.5 to 60 s', async t => {
  const server = await scriptedServer(t)
  const agent = startTestAgent(t, { dir: t.testdir(), server })

  for (const [wishedMs, ms] of [
    [8_000, 4_000],
    [0, 250],
    [2 ** 31, 30_000]
  ] as const) {
    const { dismiss } = await server.next()
    const { length } = server.hellos
    dismiss('shutting_down', { retry_within_ms: wishedMs })
    await agent.log.until('control.disconnected', length)
    await loopTurns(5)
    await agent.clock.advance(ms - 1)
    await loopTurns(5)
    t.equal(server.hellos.length, length, `not before ${ms} ms`)
    await agent.clock.advance(1)
  }
  await server.next()
})

t.test('a revoked agent closes and deletes its rules, marks its bundle and stops', async t => {
  const server = await scriptedServer(t, { messages })
  const agent = startTestAgent(t, { dir: t.testdir(), server })
  const connection = await server.next()
  await pushRule(connection, 'rule-1', 1, 8080)

  connection.dismiss('token_revoked')

  t.equal(await agent.outcome, 'revoked')
  t.match(await agent.log.until('auth.failure'), { level: 'error', fields: { reason: 'token_revoked' } })
  t.same(agent.engine.closed, [{ ruleId: 1, drainMs: 0 }])
  t.match(agent.bundle(), { token: 'token-one', revoked_at: /^\d{4}-.*Z$/ })
  t.equal(server.hellos.length, 1)
})

t.test('an agent revoked while disconnected stops at its next Hello', async t => {
  const server = await scriptedServer(t, { messages })
  server.onHello = refuse('token_revoked')
  const agent = startTestAgent(t, { dir: t.testdir(), server })

  t.equal(await agent.outcome, 'revoked')

  t.ok(agent.bundle()?.revoked_at)
})

t.test('a running agent takes a new token from its bundle without a change to its rules', async t => {
  const server = await scriptedServer(t, { messages })
  const agent = startTestAgent(t, { dir: t.testdir(), server })
  const first = await server.next()
  await pushRule(first, 'rule-1', 1, 8080)
  writeBundle(agent.bundleFile, bundleOf(server, 'token-two'))

  first.dismiss('token_revoked')

  t.match((await server.next()).hello, { token: 'token-two' })
  t.equal(agent.engine.opened.length, 1)
  t.equal(agent.engine.closed.length, 0)
  t.equal(agent.log.count('auth.failure'), 0)
})

t.test('during an enrollment a revoked agent reads its bundle each second', async t => {
  const server = await scriptedServer(t, { messages })
  const agent = startTestAgent(t, { dir: t.testdir(), server })
  const first = await server.next()
  await pushRule(first, 'rule-1', 1, 8080)
  const { endpoint: server_endpoint, fingerprint: server_cert_sha256 } = server
  writePending(agent.bundleFile, { version: 1, server_endpoint, server_cert_sha256, token: 'token-two' })

  first.dismiss('token_revoked')
  await agent.log.until('control.disconnected')
  await loopTurns(5)
  await agent.clock.advance(10_000)
  t.equal(agent.engine.rules.size, 1)
  writeBundle(agent.bundleFile, bundleOf(server, 'token-two'))
  await agent.clock.advance(1000)

  t.match((await server.next()).hello, { token: 'token-two' })
  t.equal(agent.engine.opened.length, 1)
})

t.test('a revoked agent waits at most 60 s for an enrollment', async t => {
  const server = await scriptedServer(t, { messages })
  const agent = startTestAgent(t, { dir: t.testdir(), server })
  const first = await server.next()
  const { endpoint: server_endpoint, fingerprint: server_cert_sha256 } = server
  writePending(agent.bundleFile, { version: 1, server_endpoint, server_cert_sha256, token: 'token-two' })

  first.dismiss('token_revoked')
  await agent.log.until('control.disconnected')
  await loopTurns(5)
  await agent.clock.advance(59_999)
  t.equal(agent.log.count('auth.failure'), 0)
  await agent.clock.advance(1001)

  t.equal(await agent.outcome, 'revoked')
})

t.test('a bundle with another token is not marked as revoked', async t => {
  const server = await scriptedServer(t, { messages })
  const agent = startTestAgent(t, { dir: t.testdir(), server })
  const connection = await server.next()
  await pushRule(connection, 'rule-1', 1, 8080)
  agent.log.until('auth.failure').then(() => writeBundle(agent.bundleFile, bundleOf(server, 'token-two')))

  connection.dismiss('token_revoked')
  await agent.outcome

  t.equal(agent.bundle()?.revoked_at, undefined)
})

t.test('an agent with an unknown token keeps its rules and retries every 30 s', async t => {
  const server = await scriptedServer(t, { messages })
  const dir = t.testdir()
  const before = startTestAgent(t, { dir, server })
  await pushRule(await server.next(), 'rule-1', 1, 8080)
  await before.stop()
  server.onHello = refuse('token_unknown')

  const agent = startTestAgent(t, { dir, server })
  t.match((await agent.log.until('control.disconnected')).fields, { reason: 'token_unknown' })
  await loopTurns(5)
  await agent.clock.advance(29_999)
  t.equal(server.hellos.length, 2)
  await agent.clock.advance(1)
  await agent.log.until('control.disconnected', 2)

  t.equal(server.hellos.length, 3)
  t.equal(agent.engine.rules.size, 1)
})

t.test('one of two agents with the same bundle waits 30 s', async t => {
  const server = await scriptedServer(t, { messages })
  const agent = startTestAgent(t, { dir: t.testdir(), server })

  const first = await server.next()
  first.dismiss('instance_conflict')
  await agent.log.until('control.disconnected')
  await loopTurns(5)
  await agent.clock.advance(29_999)
  t.equal(server.hellos.length, 1)
  await agent.clock.advance(1)

  await server.next()
  t.equal(server.hellos.length, 2)
})

t.test('the agent disconnects from a silent server within 30 s', async t => {
  const server = await scriptedServer(t, { messages })
  const agent = startTestAgent(t, { dir: t.testdir(), server })
  await server.next()
  await agent.log.until('control.connected')

  await agent.clock.advance(30_000) // the server's clock does not advance, so it sends no heartbeat

  t.match((await agent.log.until('control.disconnected')).fields, { reason: 'silent' })
})
