// Forwarding of bytes, FIN and reset.
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import {
  collect,
  type EngineCase,
  echo,
  endOf,
  engineFixture,
  exchange,
  openCaller,
  openEchoRule,
  openTarget,
  portCounters,
  ruleTo,
  sha256,
  until,
  untilStable
} from '../engine-fixture.ts'

/** The limit of Linux for the buffers of one connection. Other systems have small buffers. */
const kernelBufferBytes = (): number =>
  ['tcp_rmem', 'tcp_wmem']
    .map(name => `/proc/sys/net/ipv4/${name}`)
    .filter(file => existsSync(file))
    .reduce((sum, file) => sum + Number(readFileSync(file, 'utf8').trim().split(/\s+/).at(-1)), 0)

export const bytes: Record<string, EngineCase> = {
  async 'bytes arrive bit for bit in both directions at once'(t, openEngine) {
    const up = randomBytes(16 * 1024 * 1024)
    const down = randomBytes(16 * 1024 * 1024)
    let received: Promise<Buffer> | undefined
    const port = await openTarget(t, socket => {
      received = collect(socket)
      socket.end(down)
    })
    const { engine, finalCounters } = engineFixture(t, openEngine)
    const rule = await ruleTo([port])
    await engine.open(rule)

    const caller = await openCaller(t, rule.from)
    caller.end(up)
    const got = await collect(caller)

    t.equal(sha256(got), sha256(down))
    t.equal(sha256((await received) ?? Buffer.alloc(0)), sha256(up))
    await engine.close(rule.id, 1_000)
    const { ports, targets, connectionsTotal } = await finalCounters(rule.id)
    t.match(ports, [{ port: rule.from, bytesIn: up.length, bytesOut: down.length, active: 0 }])
    t.match(targets, [{ bytesIn: up.length, bytesOut: down.length, connectionsTotal: 1 }])
    t.equal(connectionsTotal, 1)
  },

  async 'a caller that half-closes still receives the whole answer'(t, openEngine) {
    const port = await openTarget(t, async socket => {
      const request = await collect(socket)
      socket.end(`you sent ${request}`)
    })
    const { engine } = engineFixture(t, openEngine)
    const rule = await ruleTo([port])
    await engine.open(rule)

    const caller = await openCaller(t, rule.from)
    caller.end('good day')

    t.equal(String(await collect(caller)), 'you sent good day')
  },

  async 'a target that half-closes still receives all bytes of the caller'(t, openEngine) {
    let received: Promise<Buffer> | undefined
    const port = await openTarget(t, socket => {
      socket.end('over to you')
      received = collect(socket)
    })
    const { engine } = engineFixture(t, openEngine)
    const rule = await ruleTo([port])
    await engine.open(rule)

    const caller = await openCaller(t, rule.from)
    const greeting = await collect(caller)
    caller.end('thank you')

    t.equal(String(greeting), 'over to you')
    t.equal(String(await received), 'thank you')
  },

  async 'bytes that arrive before the target is connected are buffered'(t, openEngine) {
    const port = await openTarget(t, echo)
    const { engine, events } = engineFixture(t, openEngine)
    const rule = await ruleTo([{ host: 'late.test', port }])
    await engine.open(rule)

    const caller = await openCaller(t, rule.from)
    const request = randomBytes(1024 * 1024)
    caller.end(request)
    await until(() => events.length > 0)
    const [lookup] = events
    if (lookup?.kind === 'resolve') engine.resolved(lookup.token, { ok: true, addresses: ['127.0.0.1'] })

    t.match(lookup, { kind: 'resolve', ruleId: rule.id, host: 'late.test' })
    t.equal(sha256(await collect(caller)), sha256(request))
  },

  async 'a caller that does not read stops its target, and memory stays bounded'(t, openEngine) {
    let sent = 0
    const port = await openTarget(t, socket => {
      const chunk = Buffer.alloc(64 * 1024)
      const flood = () => {
        while (socket.write(chunk, () => (sent += chunk.length)));
      }
      socket.on('drain', flood)
      flood()
    })
    const { engine, counters } = engineFixture(t, openEngine)
    const rule = await ruleTo([port])
    await engine.open(rule)
    const caller = connect({ port: rule.from, host: '127.0.0.1' }).pause()
    caller.on('error', () => {})
    t.teardown(() => caller.destroy())

    await untilStable(() => sent)

    const buffered = sent - portCounters(counters()).bytesOut
    t.ok(sent > 0)
    // The kernel also fills the target's send buffer and our receive buffer. It chooses their sizes.
    t.ok(buffered < 16 * 1024 * 1024 + kernelBufferBytes(), `${buffered} bytes are buffered`)
    caller.resume()
    const before = sent
    await until(() => sent > before + 32 * 1024 * 1024)
  },

  async 'a reset is forwarded after the bytes received before it'(t, openEngine) {
    const port = await openTarget(t, socket =>
      socket.once('data', () => socket.write('last words', () => socket.resetAndDestroy()))
    )
    const { engine, finalCounters } = engineFixture(t, openEngine)
    const rule = await ruleTo([port])
    await engine.open(rule)
    const caller = await openCaller(t, rule.from)
    let received = 0
    caller.on('data', chunk => {
      received += chunk.length
    })
    caller.write('your last words?')

    t.equal(await endOf(caller), 'reset')

    await engine.close(rule.id, 0)
    t.match(await finalCounters(rule.id), { ports: [{ bytesOut: received, active: 0 }] })
    t.equal(received, 10)
  },

  async 'a slow reader receives all bytes that a target sent before its reset'(t, openEngine) {
    const size = 2_000_000
    let target: Socket | undefined
    const port = await openTarget(t, socket => {
      target = socket.pause()
      socket.write(Buffer.alloc(size, 'x'))
    })
    const { engine, counters, finalCounters } = engineFixture(t, openEngine)
    const rule = await ruleTo([port])
    await engine.open(rule)
    const caller = await openCaller(t, rule.from)
    caller.write(Buffer.alloc(512 * 1024)) // more than its process reads ahead
    await untilStable(() => portCounters(counters()).bytesOut)
    target?.destroy() // with unread bytes: the system sends a reset (RFC 2525 section 2.17)
    let received = 0
    caller.on('data', chunk => {
      received += chunk.length
    })

    t.equal(await endOf(caller), 'reset')

    t.equal(received, size)
    await engine.close(rule.id, 0)
    t.match(await finalCounters(rule.id), { ports: [{ bytesOut: size, active: 0 }] })
  },

  async 'a connection that is silent in both directions for the idle time is reset'(t, openEngine) {
    const { engine, counters } = engineFixture(t, openEngine)
    const rule = await openEchoRule(t, engine, { idleMs: 300 })
    const caller = await openCaller(t, rule.from)
    const beganAt = performance.now()
    while (performance.now() - beganAt < 600) {
      await exchange(caller, 'busy')
      await new Promise(resolve => setTimeout(resolve, 50))
    }

    const busyMs = performance.now() - beganAt
    t.equal(await endOf(caller), 'reset')

    t.ok(busyMs >= 600)
    t.ok(performance.now() - beganAt - busyMs >= 200)
    await until(() => portCounters(counters()).active === 0)
  }
}
