import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import type { Call } from '../../../kernel/http/route.ts'
import { Credential, User } from '../../../kernel/identity/entities.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { fakeClock } from '../../../kit/fake-clock.ts'
import { defineStream } from '../streams/stream-route.ts'
import { httpFixture, portOf, superadmin, user } from './fixture.ts'

/** Returns a route and the function that sends its events. `ended` resolves when the host has ended the stream. */
function feed() {
  const queue: number[] = []
  const ended = Promise.withResolvers<void>()
  let more = Promise.withResolvers<void>()
  const route = defineStream({
    url: '/v1/feed',
    action: 'feed.watch',
    access: 'user',
    summary: 'Numbers.',
    schema: () => ({ event: Type.Object({ n: Type.Integer() }) }),
    async run(_deps: object, { signal }) {
      signal.addEventListener('abort', () => more.resolve())
      return (async function* () {
        while (!signal.aborted) {
          for (const n of queue.splice(0)) yield { event: 'number', data: { n } }
          await more.promise
          more = Promise.withResolvers()
        }
        ended.resolve()
      })()
    }
  })
  const emit = (...numbers: number[]) => {
    queue.push(...numbers)
    more.resolve()
  }
  return { route, emit, ended: ended.promise }
}

async function open(t: Test, port: number, headers = user): Promise<IncomingMessage> {
  const request = get({ port, path: '/v1/feed', headers, agent: false })
  request.on('error', () => {}) // the teardown destroys it
  t.teardown(() => request.destroy())
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return response.setEncoding('utf8')
}

/** Reads until the text has arrived; throws when the stream ends before. */
async function read(response: IncomingMessage, wanted: string): Promise<string> {
  let text = ''
  while (!text.includes(wanted)) {
    const chunk: string | null = response.read()
    if (chunk !== null) text += chunk
    else if (response.readableEnded) throw new TypeError(`ended after ${JSON.stringify(text)}`)
    else await Promise.race([once(response, 'readable'), once(response, 'end')])
  }
  return text
}

/** Returns a clock, and the intervals that run on it. */
function countedClock() {
  const clock = fakeClock()
  const running = new Set<object>()
  const every = (ms: number, work: () => void) => {
    const stop = clock.every(ms, work)
    const interval = {}
    running.add(interval)
    return () => {
      running.delete(interval)
      return stop()
    }
  }
  return { running, clock: { ...clock, every } }
}

const untilClosed = (response: IncomingMessage): Promise<unknown> => once(response.resume(), 'close')

t.test('a stream sends the retry time, numbers its events and sends comments', async t => {
  const { route, emit } = feed()
  const { clock, ...rest } = await httpFixture(t, { routes: [route] })
  const response = await open(t, await portOf(rest.http))
  t.match(response.headers, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  t.equal(await read(response, '\n\n'), 'retry: 5000\n\n')
  emit(7, 8)
  t.equal(
    await read(response, '8}\n\n'),
    'id: 1\nevent: number\ndata: {"n":7}\n\nid: 2\nevent: number\ndata: {"n":8}\n\n'
  )
  await clock.advance(15_000)
  t.match(await read(response, '\n\n'), /^:/)
})

t.test('a stream ends within a second of lost access', async t => {
  const { route, ended } = feed()
  const { clock, store, http } = await httpFixture(t, { routes: [route] })
  const response = await open(t, await portOf(http))
  await read(response, 'retry')
  await store.change(em => em.nativeDelete(Credential, { userId: 'bob' }))
  const closed = untilClosed(response)
  await clock.advance(1_000)
  await closed
  await ended
})

t.test('a stream of a superadmin who is demoted ends within a second', async t => {
  const { route, emit, ended } = feed()
  const { clock, store, http } = await httpFixture(t, { routes: [route] })
  const response = await open(t, await portOf(http), superadmin)
  await read(response, 'retry')
  await store.change(em => em.nativeUpdate(User, { id: 'ada' }, { role: 'user' }))
  await clock.advance(1_000)
  await ended
  emit(7)
  t.notMatch(await text(response), '7')
})

t.test('a stream ends when its caller disconnects', async t => {
  const { route, ended } = feed()
  const { http } = await httpFixture(t, { routes: [route] })
  const response = await open(t, await portOf(http))
  await read(response, 'retry')
  response.destroy()
  await ended
})

t.test('a seventeenth stream of one principal is refused, and another principal is not', async t => {
  const { route } = feed()
  const { http } = await httpFixture(t, { routes: [route] })
  const port = await portOf(http)
  const first16 = await Promise.all(Array.from({ length: 16 }, () => open(t, port)))
  t.ok(first16.every(({ statusCode }) => statusCode === 200))
  t.equal((await open(t, port)).statusCode, 429)
  t.equal((await open(t, port, superadmin)).statusCode, 200)
})

t.test('a stream without access is refused like any route', async t => {
  const { route } = feed()
  const { send } = await httpFixture(t, { routes: [route] })
  t.match(await send('GET', '/v1/feed', {}), { status: 401, body: { error: { code: 'unauthenticated' } } })
})

t.test('the stream of a caller that does not read is ended, with its connection', async t => {
  const { route, emit, ended } = feed()
  const { http } = await httpFixture(t, { routes: [route] })
  const accepted = once(http.app.server, 'connection')
  const response = await open(t, await portOf(http))
  const [socket] = await accepted
  const closed = once(socket, 'close')
  response.pause()
  for (let i = 0; i < 20; i++) emit(...Array.from({ length: 20_000 }, (_, n) => n))
  await ended
  await closed
})

t.test('HEAD of a stream responds like GET, and leaves neither its place nor timers', async t => {
  const { route, ended } = feed()
  const { clock, running } = countedClock()
  const { http, send } = await httpFixture(t, { routes: [route], clock })
  const port = await portOf(http)
  const before = running.size
  for (let i = 0; i < 17; i++) {
    const reply = await fetch(`http://127.0.0.1:${port}/v1/feed`, { method: 'HEAD', headers: user })
    t.match([reply.status, reply.headers.get('content-type')], [200, 'text/event-stream'])
  }
  await ended
  t.equal((await send('HEAD', '/v1/feed', user)).status, 200)
  t.equal(running.size, before)
})

t.test('a caller that leaves while its stream starts leaves nothing behind', async t => {
  const { route, ended } = feed()
  const started = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const slow = {
    ...route,
    async run(deps: Kernel, call: Call) {
      started.resolve()
      await gate.promise
      return route.run(deps, call)
    }
  }
  const { clock, running } = countedClock()
  const { http } = await httpFixture(t, { routes: [slow], clock })
  const accepted = once(http.app.server, 'connection')
  const port = await portOf(http)
  const before = running.size
  const request = get({ port, path: '/v1/feed', headers: user, agent: false }).on('error', () => {})
  const [socket] = await accepted
  await started.promise
  const closed = once(socket, 'close')
  request.destroy()
  await closed

  gate.resolve()

  await ended
  t.equal(running.size, before)
  const first16 = await Promise.all(Array.from({ length: 16 }, () => open(t, port)))
  t.ok(first16.every(({ statusCode }) => statusCode === 200))
})

t.test('a server that stops ends its streams', async t => {
  const { route } = feed()
  const { http, close } = await httpFixture(t, { routes: [route] })
  const response = await open(t, await portOf(http))
  await read(response, 'retry')
  const closed = untilClosed(response)
  await close()
  await closed
})
