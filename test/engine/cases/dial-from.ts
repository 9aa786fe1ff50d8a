// Local source addresses of dials and probes.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import type { Test } from 'tap'
import type { EngineEvent } from '../../../agent/engine/engine.ts'
import {
  type EngineCase,
  endOf,
  engineFixture,
  exchange,
  openCaller,
  openTarget,
  ruleTo,
  until
} from '../engine-fixture.ts'
import { openUdpCaller, openUdpRule } from './udp-fixture.ts'

const own = { ipv4: '127.0.0.7', ipv6: null }
const missing = { ipv4: '192.0.2.77', ipv6: '2001:db8::77' }

const failures = (events: readonly EngineEvent[]) =>
  events.flatMap(event => (event.kind === 'target-health' && event.to === 'failed' ? [event.reason] : []))

/** Opens a target that answers with the sender's address. */
async function openUdpMirror(t: Test, host: string): Promise<number> {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4').bind(0, host)
  await once(socket, 'listening')
  t.teardown(() => socket.close())
  socket.on('message', (_, { address, port }) => socket.send(address, port, address))
  return socket.address().port
}

export const dialFrom: Record<string, EngineCase> = {
  async 'targets are dialed and probed from the address of their family'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const seen: (string | undefined)[] = []
    for (const [host, expected] of [
      ['127.0.0.1', '127.0.0.7'],
      ['::1', '::1']
    ] as const) {
      const port = await openTarget(
        t,
        socket => {
          seen.push(socket.remoteAddress)
          socket.on('data', () => socket.write(socket.remoteAddress ?? ''))
        },
        { host }
      )
      const rule = await ruleTo([{ host, port }], { dialFrom: own, probeMs: 50 })
      await engine.open(rule)
      for (const caller of [await openCaller(t, rule.from), await openCaller(t, rule.from)])
        t.equal(await exchange(caller, 'who?'), expected)
      const dialed = seen.length
      await until(() => seen.length > dialed + 2)
      await engine.close(rule.id, 0)
      t.ok(seen.splice(0).every(address => address === expected))
    }
  },

  async 'flows use the source address of their family'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    for (const [host, expected] of [
      ['127.0.0.1', '127.0.0.7'],
      ['::1', '::1']
    ] as const) {
      const port = await openUdpMirror(t, host)
      const rule = await openUdpRule(engine, [{ host, port }], { dialFrom: own })
      for (const caller of [await openUdpCaller(t, rule.from), await openUdpCaller(t, rule.from)])
        t.equal(await caller.exchange('who?'), expected)
    }
  },

  async 'with a source address that the host lacks, only dials fail, with a reason'(t, openEngine) {
    const { engine, events } = engineFixture(t, openEngine)
    const accepted: unknown[] = []
    const port = await openTarget(t, socket => accepted.push(socket))
    const rule = await ruleTo([port], { dialFrom: missing })
    await engine.open(rule)
    for (let calls = 0; calls < 3; calls++) t.equal(await endOf(await openCaller(t, rule.from)), 'reset')
    await until(() => failures(events).length > 0)

    const mirror = await openUdpMirror(t, '127.0.0.1')
    const udp = await openUdpRule(engine, [mirror], { dialFrom: missing })
    const caller = await openUdpCaller(t, udp.from)
    for (let lost = 1; lost <= 3; lost++) {
      caller.send('lost')
      await until(() => engine.sample().rules[1]?.targets[0]?.consecutiveFailures === lost)
    }
    await until(() => failures(events).length > 1)

    t.same(failures(events), ['source_unavailable', 'source_unavailable'])
    t.same(accepted, [])
    const working = await ruleTo([await openTarget(t, socket => socket.pipe(socket))], { dialFrom: own })
    await engine.open(working)
    t.equal(await exchange(await openCaller(t, working.from), 'still here'), 'still here')
  },

  async 'a source address of the wrong family is refused'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    for (const dialFrom of [
      { ipv4: '::1', ipv6: null },
      { ipv4: null, ipv6: '127.0.0.1' },
      { ipv4: null, ipv6: 'fe80::1%lo' },
      { ipv4: 'localhost', ipv6: null }
    ])
      await t.rejects(engine.open(await ruleTo([9], { dialFrom })), { code: 'EINVAL', message: /dialFrom/ })
  }
}
