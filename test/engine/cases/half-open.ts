// Half-open connections (RFC 9293 3.5.1): one side is gone, or seems to be.
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import type { ConnectionEnd } from '../../../agent/engine/ended-connection.ts'
import {
  collect,
  type EngineCase,
  engineFixture,
  type OpenEngine,
  openCaller,
  openTarget,
  portCounters,
  ruleTo,
  untilStable
} from '../engine-fixture.ts'

const manyBytes = 24 << 20 // more than all buffers on the way
const deadPeerMs = 400

/** Opens a rule with one connection. Its target does nothing. */
async function openPair(t: Test, openEngine: OpenEngine) {
  const { promise, resolve } = Promise.withResolvers<Socket>()
  const port = await openTarget(t, socket => resolve(socket.pause()))
  const fixture = engineFixture(t, openEngine, { deadPeerMs })
  const rule = await ruleTo([port], { reportEnds: true })
  await fixture.engine.open(rule)
  const caller = await openCaller(t, rule.from)
  return { ...fixture, rule, caller: caller.pause(), target: await promise }
}

type Pair = Awaited<ReturnType<typeof openPair>>

async function fillBuffers({ counters }: Pair, from: Socket): Promise<void> {
  from.write(Buffer.alloc(manyBytes))
  await untilStable(() => {
    const { bytesIn, bytesOut } = portCounters(counters())
    return bytesIn + bytesOut
  })
}

/** Waits until the engine has closed both sockets. */
async function endOfPair({ engine, events, rule, finalCounters }: Pair): Promise<ConnectionEnd | undefined> {
  await engine.close(rule.id, null)
  await finalCounters(rule.id)
  return events.flatMap(event => (event.kind === 'connections-ended' ? event.ended : []))[0]?.end
}

async function sendFin(socket: Socket): Promise<void> {
  socket.end()
  await once(socket, 'finish')
}

export const halfOpen: Record<string, EngineCase> = {
  async 'a caller that has closed, then resets, ends a connection whose target is silent'(t, openEngine) {
    const pair = await openPair(t, openEngine)
    const ended = once(pair.target.resume(), 'end')
    pair.caller.write('x')
    await sendFin(pair.caller)
    await ended

    pair.caller.resetAndDestroy() // as its kernel does at the first keepalive probe

    t.equal(await endOfPair(pair), 'caller_reset')
  },

  async 'a target that has closed, then resets, ends a connection whose caller is silent'(t, openEngine) {
    const pair = await openPair(t, openEngine)
    const ended = once(pair.caller.resume(), 'end')
    await sendFin(pair.target)
    await ended

    pair.target.resetAndDestroy()

    t.equal(await endOfPair(pair), 'target_reset')
  },

  async 'a caller that resets ends a connection whose target does not read'(t, openEngine) {
    const pair = await openPair(t, openEngine)
    await fillBuffers(pair, pair.caller)

    pair.caller.resetAndDestroy()

    t.equal(await endOfPair(pair), 'caller_reset')
  },

  async 'a caller that resets ends a connection whose target has closed and does not read'(t, openEngine) {
    const pair = await openPair(t, openEngine)
    await sendFin(pair.target)
    await fillBuffers(pair, pair.caller)

    pair.caller.resetAndDestroy()

    t.equal(await endOfPair(pair), 'caller_reset')
  },

  async 'a target that resets ends a connection whose caller does not read'(t, openEngine) {
    const pair = await openPair(t, openEngine)
    await fillBuffers(pair, pair.target)

    pair.target.resetAndDestroy()

    t.equal(await endOfPair(pair), 'target_reset')
  },

  async 'a caller that resets during the dial ends it, also after a FIN or with unread bytes'(t, openEngine) {
    for (const bytes of [0, 5, 1 << 20])
      for (const isFinished of bytes === 1 << 20 ? [false] : [false, true]) {
        const fixture = engineFixture(t, openEngine)
        const rule = await ruleTo([{ host: 'unanswered.test', port: 9 }], { reportEnds: true })
        await fixture.engine.open(rule)
        const caller = await openCaller(t, rule.from)
        caller.write(Buffer.alloc(bytes))
        await untilStable(() => caller.bytesWritten - caller.writableLength)
        if (isFinished) await sendFin(caller)

        caller.resetAndDestroy()

        await fixture.engine.close(rule.id, null)
        t.same((await fixture.finalCounters(rule.id)).rejected, {}, `${bytes} bytes, FIN: ${isFinished}`)
      }
  },

  async 'a target that reads late gets all bytes of a caller that has left in order'(t, openEngine) {
    const sizes = [1, 1 << 18, 1 << 20, 2 << 20, 3 << 20, 4 << 20, 6 << 20]
    const pairs = await Promise.all(sizes.map(() => openPair(t, openEngine)))
    for (const [at, { caller, target }] of pairs.entries()) {
      await sendFin(target)
      caller.end(Buffer.alloc(sizes[at] ?? 0)).resume()
    }
    await sleep(2_500) // the engines look for lost peers, and find none

    const received = await Promise.all(pairs.map(({ target }) => collect(target)))

    t.same(
      received.map(({ length }) => length),
      sizes
    )
    for (const pair of pairs) t.equal(await endOfPair(pair), 'target_closed')
  },

  async 'a peer that does not read for longer than the time of a dead one keeps its connection'(
    t,
    openEngine
  ) {
    for (const side of ['caller', 'target'] as const) {
      const pair = await openPair(t, openEngine)
      await fillBuffers(pair, side === 'caller' ? pair.target : pair.caller)
      await sleep(5 * deadPeerMs)

      const sender = side === 'caller' ? pair.target : pair.caller
      sender.end()
      t.equal((await collect(pair[side])).length, manyBytes, side)
      pair[side].end()
      t.match(await endOfPair(pair), /_closed$/)
    }
  }
}
