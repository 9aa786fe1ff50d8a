// Streams that are accepted, refused ones, which affect no others, and the certificate.
import { once } from 'node:events'
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { connect as connectTcp, type Socket } from 'node:net'
import { join } from 'node:path'
import { Duplex } from 'node:stream'
import { connect } from 'node:tls'
import t, { type Test } from 'tap'
import { type Clock, systemClock } from '../../../kernel/base/clock.ts'
import { alpn, Ended } from '../../../kernel/wire/control.ts'
import { bindHandlers, on } from '../../../kernel/wire/message.ts'
import { Stream } from '../../../kernel/wire/stream.ts'
import { fakeClock } from '../../../kit/fake-clock.ts'
import { dial } from '../../../kit/scripted-agent.ts'
import { recordLog } from '../../../kit/test-server.ts'
import { openCertificate } from '../../certificate/certificate.ts'
import { HandshakeQueue, type Newcomer } from '../listener/handshake-queue.ts'
import { Listener } from '../listener/listener.ts'
import { judge } from '../listener/read-client-hello.ts'
import { openWorkBudgets } from '../listener/work-budget.ts'
import { codec, controlFixture } from './fixture.ts'

async function openSocket(t: Test, port: number, localAddress = '127.0.0.1'): Promise<Socket> {
  const socket = connectTcp({ port, host: '127.0.0.1', localAddress })
  socket.on('error', () => {}) // a reset is expected
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  return socket
}

const isOpen = ({ closed, destroyed, readableEnded }: Socket): boolean =>
  !closed && !destroyed && !readableEnded
const untilClosed = (socket: Socket): unknown => socket.closed || once(socket.resume(), 'close')

t.test('a stream without authentication within 10 s is closed, with or without TLS', async t => {
  const { control, clock, log } = await controlFixture(t)
  const { fingerprint } = control
  const bare = await openSocket(t, control.port())
  const { socket: secure } = await dial({ port: control.port(), fingerprint })
  secure.on('error', () => {})

  await clock.advance(9_999)
  t.ok(isOpen(bare))
  t.ok(isOpen(secure))
  await clock.advance(1)

  await Promise.all([untilClosed(bare), untilClosed(secure)])
  t.same(log, [])
})

t.test('a stream that sends one byte at a time gets no extra time', async t => {
  const { control, clock } = await controlFixture(t)
  const { socket } = await dial({ port: control.port(), fingerprint: control.fingerprint })
  socket.on('error', () => {})

  for (let second = 0; second < 10; second++) {
    socket.write(Buffer.from([0]))
    await new Promise(resolve => setImmediate(resolve))
    await clock.advance(1_000)
  }

  await untilClosed(socket)
})

/** The first bytes of an agent. */
async function clientHello(): Promise<Buffer> {
  const sent = Promise.withResolvers<Buffer>()
  const wire = new Duplex({ read() {}, write: (bytes: Buffer) => sent.resolve(bytes) })
  connect({ socket: wire, ALPNProtocols: [alpn] })
  return sent.promise
}

/** Opens a stream that starts a handshake and never finishes it. */
async function openStuck(t: Test, port: number, localAddress?: string): Promise<Socket> {
  const socket = await openSocket(t, port, localAddress)
  socket.write(await clientHello())
  await once(socket, 'data') // the server has begun
  return socket
}

t.test('an address may have 16 handshakes at once: the next one waits until one has taken 3 s', async t => {
  const { control, clock } = await controlFixture(t)
  const sockets: Socket[] = []
  for (let i = 0; i < 16; i++) sockets.push(await openStuck(t, control.port()))
  const other = await openStuck(t, control.port(), '127.0.0.2')
  const { port, fingerprint } = control
  const newcomer = dial({ port: port(), fingerprint })
  const elsewhere = await dial({ port: port(), fingerprint, localAddress: '127.0.0.3' })
  await clock.advance(2_750)
  t.ok(sockets.every(isOpen))

  await clock.advance(250)

  await untilClosed(sockets[0]!)
  t.ok(isOpen(other))
  t.ok(isOpen((await newcomer).socket))
  t.ok(isOpen(elsewhere.socket))
})

