// Both ends of a stream over a real socket pair: order, deadlines, heartbeats and the end of the stream.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { currentTrace, type Trace } from '../../kernel/base/trace.ts'
import { openCodec } from '../../kernel/wire/codec.ts'
import { controlMessages, Ended } from '../../kernel/wire/control.ts'
import { wireMessages } from '../../kernel/wire/envelope.ts'
import { encodeFrame, frameLimit } from '../../kernel/wire/frame.ts'
import { type BoundHandler, bindHandlers, on, Refused, respond } from '../../kernel/wire/message.ts'
import { Stream } from '../../kernel/wire/stream.ts'
import { type FakeClock, fakeClock } from '../../kit/fake-clock.ts'
import { type LogLine, recordLog } from '../../kit/test-server.ts'
import { Echo } from '../support/echo.ts'

const codec = openCodec([...wireMessages, ...controlMessages, Echo])

async function sockets(t: Test): Promise<[Socket, Socket]> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const local = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [remote] = (await once(server, 'connection')) as [Socket]
  server.close()
  t.teardown(() => {
    local.destroy()
    remote.destroy()
  })
  return [local, remote]
}

interface Pair {
  readonly local: Stream
  readonly remote: Stream
  readonly clock: FakeClock
  readonly log: LogLine[]
}

const serve = (run: (text: string) => Promise<string>): BoundHandler[] =>
  bindHandlers([respond(Echo, async (_: null, { text }) => ({ text: await run(text) }))], () => null)

async function pair(
  t: Test,
  handlers: readonly BoundHandler[],
  localHandlers: readonly BoundHandler[] = []
): Promise<Pair> {
  const [a, b] = await sockets(t)
  const clock = fakeClock()
  const log: LogLine[] = []
  const local = new Stream({ socket: a, codec, handlers: localHandlers, clock, log: recordLog(log) })
  const remote = new Stream({ socket: b, codec, handlers, clock, log: recordLog(log) })
  t.teardown(() => {
    local.end('test over')
    remote.end('test over')
  })
  return { local, remote, clock, log }
}

const endReason = ({ ended }: Stream): Promise<string> =>
  new Promise(resolve => {
    const settle = (): void => resolve(String(ended.reason))
    if (ended.aborted) settle()
    else ended.addEventListener('abort', settle, { once: true })
  })

t.test('requests of a stream are handled one at a time and in order', async t => {
  const order: string[] = []
  const { local } = await pair(
    t,
    serve(async text => {
      order.push(`begin ${text}`)
      await new Promise(resolve => setImmediate(resolve))
      order.push(`end ${text}`)
      return text
    })
  )

  await Promise.all(['1', '2', '3'].map(text => local.channel.request(Echo, { text })))

  t.same(order, ['begin 1', 'end 1', 'begin 2', 'end 2', 'begin 3', 'end 3'])
})

t.test('waiting messages of a grouped handler are handled together, and others after them', async t => {
  const order: string[] = []
  const blocked = Promise.withResolvers<void>()
  const grouped = respond(Echo, async (_: null, { text }) => {
    order.push(`begin ${text}`)
    await blocked.promise
    order.push(`end ${text}`)
    return { text }
  })
  const ended = on(Ended, async (_: null, { code }) => void order.push(code))
  const handlers = bindHandlers([{ ...grouped, isGrouped: true }, ended], () => null)
  const { local, remote } = await pair(
    t,
    handlers,
    serve(async text => text)
  )

  const replies = ['1', '2', '3'].map(text => local.channel.request(Echo, { text }))
  local.channel.send(Ended, { code: 'other', message: '' })
  replies.push(local.channel.request(Echo, { text: '4' }))
  await remote.channel.request(Echo, { text: 'has every text' })
  blocked.resolve()

  t.same(await Promise.all(replies), [{ text: '1' }, { text: '2' }, { text: '3' }, { text: '4' }])
  t.same(order.slice(0, 6), ['begin 1', 'end 1', 'begin 2', 'begin 3', 'end 2', 'end 3'])
  t.same(order.slice(6), ['other', 'begin 4', 'end 4'])
})

t.test('a response is not delayed by waiting requests', async t => {
  const blocked = Promise.withResolvers<void>()
  const { local, remote } = await pair(
    t,
    serve(text => blocked.promise.then(() => text)),
    serve(async text => `local: ${text}`)
  )
  const waiting = local.channel.request(Echo, { text: 'waits' })

  t.same(await remote.channel.request(Echo, { text: 'hello' }), { text: 'local: hello' })

  blocked.resolve()
  t.same(await waiting, { text: 'waits' })
})

