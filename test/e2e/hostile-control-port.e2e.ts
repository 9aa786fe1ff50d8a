// Hostile traffic on a public control port, and revoked agents.
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect as connectTcp, type Socket } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import t from 'tap'
import { freePort } from '../support/ports.ts'
import { sluice, start } from '../support/process.ts'
import { startAgent, testCluster } from '../support/test-cluster.ts'
import { get, startWebServer } from '../support/web.ts'

t.test(
  'the agent aborts the handshake if the certificate is not the pinned one, and the server logs nothing',
  async t => {
    const cluster = await testCluster(t)
    const { agent, stateDir } = await startAgent(t, cluster, 'paris')
    agent.signal('SIGTERM')
    await agent.exit
    await cluster.server.until('client.disconnected')
    const bundle = JSON.parse(readFileSync(join(stateDir, 'bundle.json'), 'utf8'))
    const expected = '0'.repeat(64)
    writeFileSync(join(stateDir, 'bundle.json'), JSON.stringify({ ...bundle, server_cert_sha256: expected }))
    const before = cluster.server.events.length

    const restarted = start(t, ['agent', 'run', '--state-dir', stateDir])

    t.match(await restarted.until('control.tls_pinned_mismatch'), { expected, got: cluster.fingerprint })
    t.equal(cluster.server.events.length, before)
  }
)

t.test('a revoked agent exits with 4, and does not start again until it is enrolled again', async t => {
  const cluster = await testCluster(t)
  const { agent, clientId, stateDir } = await startAgent(t, cluster, 'paris')
  const page = await startWebServer(t)
  const port = await freePort()
  await cluster.json('rule', 'push', 'paris', String(port), `127.0.0.1:${page}`)
  t.match(await get(`http://127.0.0.1:${port}/`), /hello/)

  await cluster.cli(['client', 'revoke', clientId])

  t.match(await cluster.server.until('client.disconnected'), { reason: 'token_revoked' })
  t.equal(await agent.exit, 4)
  t.match(
    agent.events.find(({ event }) => event === 'auth.failure'),
    { reason: 'token_revoked' }
  )
  await t.rejects(get(`http://127.0.0.1:${port}/`))
  const again = start(t, ['agent', 'run', '--state-dir', stateDir])
  t.equal(await again.exit, 4)
  t.match(again.events, [{ event: 'auth.failure', reason: 'token_revoked' }])

  const { uri } = await cluster.json<{ uri: string }>('client', 're-enroll', clientId)
  t.equal((await sluice(['agent', 'enroll', '-', '--state-dir', stateDir], {}, uri)).code, 0)
  const back = start(t, ['agent', 'run', '--state-dir', stateDir])
  await back.until('rule.opened')
  t.match(await get(`http://127.0.0.1:${port}/`), /hello/)
})

t.test('exactly one of many concurrent redemptions of one code succeeds', async t => {
  const cluster = await testCluster(t)
  const { uri } = await cluster.json<{ uri: string }>('client', 'enroll', 'paris')
  const many = Array.from({ length: 8 }, (_, at) =>
    sluice(['agent', 'enroll', '-', '--state-dir', join(cluster.dir, `agent-${at}`)], {}, uri)
  )

  const codes = (await Promise.all(many)).map(({ code }) => code).sort()

  t.same(codes, [0, 4, 4, 4, 4, 4, 4, 4])
  t.equal((await cluster.json<unknown[]>('client', 'list')).length, 1)
})

t.test(
  'garbage, slow bytes and a thousand connections without a handshake on the control port do not disturb connected agents',
  async t => {
    const cluster = await testCluster(t)
    const { agent } = await startAgent(t, cluster, 'paris')
    const page = await startWebServer(t)
    const port = await freePort()
    const sockets: { destroy(): void }[] = []
    t.teardown(() => {
      for (const socket of sockets) socket.destroy()
    })
    const open = async (): Promise<Socket> => {
      const socket = connectTcp(cluster.controlPort, '127.0.0.1')
      socket.on('error', () => {})
      sockets.push(socket)
      await once(socket, 'connect')
      return socket
    }

    await Promise.all(Array.from({ length: 1000 }, open))
    const garbage = await open()
    garbage.write(Buffer.alloc(64 * 1024, 0x5a))
    const slow = connectTls({
      port: cluster.controlPort,
      host: '127.0.0.1',
      rejectUnauthorized: false,
      ALPNProtocols: ['svc-control/1']
    })
    slow.on('error', () => {})
    sockets.push(slow)
    await once(slow, 'secureConnect')
    slow.write(Buffer.from([0, 0]))
    const huge = connectTls({
      port: cluster.controlPort,
      host: '127.0.0.1',
      rejectUnauthorized: false,
      ALPNProtocols: ['svc-control/1']
    })
    huge.on('error', () => {})
    sockets.push(huge)
    await once(huge, 'secureConnect')
    huge.write(Buffer.from([0x7f, 0xff, 0xff, 0xff]))
    await once(huge, 'close')

    const rule = await cluster.json<{ state: string }>(
      'rule',
      'push',
      'paris',
      String(port),
      `127.0.0.1:${page}`
    )
    t.equal(rule.state, 'active')
    t.match(await get(`http://127.0.0.1:${port}/`), /hello/)
    await (await startAgent(t, cluster, 'lyon')).agent.until('control.connected')
    t.equal(agent.count('control.disconnected'), 0)
  }
)