t.test('half-open streams and garbage do not block an agent with the same address', async t => {
  const { control, enroll, connectAgent } = await controlFixture(t)
  const { token } = await enroll()
  const [hello, port] = [await clientHello(), control.port()]
  const silent = await Promise.all(Array.from({ length: 40 }, () => openSocket(t, port)))
  const halves = await Promise.all(Array.from({ length: 40 }, () => openSocket(t, port)))
  for (const socket of halves) socket.write(hello.subarray(0, hello.length - 1))
  const garbage = await Promise.all(Array.from({ length: 40 }, () => openSocket(t, port)))
  for (const socket of garbage) socket.write('GET / HTTP/1.1\r\n\r\n')

  const { welcome } = await connectAgent(token) // the clock does not advance, so no stream has given way

  t.ok(welcome.session_id)
  await Promise.all(garbage.map(untilClosed))
  t.ok([...silent, ...halves].every(isOpen), 'they have their 10 s')
})

t.test('bytes after a ClientHello, or a second one, end the stream before it costs anything', async t => {
  const hello = await clientHello()
  const tooLong = Buffer.from([0x16, 3, 1, 0x10, 0])
  for (const [bytes, judged] of [
    [hello, 'complete'],
    [hello.subarray(0, 5), 'partial'],
    [hello.subarray(0, 2), 'partial'],
    [Buffer.concat([hello, Buffer.from([0])]), 'garbage'],
    [Buffer.concat([hello, hello]), 'garbage'],
    [tooLong, 'garbage'],
    [Buffer.from('SSH-2.0-x'), 'garbage']
  ] as const)
    t.equal(judge(bytes), judged)
})

t.test('an agent that gives way to others learns when to return', async t => {
  const clock = fakeClock()
  const waits = Promise.withResolvers<void>()
  const every: Clock['every'] = (ms, work) => {
    if (ms === 250) waits.resolve()
    return clock.every(ms, work)
  }
  const { control, enroll, connectAgent } = await controlFixture(t, { clock: { ...clock, every } })
  const { token } = await enroll()
  const { port, fingerprint } = control
  const { socket } = await dial({ port: port(), fingerprint }) // says no Hello
  const ended = Promise.withResolvers<unknown>()
  const onEnded = on(Ended, async (_: null, body) => ended.resolve(body))
  const handlers = bindHandlers([onEnded], () => null)
  new Stream({ socket, codec, handlers, clock: systemClock, log: recordLog([]) })
  for (let i = 0; i < 15; i++) await openStuck(t, port())
  const next = connectAgent(token)
  await waits.promise
  await clock.advance(3_000)

  t.match(await ended.promise, { code: 'full', retry_within_ms: 1_000 })
  t.ok((await next).welcome)
})

t.test('a handshake that has started is not closed for newcomers', async t => {
  const { control, clock } = await controlFixture(t)
  const begun = await dial({
    port: control.port(),
    fingerprint: control.fingerprint,
    localAddress: '127.0.2.1'
  })
  const sockets: Socket[] = []
  for (let i = 0; i < 600; i++) sockets.push(await openSocket(t, control.port(), `127.0.1.${1 + (i % 32)}`))

  await clock.advance(2_750)

  t.ok(isOpen(begun.socket))
  t.ok(sockets.every(isOpen))
})

/** Opens a queue. `begun` and `dropped` list its streams by name. */
function queueOf(t: Test) {
  const queue = new HandshakeQueue(systemClock)
  const [dropped, begun]: [string[], string[]] = [[], []]
  const newcomerOf = (network: string, name: string): Newcomer => {
    const newcomer: Newcomer = {
      network,
      begin: () => void begun.push(name),
      drop() {
        dropped.push(name)
        queue.leave(newcomer)
      }
    }
    t.teardown(() => queue.leave(newcomer))
    return newcomer
  }
  return {
    dropped,
    begun,
    queue,
    newcomerOf,
    enter: (network: string, name: string) => queue.enter(newcomerOf(network, name))
  }
}

