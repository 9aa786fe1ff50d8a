import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { type Call, defineRoute } from '../../../kernel/http/route.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { httpFixture, operator, portOf, superadmin, user } from './fixture.ts'

const post = (run: (call: Call) => Promise<unknown>, access: 'public' | 'user' = 'user') =>
  defineRoute({
    method: 'POST',
    url: `/v1/${access}`,
    action: `thing.${access}`,
    access,
    status: 200,
    summary: 'Runs.',
    schema: () => ({ body: Type.Unknown(), reply: Type.Unknown() }),
    run: (_deps: Kernel, call) => run(call as Call)
  })

const hello = [post(async () => ({}))]

async function open(t: Test, port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  return socket
}

const bodyOf = (response: string) => JSON.parse(response.slice(response.indexOf('\r\n\r\n') + 4))

t.test('headers over 16 KiB are refused with an error body', async t => {
  const { http } = await httpFixture(t, { routes: hello })
  const port = await portOf(http)
  const socket = await open(t, port)

  socket.write(`GET /v1/user HTTP/1.1\r\nhost: localhost\r\nx-long: ${'a'.repeat(17_000)}\r\n\r\n`)

  const response = await text(socket)
  t.match(response, /^HTTP\/1\.1 431 /)
  t.match(response, /x-request-id: [0-9A-Z]{26}/)
  t.match(bodyOf(response), { error: { code: 'headers_too_large' } })
})

t.test('bytes that are not HTTP are refused with an error body', async t => {
  const { http } = await httpFixture(t, { routes: hello })
  const port = await portOf(http)
  const socket = await open(t, port)

  socket.write('hello\r\n\r\n')

  const response = await text(socket)
  t.match(response, /^HTTP\/1\.1 400 /)
  t.match(bodyOf(response), { error: { code: 'validation.schema' } })
})

t.test('late headers are refused with an error body', async t => {
  const { http } = await httpFixture(t, { routes: hello })
  t.match(http.app.server, { headersTimeout: 10_000, requestTimeout: 30_000 })
  const port = await portOf(http)
  const connected = once(http.app.server, 'connection')
  const socket = await open(t, port)
  const late = Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })

  http.app.server.emit('clientError', late, ...(await connected))

  const response = await text(socket)
  t.match(response, /^HTTP\/1\.1 408 /)
  t.match(bodyOf(response), { error: { code: 'request_timeout' } })
})

t.test('a request without Host is answered like any other', async t => {
  const { http } = await httpFixture(t, { routes: hello })
  const port = await portOf(http)
  const socket = await open(t, port)

  socket.write('GET /v1/nothing HTTP/1.1\r\nconnection: close\r\n\r\n')

  t.match(bodyOf(await text(socket)), { error: { code: 'not_found' } })
})

t.test('nothing of a body is read before the caller is authenticated', async t => {
  const { http } = await httpFixture(t, { routes: hello })
  const port = await portOf(http)
  const socket = await open(t, port)

  socket.write(
    'POST /v1/user HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n'
  )

  const [chunk] = await once(socket, 'data')
  t.match(String(chunk), /^HTTP\/1\.1 401 /)
})

t.test('a principal has at most 256 requests in flight', async t => {
  const gate = Promise.withResolvers<void>()
  const run = async () => gate.promise
  const { send, decisions } = await httpFixture(t, { routes: [post(run), post(run, 'public')] })

  for (const [url, headers] of [
    ['/v1/user', superadmin],
    ['/v1/public', {}]
  ] as const) {
    const running = Array.from({ length: 256 }, () => send('POST', url, headers))
    const refused = await Promise.race([send('POST', url, headers), ...running])
    t.match(refused, { status: 429, body: { error: { code: 'rate_limited' } } })
  }
  t.match(decisions, [
    { status: 429, outcome: 'deny', actor: 'ada' },
    { status: 429, actor: null }
  ])
  const other = send('POST', '/v1/user', user)
  gate.resolve()

  t.match(await other, { status: 200 })
  t.match(await send('POST', '/v1/user', superadmin), { status: 200 })
})

