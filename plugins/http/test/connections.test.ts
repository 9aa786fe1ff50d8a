import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect, Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { connect as connectTls } from 'node:tls'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import type { HttpHost } from '../../../kernel/http/host.ts'
import { type Call, defineRoute } from '../../../kernel/http/route.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { fakeClock } from '../../../kit/fake-clock.ts'
import { makeCertificate } from '../../certificate/make-certificate.ts'
import { boundConnections } from '../server/connection-bounds.ts'
import { httpFixture, portOf } from './fixture.ts'

const post = (run: (call: Call) => Promise<unknown>) =>
  defineRoute({
    method: 'POST',
    url: '/v1/public',
    action: 'thing.public',
    access: 'public',
    summary: 'Runs.',
    schema: () => ({ body: Type.Unknown(), reply: Type.Unknown() }),
    run: (_deps: Kernel, call) => run(call as Call)
  })

async function open(t: Test, port: number, localAddress = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  socket.on('error', () => {}) // the server may reset it
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  return socket
}

/** Returns a route with a long response, and its address. */
const long = defineRoute({
  method: 'GET',
  url: '/v1/long',
  action: 'thing.long',
  access: 'public',
  summary: 'Long.',
  schema: () => ({ reply: Type.String() }),
  run: async (_deps: Kernel, _call) => 'a'.repeat(16 * 2 ** 20) // more than socket buffers hold
})
const getLong = 'GET /v1/long HTTP/1.1\r\nhost: localhost\r\n\r\n'

/** Requests a long response that is not read. Resolves once it waits on the server's side. */
async function openUnread(t: Test, http: HttpHost, port: number): Promise<Socket> {
  const accepted = once(http.app.server, 'connection')
  const socket = (await open(t, port)).pause()
  const [own] = (await accepted) as [Socket]
  socket.write(getLong)
  while (own.writableLength === 0) await new Promise(setImmediate)
  return own
}

t.test('a connection is closed if the client reads nothing for 30 s', async t => {
  const { http, clock } = await httpFixture(t, { routes: [long] })
  const own = await openUnread(t, http, await portOf(http))
  const closed = once(own, 'close')

  await clock.advance(25_000)
  t.equal(own.destroyed, false)
  await clock.advance(10_000)

  await closed
})

t.test('a connection stays open if the client reads slowly', async t => {
  const { http, clock } = await httpFixture(t, { routes: [long] })
  const accepted = once(http.app.server, 'connection')
  const socket = (await open(t, await portOf(http))).pause()
  const [own] = (await accepted) as [Socket]
  socket.write(getLong)
  while (own.writableLength === 0) await new Promise(setImmediate)
  for (let i = 0; i < 4; i++) {
    const taken = () => own.bytesWritten - own.writableLength
    const before = taken()
    while (taken() === before) {
      socket.read() // what has arrived
      await new Promise(setImmediate)
    }
    await clock.advance(10_000)
  }

  t.equal(own.destroyed, false)
})

t.test('an unread response counts as a request in flight until its connection is closed', async t => {
  const gate = Promise.withResolvers<void>()
  t.teardown(gate.resolve)
  const { http, send, clock } = await httpFixture(t, { routes: [long, post(() => gate.promise)] })
  for (let i = 0; i < 255; i++) void send('POST', '/v1/public')
  const own = await openUnread(t, http, await portOf(http))
  const closed = once(own, 'close')
  t.match(await send('GET', '/v1/long'), { status: 429 })

  await clock.advance(35_000)
  await closed

  t.match(await send('HEAD', '/v1/long'), { status: 200 })
})

t.test('requests that are sent ahead wait until the responses before them have left', async t => {
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const started: number[] = []
  const run = async ({ body }: Call) => {
    const { n } = body as { n: number }
    started.push(n)
    await gates[n]?.promise
    return n
  }
  const { http } = await httpFixture(t, { routes: [post(run)] })
  const socket = await open(t, await portOf(http))
  const head =
    'POST /v1/public HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 7'

  socket.write(`${head}\r\n\r\n{"n":0}${head}\r\nconnection: close\r\n\r\n{"n":1}`)
  gates[1]?.resolve()
  await once(http.app.server, 'request')
  const before = [...started]
  gates[0]?.resolve()

  const answers = [...(await text(socket)).matchAll(/\r\n\r\n(\d)/g)].map(([, n]) => n)
  t.same([before, started, answers], [[], [0, 1], ['0', '1']])
})