t.test('beyond 8,192 waiting streams, the newest of the address with the most is closed', async t => {
  const { enter, dropped } = queueOf(t)
  for (let i = 0; i < 4_000; i++) enter('a', `a${i}`)
  for (let i = 0; i < 4_192; i++) enter('b', `b${i}`)
  t.same(dropped, [])

  enter('c', 'c0')
  enter('b', 'b4192')

  t.same(dropped, ['b4191', 'b4192'])
})

t.test('beyond 8,192 silent streams, the oldest of the address with the most is closed', async t => {
  const { queue, newcomerOf, dropped } = queueOf(t)
  const arrive = (network: string, name: string) => queue.arrive(newcomerOf(network, name))
  for (let i = 0; i < 8_192; i++) arrive('a', `a${i}`)

  arrive('b', 'b0')
  arrive('a', 'a8192')

  t.same(dropped, ['a0', 'a1'])
})

t.test('four handshakes start in each turn of the event loop, and addresses take turns', async t => {
  const { enter, begun } = queueOf(t)
  for (const name of ['a0', 'a1', 'a2', 'b0', 'b1', 'c0']) enter(name[0]!, name)

  await new Promise(resolve => setImmediate(resolve))
  const first = [...begun]
  await new Promise(resolve => setImmediate(resolve))

  t.same(first, ['a0', 'b0', 'c0', 'a1'])
  t.same(begun, ['a0', 'b0', 'c0', 'a1', 'b1', 'a2'])
})

t.test('a thousand half-open streams and garbage do not keep an agent out', async t => {
  const { control, clock, enroll, connectAgent, log } = await controlFixture(t)
  const { token, clientId } = await enroll()
  const idle = await Promise.all(
    Array.from({ length: 1000 }, (_, i) => openSocket(t, control.port(), `127.0.3.${1 + (i % 100)}`))
  )
  for (const socket of idle.slice(500)) socket.write(Buffer.alloc(3000, 0x47))
  const joining = connectAgent(token)
  for (let ms = 0; ms <= 3_000; ms += 250) await clock.advance(250)

  const agent = await joining

  t.ok(control.peers.find(clientId))
  t.notOk(agent.ended.aborted)
  t.same(
    log.map(({ event }) => event),
    ['client.connected']
  )
})

t.test('only TLS 1.3 and this protocol are accepted; a refusal is not logged', async t => {
  const { control, log } = await controlFixture(t)
  const base = { port: control.port(), host: '127.0.0.1', rejectUnauthorized: false }
  for (const [name, options] of Object.entries({
    'TLS 1.2': { ...base, maxVersion: 'TLSv1.2', ALPNProtocols: [alpn] } as const,
    'another protocol': { ...base, ALPNProtocols: ['h2'] },
    'no protocol': base
  })) {
    const socket = connect(options)
    socket.on('error', () => {})
    socket.resume()

    await new Promise(resolve => socket.once('close', resolve))

    t.pass(name)
  }
  t.same(log, [])
})

t.test('an agent that receives another certificate sends nothing, and the server logs nothing', async t => {
  const { control, log } = await controlFixture(t)

  await t.rejects(dial({ port: control.port(), fingerprint: '00'.repeat(32) }), /pinned/)

  t.same(log, [])
})

t.test('an error names a port that is in use', async t => {
  const { control } = await controlFixture(t)
  const certificate = await openCertificate(t.testdir())
  const second = new Listener({
    budgets: openWorkBudgets(systemClock),
    listen: `127.0.0.1:${control.port()}`,
    certificate,
    clock: { ...systemClock, after: () => () => {}, every: () => () => {} },
    log: recordLog([]),
    onStream: () => {}
  })

  await t.rejects(second.start(), {
    errorCode: { code: 'startup.listen_failed' },
    message: /control_listen .*EADDRINUSE/
  })
})

