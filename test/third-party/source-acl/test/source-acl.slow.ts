// Loads the plugin by path. Real server and agent, callers from two loopback addresses.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { conform } from '../../../../kit/public.ts'
import { freePort } from '../../../support/ports.ts'
import { startAgent, testCluster, token } from '../../../support/test-cluster.ts'
import { hasHostBits, parsePrefix } from '../prefix.ts'

const folder = join(import.meta.dirname, '..')
const allowedAddress = '127.0.0.1'
const deniedAddress = '127.0.0.2'

t.test('the plugin passes sluice plugin check', async t => {
  t.same((await conform(folder)).problems, [])
})

t.test('a prefix is normalized; other text, zones and mapped IPv4 addresses are null', async t => {
  t.equal(parsePrefix(' 192.0.2.7/32'), '192.0.2.7')
  t.equal(parsePrefix('192.0.2.0/24'), '192.0.2.0/24')
  t.equal(parsePrefix('2001:DB8:0::/32'), '2001:db8::/32')
  for (const bad of [
    '',
    'example.org',
    '192.0.2.0/33',
    '192.0.2/24',
    '::/129',
    'fe80::1%eth0',
    '::ffff:1.2.3.4',
    '1.1.1.1/a'
  ])
    t.equal(parsePrefix(bad), null, bad)
})

t.test('a prefix with host bits is recognized', async t => {
  for (const unclear of [
    '10.0.0.1/8',
    '192.0.2.129/25',
    '2001:db8::1/32',
    '2001:db8:8000::/32',
    '::1/0',
    '1.1.1.1/0'
  ])
    t.ok(hasHostBits(unclear), unclear)
  for (const clear of [
    '10.0.0.1',
    '10.0.0.0/8',
    '192.0.2.128/25',
    '2001:db8::/32',
    '::/0',
    '0.0.0.0/0',
    '2001:db8:8000::/33',
    '::1.2.3.0/120'
  ])
    t.notOk(hasHostBits(clear), clear)
})

/** A server and an agent with the plugin, shared by all tests below. */
const starting = testCluster(t, {}, `[plugins."${folder}"]\n`).then(async cluster => {
  await startAgent(t, cluster, 'paris', { args: ['--config', cluster.configFile] })
  return cluster
})

t.test(
  'source addresses are checked at accept, and a change ends connections that are no longer allowed',
  async t => {
    const { rule, put, rejected } = await createRule(t, 'tcp', await openTcpEcho(t), {
      deny: [deniedAddress]
    })
    const mine = await openCaller(t, rule.listen_port, allowedAddress)
    t.equal(await echoOf(mine), 'hello')
    await t.rejects(
      openCaller(t, rule.listen_port, deniedAddress).then(socket => echoOf(socket)),
      'reset'
    )
    await rejected(1)

    const cut = new Promise(resolve => mine.once('error', () => {}).once('close', resolve))
    t.equal(await put({ allow: ['10.0.0.0/8'] }), 200)
    await cut
    t.equal(await put({ allow: ['10.0.0.1/8'] }), 400)
    t.equal(await put(null), 200)
    t.equal(await echoOf(await openCaller(t, rule.listen_port, deniedAddress)), 'hello')
  }
)

t.test('source addresses are also checked for a rule with a TLS name', async t => {
  const { rule, rejected } = await createRule(
    t,
    'tcp',
    await openTcpEcho(t),
    { deny: [deniedAddress] },
    { sni_pattern: 'a.example' }
  )
  const hello = await clientHello('a.example')
  t.same(await echoOf(await openCaller(t, rule.listen_port, allowedAddress), hello), hello.toString('latin1'))
  await t.rejects(
    openCaller(t, rule.listen_port, deniedAddress).then(socket => echoOf(socket, hello)),
    'reset'
  )
  await rejected(1)
})

t.test('a denied UDP flow gets no answer', async t => {
  const { rule, rejected } = await createRule(t, 'udp', await openUdpEcho(t), { allow: [allowedAddress] })
  const mine = await openUdpCaller(t, rule.listen_port, allowedAddress)
  const theirs = await openUdpCaller(t, rule.listen_port, deniedAddress)
  theirs.on('message', () => t.fail('a denied caller got an answer'))
  theirs.send('hello')
  mine.send('hello')
  const [message] = await once(mine, 'message')
  t.equal(String(message), 'hello')
  await rejected(1)
})

/** Creates a rule on the agent. */
async function createRule(t: Test, protocol: string, target: number, acl: object, more: object = {}) {
  const { origin } = await starting
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const send = (method: string, path: string, body: object) =>
    fetch(`${origin}${path}`, { method, headers, body: JSON.stringify(body) })
  const reply = await send('POST', '/v1/rules', {
    client: 'paris',
    protocol,
    listen_port: await freePort(),
    targets: [{ host: '127.0.0.1', port: target }],
    source_acl: acl,
    ...more
  })
  const rule = (await reply.json()) as { rule_id: string; listen_port: number }
  t.equal(reply.status, 201, JSON.stringify(rule))
  return {
    rule,
    put: async (source_acl: object | null) =>
      (await send('PUT', `/v1/rules/${rule.rule_id}`, { source_acl })).status,
    /** Resolves when the stats show this number of denied callers. The agent reports every 5 s. */
    async rejected(count: number) {
      const { body } = await fetch(`${origin}/v1/rules/${rule.rule_id}/stats/stream`, { headers })
      let text = ''
      for await (const chunk of body ?? []) {
        text += Buffer.from(chunk).toString()
        if (Number(/"source_denied":(\d+)/.exec(text.slice(text.lastIndexOf('data:')))?.[1]) >= count) return
      }
    }
  }
}

async function openTcpEcho(t: Test): Promise<number> {
  const server = createServer(socket => socket.on('error', () => {}).pipe(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return (server.address() as { port: number }).port
}

async function openUdpEcho(t: Test): Promise<number> {
  const socket = createSocket('udp4', (message, { port, address }) => socket.send(message, port, address))
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.teardown(() => void socket.close())
  return socket.address().port
}

async function openCaller(t: Test, port: number, localAddress: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  return socket
}

/** Resolves with the echo. Rejects if the connection ends or is reset first. */
async function echoOf(socket: Socket, text: string | Buffer = 'hello'): Promise<string> {
  socket.write(text)
  let got = ''
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    got += (chunk as Buffer).toString('latin1')
    if (got.length >= text.length) return got
  }
  throw new Error('the connection ended')
}

async function openUdpCaller(t: Test, port: number, address: string) {
  const socket = createSocket('udp4')
  socket.bind(0, address)
  await once(socket, 'listening')
  socket.connect(port, '127.0.0.1')
  await once(socket, 'connect')
  t.teardown(() => void socket.close())
  return socket
}

/** Returns a ClientHello of Node's TLS. */
async function clientHello(servername: string): Promise<Buffer> {
  const { connect } = await import('node:tls')
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect({ port: (server.address() as { port: number }).port, host: '127.0.0.1', servername })
  client.on('error', () => {})
  const [socket] = (await once(server, 'connection')) as [Socket]
  const [hello] = (await once(socket, 'data')) as [Buffer]
  client.destroy()
  socket.destroy()
  server.close()
  return hello
}