t.test('a handler may send a request on its own channel', async t => {
  const late: { remote?: Stream } = {}
  const both = await pair(
    t,
    serve(async text => (await late.remote!.channel.request(Echo, { text })).text),
    serve(async text => `${text}, back`)
  )
  late.remote = both.remote

  t.same(await both.local.channel.request(Echo, { text: 'there' }), { text: 'there, back' })
})

t.test('an unknown request is refused by name, and the stream stays up', async t => {
  const { local, remote } = await pair(t, [])

  await t.rejects(local.channel.request(Echo, { text: '' }), {
    code: 'wire.unknown_message',
    message: /Echo/
  })

  remote.serve(serve(async text => text))
  t.same(await local.channel.request(Echo, { text: 'now' }), { text: 'now' })
})

t.test('a name as long as a frame is malformed and ends the stream', async t => {
  const [local, remote] = await sockets(t)
  const stream = new Stream({ socket: local, codec, handlers: [], clock: fakeClock(), log: recordLog([]) })
  const length = frameLimit - 100
  const header = [0x0a, (length & 0x7f) | 0x80, ((length >> 7) & 0x7f) | 0x80, length >> 14] // field 1

  remote.write(encodeFrame(Buffer.concat([Buffer.from(header), Buffer.alloc(length, 'x')])))

  t.equal(await endReason(stream), 'malformed')
})

t.test('an unknown message is logged and ignored, and the stream stays up', async t => {
  const { local, log } = await pair(
    t,
    serve(async text => text)
  )

  local.channel.send(Ended, { code: 'x', message: '' })
  await local.channel.request(Echo, { text: '' })

  t.match(log, [{ level: 'debug', event: 'control.message_refused' }])
})

t.test('a refusal keeps its code; the text of an error appears only in the log', async t => {
  const { local, log } = await pair(
    t,
    serve(async text => {
      throw text === 'refuse' ? new Refused('thing.no', 'because') : new Error('a secret path')
    })
  )

  await t.rejects(local.channel.request(Echo, { text: 'refuse' }), { code: 'thing.no', message: 'because' })
  await t.rejects(local.channel.request(Echo, { text: 'fail' }), {
    code: 'internal',
    message: /^(?!.*secret)/
  })

  t.match(log, [{ level: 'error', event: 'control.handler_failed', fields: { error: /a secret path/ } }])
})

t.test('a request has a deadline, and a late response is ignored', async t => {
  const blocked = Promise.withResolvers<void>()
  const { local, clock } = await pair(
    t,
    serve(text => blocked.promise.then(() => text))
  )
  const late = local.channel.request(Echo, { text: 'late' }, { deadlineMs: 3_000 })
  const refused = t.rejects(late, { code: 'wire.deadline' })
  const second = local.channel.request(Echo, { text: 'second' })

  await clock.advance(3_000)
  await refused

  blocked.resolve()
  t.same(await second, { text: 'second' })
})

t.test('pending requests are rejected when the stream ends', async t => {
  const { local, remote } = await pair(
    t,
    serve(() => new Promise(() => {}))
  )
  const pending = local.channel.request(Echo, { text: '' })

  remote.end('enough')

  await t.rejects(pending, { code: 'wire.closed' })
  await t.rejects(local.channel.request(Echo, { text: '' }), { code: 'wire.closed' })
  t.equal(await endReason(local), 'closed')
  t.equal(await endReason(remote), 'enough')
})

t.test('messages sent before the end arrive', async t => {
  const received: string[] = []
  const { local, remote } = await pair(
    t,
    bindHandlers([on(Ended, async (_: null, { code }) => void received.push(code))], () => null)
  )

  local.channel.send(Ended, { code: 'last', message: '' })
  local.end('stopped')

  t.equal(await endReason(remote), 'closed')
  t.same(received, ['last'])
})

t.test('heartbeats keep an idle stream up', async t => {
  const { local, remote, clock } = await pair(t, [])

  for (let second = 0; second < 120; second++) {
    await clock.advance(1_000)
    await new Promise(resolve => setImmediate(resolve))
  }

  t.notOk(local.ended.aborted)
  t.notOk(remote.ended.aborted)
})

t.test('a stream without data for 30 s is closed', async t => {
  const [local] = await sockets(t)
  const clock = fakeClock()
  const stream = new Stream({ socket: local, codec, handlers: [], clock, log: recordLog([]) })

  await clock.advance(24_999)
  t.notOk(stream.ended.aborted)
  await clock.advance(5_001)

  t.equal(await endReason(stream), 'silent')
})