t.test('an error names the address that the server cannot listen on', async t => {
  const certificate = await openCertificate(t.testdir())
  const clock = { ...systemClock, after: () => () => {}, every: () => () => {} }
  for (const address of ['no address', 'localhost', '192.0.2.1:1', '127.0.0.1:70000']) {
    const listener = new Listener({
      budgets: openWorkBudgets(systemClock),
      listen: address,
      certificate,
      clock,
      log: recordLog([]),
      onStream: () => {}
    })

    await t.rejects(listener.start(), { message: new RegExp(`control_listen ${address}`) })
  }
})

t.test('one listener accepts IPv6 and IPv4', async t => {
  const certificate = await openCertificate(t.testdir())
  const clock = { ...systemClock, after: () => () => {}, every: () => () => {} }
  const listener = new Listener({
    budgets: openWorkBudgets(systemClock),
    listen: '[::]:0',
    certificate,
    clock,
    log: recordLog([]),
    onStream: ({ remoteAddr, socket }) => void socket.end(remoteAddr)
  })
  t.teardown(() => listener.close())
  const port = await listener.start()
  const { socket } = await dial({ port, fingerprint: certificate.fingerprint })

  const [received] = await once(socket, 'data')

  t.equal(String(received), '127.0.0.1', 'not ::ffff:127.0.0.1')
})

t.test(
  'the certificate is made once, for this machine and the given names, and its key stays private',
  async t => {
    const dir = t.testdir()
    const made = await openCertificate(dir, { names: ['edge.example.net', '203.0.113.7', '', 'not a name'] })
    const again = await openCertificate(dir, { names: ['other.example.net'] })

    t.equal(again.fingerprint, made.fingerprint)
    t.match(made.fingerprint, /^[0-9a-f]{64}$/)
    const { X509Certificate } = await import('node:crypto')
    const certificate = new X509Certificate(made.cert)
    for (const host of ['localhost', 'edge.example.net']) t.ok(certificate.checkHost(host), host)
    for (const ip of ['127.0.0.1', '::1', '203.0.113.7']) t.ok(certificate.checkIP(ip), ip)
    t.notOk(certificate.checkHost('other.example.net'))
    t.ok(new Date(certificate.validTo).getTime() - Date.now() > 3649 * 86_400_000)
    t.notMatch(made.cert, 'PRIVATE', 'without the key, which is in the same file')
    t.equal(statSync(join(dir, 'control.pem')).mode & 0o777, 0o600)
  }
)

t.test('a configured certificate is used as it is, or refused with a remedy', async t => {
  const dir = t.testdir()
  mkdirSync(join(dir, 'a'))
  mkdirSync(join(dir, 'b'))
  const [a] = [await openCertificate(join(dir, 'a')), await openCertificate(join(dir, 'b'))]
  const [certPath, keyPath] = [join(dir, 'a', 'control.pem'), join(dir, 'a', 'control.pem')]
  const garbage = join(dir, 'garbage')
  writeFileSync(garbage, 'no PEM', { mode: 0o600 })

  t.same(await openCertificate(dir, { certPath, keyPath }), a)
  await t.rejects(openCertificate(dir, { certPath }), {
    errorCode: { code: 'startup.tls_invalid' },
    message: /both/
  })
  await t.rejects(openCertificate(dir, { certPath, keyPath: join(dir, 'b', 'control.pem') }), {
    errorCode: { code: 'startup.tls_invalid' },
    message: /another certificate/
  })
  await t.rejects(openCertificate(dir, { certPath: garbage, keyPath }), {
    errorCode: { code: 'startup.tls_invalid' },
    message: /PEM/
  })
  await t.rejects(openCertificate(dir, { certPath: join(dir, 'none'), keyPath }), {
    errorCode: { code: 'startup.tls_invalid' },
    message: /none/
  })
  chmodSync(keyPath, 0o644)
  await t.rejects(openCertificate(dir, { certPath, keyPath }), {
    errorCode: { code: 'startup.insecure_permissions' },
    message: /chmod 600/
  })
  t.match(readFileSync(certPath, 'utf8'), /BEGIN CERTIFICATE/)
})
