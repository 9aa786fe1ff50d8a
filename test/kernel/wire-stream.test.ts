// Two ends of a stream over a real socket pair: order, deadlines, heartbeats, and how a stream ends.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { openCodec } from '../../kernel/wire/codec.ts'
import { controlMessages, Ended } from '../../kernel/wire/control.ts'
import { wireMessages } from '../../kernel/wire/envelope.ts'
import { encodeFrame, frameLimit } from '../../kernel/wire/frame.ts'
import {
  type BoundHandler,
  bindHandlers,
  type Codec,
  on,
  Refused,
  respond
} from '../../kernel/wire/message.ts'
import { Stream } from '../../kernel/wire/stream.ts'
import { type FakeClock, fakeClock } from '../../kit/fake-clock.ts'
import { type LogLine, recordLog } from '../../kit/test-server.ts'
import { Echo } from '../support/echo.ts'

const codec = openCodec([...wireMessages, ...controlMessages, Echo])

async function sockets(t: Test): Promise<[Socket, Socket]> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const near = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [far] = (await once(server, 'connection')) as [Socket]
  server.close()
  t.teardown(() => {
    near.destroy()
    far.destroy()
  })
  return [near, far]
}

interface Pair {
  readonly near: Stream
  readonly far: Stream
  readonly clock: FakeClock
  readonly log: LogLine[]
  readonly raw: Socket // of the far end
}

const serve = (run: (text: string) => Promise<string>): BoundHandler[] =>
  bindHandlers([respond(Echo, async (_: null, { text }) => ({ text: await run(text) }))], () => null)

async function pair(
  t: Test,
  handlers: readonly BoundHandler[],
  handlersNear: readonly BoundHandler[] = []
): Promise<Pair> {
  const [a, b] = await sockets(t)
  const clock = fakeClock()
  const log: LogLine[] = []
  const near = new Stream({ socket: a, codec, handlers: handlersNear, clock, log: recordLog(log) })
  const far = new Stream({ socket: b, codec, handlers, clock, log: recordLog(log) })
  t.teardown(() => {
    near.end('test over')
    far.end('test over')
  })
  return { near, far, clock, log, raw: b }
}

const over = ({ ended }: Stream): Promise<string> =>
  new Promise(resolve => {
    const told = (): void => resolve(String(ended.reason))
    if (ended.aborted) told()
    else ended.addEventListener('abort', told, { once: true })
  })

t.test('requests of a stream are handled one at a time and in order', async t => {
  const story: string[] = []
  const { near } = await pair(
    t,
    serve(async text => {
      story.push(`begin ${text}`)
      await new Promise(resolve => setImmediate(resolve))
      story.push(`end ${text}`)
      return text
    })
  )

  await Promise.all(['1', '2', '3'].map(text => near.channel.request(Echo, { text })))

  t.same(story, ['begin 1', 'end 1', 'begin 2', 'end 2', 'begin 3', 'end 3'])
})

t.test('a response is not delayed by waiting requests', async t => {
  const held = Promise.withResolvers<void>()
  const { near, far } = await pair(
    t,
    serve(text => held.promise.then(() => text)),
    serve(async text => `near: ${text}`)
  )
  const waiting = near.channel.request(Echo, { text: 'waits' })

  t.same(await far.channel.request(Echo, { text: 'hello' }), { text: 'near: hello' })

  held.resolve()
  t.same(await waiting, { text: 'waits' })
})

t.test('a handler may send a request on its own channel', async t => {
  const pairing: { far?: Stream } = {}
  const both = await pair(
    t,
    serve(async text => (await pairing.far!.channel.request(Echo, { text })).text),
    serve(async text => `${text}, back`)
  )
  pairing.far = both.far

  t.same(await both.near.channel.request(Echo, { text: 'there' }), { text: 'there, back' })
})

t.test('an unknown request is refused by name, and the stream stays up', async t => {
  const { near, far } = await pair(t, [])

  await t.rejects(near.channel.request(Echo, { text: '' }), { code: 'wire.unknown_message', message: /Echo/ })

  far.serve(serve(async text => text))
  t.same(await near.channel.request(Echo, { text: 'now' }), { text: 'now' })
})

t.test('a name as long as a frame is refused, and the stream stays up', async t => {
  const endless = { ...Echo, name: 'x'.repeat(frameLimit - 100) }
  const careless: Codec = {
    ...codec,
    encode: (message, body) =>
      message.name === endless.name ? new Uint8Array() : codec.encode(message, body)
  }
  const [a, b] = await sockets(t)
  const clock = fakeClock()
  const asker = new Stream({ socket: a, codec: careless, handlers: [], clock, log: recordLog([]) })
  new Stream({ socket: b, codec, handlers: serve(async text => text), clock, log: recordLog([]) })

  await t.rejects(asker.channel.request(endless, { text: '' }), { code: 'wire.unknown_message' })

  t.same(await asker.channel.request(Echo, { text: 'still here' }), { text: 'still here' })
})

t.test('unknown messages are ignored by both ends', async t => {
  const { near, log } = await pair(
    t,
    serve(async text => text)
  )

  near.channel.send(Ended, { code: 'x', message: '' })
  await near.channel.request(Echo, { text: '' })

  t.match(log, [{ level: 'debug', event: 'control.message_refused' }])
})