t.test('malformed bytes after a request are answered after its response', async t => {
  const arrived = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const run = async () => {
    arrived.resolve()
    await gate.promise
    return {}
  }
  const { http } = await httpFixture(t, { routes: [post(run)] })
  const socket = await open(t, await portOf(http))
  socket.write('POST /v1/public HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n')
  await arrived.promise

  socket.write('not HTTP\r\n\r\n')
  gate.resolve()

  const statuses = [...(await text(socket)).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)
  t.same(statuses, ['200', '400'])
})

/** Serves with the bounds alone, for at most `max` connections. */
async function serve(t: Test, max: number, handle: RequestListener) {
  const clock = fakeClock()
  const server = createServer()
  const close = boundConnections({ server, max, clock, handle })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // of TCP
  const closed = once(server, 'close')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  /** Opens a connection, and resolves once the server has seen it. */
  const accepted = async (localAddress?: string): Promise<Socket> => {
    const seen = once(server, 'connection')
    const socket = await open(t, port, localAddress)
    await seen
    return socket
  }
  return { server, clock, close, closed, accepted }
}

const answer: RequestListener = (_request, response) => void response.end('yes')
const get = 'GET / HTTP/1.1\r\nhost: localhost\r\n\r\n'

t.test(
  'a newcomer takes the place of the longest idle connection of the network that holds most',
  async t => {
    const { accepted } = await serve(t, 4, answer)
    const other = await accepted('127.0.0.2')
    const [first, second, third] = [await accepted(), await accepted(), await accepted()]
    first.write(get)
    await once(first, 'data') // now second is idle for longer
    const closed = once(second, 'close')

    const newcomer = await accepted('127.0.0.3')

    await closed
    for (const socket of [other, first, third, newcomer]) {
      socket.write(get)
      t.match(String(await once(socket, 'data')), /^HTTP\/1\.1 200 /)
    }
  }
)

t.test(
  'if no connection is idle, a newcomer replaces one of the network with the most connections',
  async t => {
    const { accepted, server } = await serve(t, 3, () => {})
    const busy: Socket[] = []
    for (const address of ['127.0.0.2', '127.0.0.1', '127.0.0.1']) {
      const requested = once(server, 'request')
      busy.push((await accepted(address)).setNoDelay().on('error', () => {}))
      busy.at(-1)?.write(get)
      await requested
    }

    const sameSource = await accepted('127.0.0.1')
    await once(sameSource, 'close')
    t.same(
      busy.map(({ destroyed }) => destroyed),
      [false, false, false]
    )

    const closed = once(busy[1] as Socket, 'close')
    await accepted('127.0.0.3')
    await closed
    t.same([busy[0]?.destroyed, busy[2]?.destroyed], [false, false])
  }
)

t.test('newcomers of one iteration of the event loop replace as many connections', async t => {
  const { server } = await serve(t, 3, answer)
  const sockets = Array.from({ length: 5 }, () => new Socket())

  for (const socket of sockets) server.emit('connection', socket)

  t.same(
    sockets.map(({ destroyed }) => destroyed),
    [true, true, false, false, false]
  )
})

t.test(
  'on close, idle and silent connections are closed at once, and unread responses after 5 s',
  async t => {
    const { server, accepted, close, closed, clock } = await serve(t, 10, () => {})
    const silent = await accepted()
    const half = await accepted()
    half.write('GET / HT')
    const busy = await accepted()
    const requested = once(server, 'request')
    busy.write(get)
    await requested
    const idleCut = Promise.all([once(silent, 'close'), once(half, 'close')])
    const busyCut = once(busy, 'close')

    server.close()
    close()

    await idleCut
    t.equal(busy.destroyed, false)
    await clock.advance(5_000)
    await busyCut
    await closed
  }
)