t.test('a stream is closed when its peer does not read and more than 1 MiB is buffered', async t => {
  const [local, remote] = await sockets(t)
  remote.pause()
  const stream = new Stream({ socket: local, codec, handlers: [], clock: fakeClock(), log: recordLog([]) })

  const text = 'x'.repeat(100_000)
  for (let sent = 0; sent < 200 && !stream.ended.aborted; sent++) {
    stream.channel.send(Echo, { text })
    await new Promise(resolve => setImmediate(resolve))
  }

  t.equal(await endReason(stream), 'slow')
  t.ok(local.writableLength < 1_500_000)
})

t.test('a sender that waits for buffer space is not closed as slow', async t => {
  const { local, remote } = await pair(t, [])
  remote.serve(serve(async text => text))

  const text = 'x'.repeat(200_000)
  for (let sent = 0; sent < 100; sent++) {
    await local.drained()
    local.channel.send(Echo, { text })
  }

  t.same(await local.channel.request(Echo, { text: 'there' }), { text: 'there' })
})

t.test('waiting for buffer space ends with the stream', async t => {
  const [local, remote] = await sockets(t)
  remote.pause()
  const stream = new Stream({ socket: local, codec, handlers: [], clock: fakeClock(), log: recordLog([]) })
  while (local.writableLength < 400_000) stream.channel.send(Echo, { text: 'x'.repeat(200_000) })

  const drained = stream.drained()
  stream.end('over')

  await t.resolves(drained)
})

t.test('an invalid frame and a frame that is too large end the stream', async t => {
  for (const [bytes, reason] of [
    [encodeFrame(Buffer.from('no message at all')), 'malformed'],
    [Buffer.from('GET / HTTP/1.1\r\n\r\n'), 'oversized']
  ] as const) {
    const [local, remote] = await sockets(t)
    const stream = new Stream({ socket: local, codec, handlers: [], clock: fakeClock(), log: recordLog([]) })
    remote.write(bytes)

    t.equal(await endReason(stream), reason)
  }
})

t.test('the queue of received messages is bounded: reading pauses, and no message is lost', async t => {
  const open = Promise.withResolvers<void>()
  const [a, b] = await sockets(t)
  const clock = fakeClock()
  const handlers = serve(async text => {
    await open.promise
    return text.slice(0, 1) // short, so that a burst of answers stays below the limit of unsent bytes
  })
  const local = new Stream({ socket: a, codec, handlers: [], clock, log: recordLog([]) })
  const remote = new Stream({ socket: b, codec, handlers, clock, log: recordLog([]) })
  const paused = new Promise(resolve => b.once('pause', resolve))

  const text = 'x'.repeat(1_000)
  async function sendAll(): Promise<Promise<unknown>[]> {
    const pending: Promise<unknown>[] = []
    for (let i = 0; i < 5_000; i++) {
      await local.drained()
      pending.push(local.channel.request(Echo, { text }))
    }
    return pending
  }
  const sent = sendAll()
  await paused
  t.notOk(remote.ended.aborted)
  open.resolve()

  t.equal((await Promise.all(await sent)).length, 5_000)
})

t.test('a stream that has ended leaves no timers', async t => {
  const timers = new Set<object>()
  const startTimer = (): (() => void) => {
    const timer = {}
    timers.add(timer)
    return () => void timers.delete(timer)
  }
  const clock = { ...fakeClock(), after: startTimer, every: startTimer }
  const [local] = await sockets(t)
  const stream = new Stream({ socket: local, codec, handlers: [], clock, log: recordLog([]) })
  const pending = stream.channel.request(Echo, { text: '' })

  stream.end('over')
  await t.rejects(pending)
  local.destroy()
  await once(local, 'close')

  t.equal(timers.size, 0)
})

t.test('a handler works in the trace of its request, and the answer tells how long it took', async t => {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
  const inSpan = '00-4bf92f3577b34da6a3ce929d0e0e4736-aaaaaaaaaaaaaaaa-01'
  const seen: unknown[] = []
  const { local, clock } = await pair(
    t,
    serve(async text => {
      seen.push(currentTrace.getStore()?.traceparent)
      await clock.advance(7)
      return text
    })
  )
  const recorded: unknown[] = []
  const trace: Trace = {
    traceparent,
    startSpan: name => ({
      traceparent: inSpan,
      addRemote: (part, ms) => recorded.push([part, ms]),
      end: (result = {}) => recorded.push([name, result.error])
    })
  }

  await currentTrace.run(trace, () => local.channel.request(Echo, { text: 'a' }))
  await currentTrace.run({ traceparent }, () => local.channel.request(Echo, { text: 'b' }))
  await local.channel.request(Echo, { text: 'c' })

  t.same(seen, [inSpan, traceparent, undefined])
  t.same(recorded, [
    ['handle', 7],
    [Echo.name, undefined]
  ])
})