t.test('a refusal keeps its code; the text of an error is in the log only', async t => {
  const { near, log } = await pair(
    t,
    serve(async text => {
      throw text === 'refuse' ? new Refused('thing.no', 'because') : new Error('a secret path')
    })
  )

  await t.rejects(near.channel.request(Echo, { text: 'refuse' }), { code: 'thing.no', message: 'because' })
  await t.rejects(near.channel.request(Echo, { text: 'fail' }), {
    code: 'internal',
    message: /^(?!.*secret)/
  })

  t.match(log, [{ level: 'error', event: 'control.handler_failed', fields: { error: /a secret path/ } }])
})

t.test('a request has a deadline, and a late response is ignored', async t => {
  const held = Promise.withResolvers<void>()
  const { near, clock } = await pair(
    t,
    serve(text => held.promise.then(() => text))
  )
  const late = near.channel.request(Echo, { text: 'late' }, { deadlineMs: 3_000 })
  const refused = t.rejects(late, { code: 'wire.deadline' })
  const patient = near.channel.request(Echo, { text: 'patient' })

  await clock.advance(3_000)
  await refused

  held.resolve()
  t.same(await patient, { text: 'patient' })
})

t.test('pending requests are rejected when the stream ends', async t => {
  const { near, far } = await pair(
    t,
    serve(() => new Promise(() => {}))
  )
  const asked = near.channel.request(Echo, { text: '' })

  far.end('enough')

  await t.rejects(asked, { code: 'wire.closed' })
  await t.rejects(near.channel.request(Echo, { text: '' }), { code: 'wire.closed' })
  t.equal(await over(near), 'closed')
  t.equal(await over(far), 'enough')
})

t.test('messages sent before the end arrive', async t => {
  const heard: string[] = []
  const { near, far } = await pair(
    t,
    bindHandlers([on(Ended, async (_: null, { code }) => void heard.push(code))], () => null)
  )

  near.channel.send(Ended, { code: 'last words', message: '' })
  near.end('stopped')

  t.equal(await over(far), 'closed')
  t.same(heard, ['last words'])
})

t.test('heartbeats keep an idle stream up', async t => {
  const { near, far, clock } = await pair(t, [])

  for (let second = 0; second < 120; second++) {
    await clock.advance(1_000)
    await new Promise(resolve => setImmediate(resolve))
  }

  t.notOk(near.ended.aborted)
  t.notOk(far.ended.aborted)
})

t.test('a stream without data for 30 s is closed', async t => {
  const [near] = await sockets(t)
  const clock = fakeClock()
  const stream = new Stream({ socket: near, codec, handlers: [], clock, log: recordLog([]) })

  await clock.advance(24_999)
  t.notOk(stream.ended.aborted)
  await clock.advance(5_001)

  t.equal(await over(stream), 'silent')
})

t.test('a stream whose other end does not read is closed before it buffers more than 1 MiB', async t => {
  const [near, far] = await sockets(t)
  far.pause()
  const stream = new Stream({ socket: near, codec, handlers: [], clock: fakeClock(), log: recordLog([]) })

  const message = 'x'.repeat(100_000)
  for (let sent = 0; sent < 200 && !stream.ended.aborted; sent++) {
    stream.channel.send(Ended, { code: '', message })
    await new Promise(resolve => setImmediate(resolve))
  }

  t.equal(await over(stream), 'slow')
  t.ok(near.writableLength < 1_500_000)
})

t.test('a sender that waits for buffer space is not closed as slow', async t => {
  const { near, far } = await pair(t, [])
  far.serve(serve(async text => text))

  const message = 'x'.repeat(200_000)
  for (let sent = 0; sent < 100; sent++) {
    await near.drained()
    near.channel.send(Ended, { code: '', message })
  }

  t.same(await near.channel.request(Echo, { text: 'there' }), { text: 'there' })
})

t.test('waiting for buffer space ends with the stream', async t => {
  const [near, far] = await sockets(t)
  far.pause()
  const stream = new Stream({ socket: near, codec, handlers: [], clock: fakeClock(), log: recordLog([]) })
  while (near.writableLength < 400_000) stream.channel.send(Ended, { code: '', message: 'x'.repeat(200_000) })

  const room = stream.drained()
  stream.end('over')

  await t.resolves(room)
})

t.test('an invalid frame and a frame that is too large end the stream', async t => {
  for (const [bytes, reason] of [
    [encodeFrame(Buffer.from('no message at all')), 'malformed'],
    [Buffer.from('GET / HTTP/1.1\r\n\r\n'), 'oversized']
  ] as const) {
    const [near, far] = await sockets(t)
    const stream = new Stream({ socket: near, codec, handlers: [], clock: fakeClock(), log: recordLog([]) })
    far.write(bytes)

    t.equal(await over(stream), reason)
  }
})

t.test('a stream with too many unhandled requests ends', async t => {
  const { near, far } = await pair(
    t,
    serve(() => new Promise(() => {}))
  )
  const asked = Array.from({ length: 5_000 }, () => near.channel.request(Echo, { text: '' }).catch(() => {}))

  t.equal(await over(far), 'flooded')
  await Promise.all(asked)
})

t.test('a stream that has ended leaves no timers', async t => {
  const timers = new Set<object>()
  const held = (): (() => void) => {
    const timer = {}
    timers.add(timer)
    return () => void timers.delete(timer)
  }
  const clock = { now: () => 0, after: held, every: held }
  const [near] = await sockets(t)
  const stream = new Stream({ socket: near, codec, handlers: [], clock, log: recordLog([]) })
  const asked = stream.channel.request(Echo, { text: '' })

  stream.end('over')
  await t.rejects(asked)
  near.destroy()
  await once(near, 'close')

  t.equal(timers.size, 0)
})