/** Responds with the path, and the body if there is one. */
const echo: RequestListener = async (request, response) =>
  void response.end(`<${request.url} ${await text(request)}>`)
const ahead = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, at) => `GET /${from + at} HTTP/1.1\r\nhost: localhost\r\n\r\n`)
const last = 'GET /last HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n'

const pathsIn = (answers: string): string[] =>
  [...answers.matchAll(/<\/(\S+) >/g)].map(([, path = '']) => path)

t.test('250 and 1,000 requests that are sent ahead are all answered in order', async t => {
  const { accepted } = await serve(t, 4, echo)
  for (const count of [250, 1_000]) {
    const socket = await accepted()

    socket.write(ahead(0, count).join('') + last)

    t.same(pathsIn(await text(socket)), [...Array(count).keys(), 'last'].map(String))
  }
})

t.test('requests that are sent ahead over TLS are all answered in order', async t => {
  const server = createTlsServer(await makeCertificate(['localhost']))
  boundConnections({ server, max: 4, clock: fakeClock(), handle: echo })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => void server.close())
  const { port } = server.address() as AddressInfo // of TCP
  const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })

  socket.write(ahead(0, 250).join('') + last)

  t.same(pathsIn(await text(socket)), [...Array(250).keys(), 'last'].map(String))
})

t.test('requests with bodies that are sent ahead are answered in order, however they are split', async t => {
  const { accepted } = await serve(t, 4, echo)
  const chunked = (body: string) => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
  const bodies = ['', 'a', 'b\r\n\r\nGET /no HTTP/1.1', 'c'.repeat(70_000), 'd'.repeat(600)]
  const requests = bodies.flatMap((body, at) => [
    `POST /${at} HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    `POST /${at}c HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n${body && chunked(body)}${body ? '' : '0\r\n\r\n'}`,
    `GET /${at}g HTTP/1.1\r\nhost: localhost\r\n\r\n`
  ])
  const expected = bodies.flatMap((body, at) => [`</${at} ${body}>`, `</${at}c ${body}>`, `</${at}g >`])
  for (const size of [Infinity, 1_000, 7]) {
    const socket = await accepted()
    const answers = text(socket)
    const bytes = requests.join('') + last
    for (let at = 0; at < bytes.length; at += size)
      if (!socket.write(bytes.slice(at, at + size))) await once(socket, 'drain')

    const places = await answers.then(all => expected.map(answer => all.indexOf(answer)))
    t.ok(
      places.every((place, at) => place > (places[at - 1] ?? -1)),
      `in pieces of ${size}`
    )
  }
})

t.test('while a request is in work, those behind it stay unread', async t => {
  const responses: ServerResponse[] = []
  const { accepted, server } = await serve(t, 4, (_request, response) => void responses.push(response))
  const seen = once(server, 'connection')
  const socket = await accepted()
  const [own] = (await seen) as [Socket]
  const requested = once(server, 'request')

  for (let at = 0; at < 100_000; at += 10_000) socket.write(ahead(at, at + 10_000).join(''))
  await requested
  while (!own.isPaused()) await new Promise(setImmediate)
  for (let i = 0; i < 20; i++) await new Promise(setImmediate)

  t.equal(responses.length, 1)
  t.ok(own.bytesRead < 500_000, `${own.bytesRead} bytes are read`)
})

t.test('a caller that sends ahead and reads nothing for 30 s is cut', async t => {
  const { accepted, server, clock } = await serve(t, 4, (_request, response) =>
    response.end('x'.repeat(100_000))
  )
  const seen = once(server, 'connection')
  const socket = (await accepted()).pause()
  const [own] = (await seen) as [Socket]
  const closed = once(own, 'close')
  socket.write(ahead(0, 1_000).join(''))
  while (own.writableLength === 0) await new Promise(setImmediate)

  await clock.advance(25_000)
  t.equal(own.destroyed, false)
  await clock.advance(10_000)

  await closed
})