t.test('a failed request is no longer in flight', async t => {
  const { send } = await httpFixture(t, { routes: [post(async () => Promise.reject(new Error('x')))] })

  for (let i = 0; i < 300; i++) await send('POST', '/v1/user', superadmin)

  t.match(await send('POST', '/v1/user', superadmin), { status: 500 })
})

t.test('the signal of a call aborts when its caller disconnects', async t => {
  const arrived = Promise.withResolvers<void>()
  const left = Promise.withResolvers<void>()
  const run = async ({ signal }: Call) => {
    signal.addEventListener('abort', () => left.resolve())
    arrived.resolve()
    await left.promise
    return {}
  }
  const { http } = await httpFixture(t, { routes: [post(run)] })
  const port = await portOf(http)
  const socket = await open(t, port)
  socket.write(
    `POST /v1/user HTTP/1.1\r\nhost: localhost\r\nauthorization: ${operator.authorization}\r\n\r\n`
  )
  await arrived.promise

  socket.destroy()

  await left.promise
  t.pass('aborted')
})

t.test('the signal of a call does not abort while its caller waits', async t => {
  let callSignal: AbortSignal | null = null
  const run = async ({ signal }: Call) => {
    callSignal = signal
    return {}
  }
  const { http } = await httpFixture(t, { routes: [post(run)] })
  const port = await portOf(http)

  const response = await fetch(`http://127.0.0.1:${port}/v1/user`, {
    method: 'POST',
    headers: operator,
    body: null
  })
  await response.text()

  t.match(callSignal, { aborted: false })
})

t.test('a request with a truncated body logs nothing and leaves the in-flight count', async t => {
  const { http, log, send } = await httpFixture(t, { routes: hello })
  const port = await portOf(http)
  const head = `POST /v1/user HTTP/1.1\r\nhost: localhost\r\nauthorization: ${operator.authorization}\r\n`
  const broken = async () => {
    const requested = once(http.app.server, 'request')
    const socket = await open(t, port)
    socket.write(`${head}content-type: application/json\r\ncontent-length: 9\r\n\r\n{`)
    const [{ socket: accepted }] = await requested
    const closed = once(accepted, 'close')
    socket.destroy()
    await closed
  }

  for (let i = 0; i < 257; i++) await broken()

  t.match(await send('POST', '/v1/user', operator), { status: 200 })
  t.same(log, [])
})

t.test('on close a running request ends, and no new one begins', async t => {
  const gate = Promise.withResolvers<void>()
  const arrived = Promise.withResolvers<void>()
  const run = async () => {
    arrived.resolve()
    await gate.promise
    return { done: true }
  }
  const { http } = await httpFixture(t, { routes: [post(run)] })
  const port = await portOf(http)
  const running = fetch(`http://127.0.0.1:${port}/v1/user`, { method: 'POST', headers: operator })
  await arrived.promise

  const closed = http.close()
  await t.rejects(fetch(`http://127.0.0.1:${port}/v1/user`))
  gate.resolve()

  t.same(await (await running).json(), { done: true })
  await closed
})

t.test('localhost is 127.0.0.1, whatever the resolver prefers', async t => {
  const { http } = await httpFixture(t, { routes: hello, listen: 'localhost:0' })

  t.match((await http.listen()).origin, /^http:\/\/127\.0\.0\.1:/)
})

t.test('a port in use is named in the error', async t => {
  const { http } = await httpFixture(t, { routes: hello })
  const port = await portOf(http)
  const second = await httpFixture(t, { routes: hello, listen: `127.0.0.1:${port}`, dir: t.testdir() })

  await t.rejects(second.http.listen(), { message: new RegExp(`127.0.0.1:${port}`) })
})

t.test('plain http on a non-loopback address logs one warning', async t => {
  for (const [listen, publicOrigin, count] of [
    ['0.0.0.0:0', null, 1],
    ['0.0.0.0:0', 'http://a.example', 1],
    ['0.0.0.0:0', 'https://a.example', 0],
    ['[::1]:0', null, 0],
    ['127.0.0.1:0', null, 0]
  ] as const) {
    const { http, log } = await httpFixture(t, { routes: hello, listen, publicOrigin, dir: t.testdir() })
    await http.listen()
    t.equal(
      log.filter(({ event }) => event === 'startup.plain_http').length,
      count,
      `${listen} ${publicOrigin}`
    )
  }
})
