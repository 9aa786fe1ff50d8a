// What every engine must do: one list of cases, played against each engine through the same contract.
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'
import type { Engine, EngineRule } from '../../agent/engine.ts'
import { freePort } from '../kit/ports.ts'
import {
  answer,
  call,
  collect,
  echo,
  endOf,
  type OpenEngine,
  openTarget,
  portCounters,
  rig,
  ruleTo,
  until
} from './rig.ts'

type Case = (t: Test, openEngine: OpenEngine) => Promise<void>

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

export const cases: Record<string, Case> = {
  async 'bytes arrive bit for bit in both directions at once'(t, openEngine) {
    const up = randomBytes(64 * 1024 * 1024)
    const down = randomBytes(64 * 1024 * 1024)
    let received: Promise<Buffer> | undefined
    const port = await openTarget(t, socket => {
      received = collect(socket)
      socket.end(down)
    })
    const { engine, final } = rig(t, openEngine)
    const rule = await ruleTo([port])
    await engine.open(rule)

    const caller = await call(t, rule.from)
    caller.end(up)
    const got = await collect(caller)

    t.equal(sha256(got), sha256(down))
    t.equal(sha256((await received) ?? Buffer.alloc(0)), sha256(up))
    await engine.close(rule.id, 1_000)
    const { ports, targets, connectionsTotal } = await final(rule.id)
    t.match(ports, [{ port: rule.from, bytesIn: up.length, bytesOut: down.length, active: 0 }])
    t.match(targets, [{ bytesIn: up.length, bytesOut: down.length, connectionsTotal: 1 }])
    t.equal(connectionsTotal, 1)
  },

  async 'both families are listened on, and an IPv6 target is reached'(t, openEngine) {
    const port = await openTarget(t, echo, { host: '::1' })
    const { engine } = rig(t, openEngine)
    const rule = await ruleTo([{ host: '::1', port }])
    await engine.open(rule)

    t.equal(await answer(await call(t, rule.from, '127.0.0.1'), 'four'), 'four')
    t.equal(await answer(await call(t, rule.from, '::1'), 'six'), 'six')
  },

  async 'a caller that half-closes still gets the whole answer'(t, openEngine) {
    const port = await openTarget(t, async socket => {
      const question = await collect(socket)
      socket.end(`you said ${question}`)
    })
    const { engine } = rig(t, openEngine)
    const rule = await ruleTo([port])
    await engine.open(rule)

    const caller = await call(t, rule.from)
    caller.end('good day')

    t.equal(String(await collect(caller)), 'you said good day')
  },

  async 'a target that half-closes still gets all that the caller says'(t, openEngine) {
    let heard: Promise<Buffer> | undefined
    const port = await openTarget(t, socket => {
      socket.end('over to you')
      heard = collect(socket)
    })
    const { engine } = rig(t, openEngine)
    const rule = await ruleTo([port])
    await engine.open(rule)

    const caller = await call(t, rule.from)
    const said = await collect(caller)
    caller.end('thank you')

    t.equal(String(said), 'over to you')
    t.equal(String(await heard), 'thank you')
  },

  async 'a caller is reset when its target refuses'(t, openEngine) {
    const { engine, counters } = rig(t, openEngine)
    const rule = await ruleTo([await freePort()])
    await engine.open(rule)

    const caller = await call(t, rule.from)

    t.equal(await endOf(caller), 'reset')
    await until(() => portCounters(counters()).active === 0)
    t.match(counters(), { connectionsTotal: 1, targets: [{ connectionsTotal: 0 }], rejected: {} })
  },

  async 'the next address is tried when the first refuses'(t, openEngine) {
    const port = await openTarget(t, echo)
    const names = { 'two.test': { ok: true, addresses: ['::1', '127.0.0.1'] } } as const
    const { engine, counters } = rig(t, openEngine, { names })
    const rule = await ruleTo([{ host: 'two.test', port }])
    await engine.open(rule)

    t.equal(await answer(await call(t, rule.from), 'hello'), 'hello')
    t.equal(counters().targetFailovers, 0)
  },

  async 'the preferred family is tried first, and else the order of the answer holds'(t, openEngine) {
    const four = await openTarget(t, socket => socket.end('four'))
    await openTarget(t, socket => socket.end('six'), { host: '::1', port: four })
    const names = { 'both.test': { ok: true, addresses: ['127.0.0.1', '::1'] } } as const
    const { engine } = rig(t, openEngine, { names })
    const targets = [{ host: 'both.test', port: four }]
    const plain = await ruleTo(targets)
    const prefers = await ruleTo(targets, { preferIpv6: true })
    await engine.open(plain)
    await engine.open(prefers)

    t.equal(String(await collect(await call(t, plain.from))), 'four')
    t.equal(String(await collect(await call(t, prefers.from))), 'six')
  },

  async 'a later target takes over when the first cannot be reached'(t, openEngine) {
    const port = await openTarget(t, echo)
    const { engine, counters } = rig(t, openEngine)
    const rule = await ruleTo([await freePort(), port])
    await engine.open(rule)

    t.equal(await answer(await call(t, rule.from), 'hello'), 'hello')

    t.match(counters(), {
      targetFailovers: 1,
      targets: [
        { connectionsTotal: 0, bytesIn: 0 },
        { connectionsTotal: 1, bytesIn: 5 }
      ]
    })
  },

  async 'what the caller says before its target is reached is kept'(t, openEngine) {
    const port = await openTarget(t, echo)
    const { engine, events } = rig(t, openEngine)
    const rule = await ruleTo([{ host: 'late.test', port }])
    await engine.open(rule)

    const caller = await call(t, rule.from)
    const words = randomBytes(1024 * 1024)
    caller.end(words)
    await until(() => events.length > 0)
    const [question] = events
    if (question?.kind === 'resolve') engine.resolved(question.token, { ok: true, addresses: ['127.0.0.1'] })

    t.match(question, { kind: 'resolve', ruleId: rule.id, host: 'late.test' })
    t.equal(sha256(await collect(caller)), sha256(words))
  },

  async 'a caller that leaves while its name is looked up takes its dial along'(t, openEngine) {
    let dials = 0
    const port = await openTarget(t, () => dials++)
    const { engine, events, counters } = rig(t, openEngine)
    const rule = await ruleTo([{ host: 'late.test', port }])
    await engine.open(rule)
    const caller = await call(t, rule.from)
    await until(() => events.length > 0)
    const [question] = events

    caller.resetAndDestroy()
    await until(() => portCounters(counters()).active === 0)
    if (question?.kind === 'resolve') engine.resolved(question.token, { ok: true, addresses: ['127.0.0.1'] })
    await answer(await call(t, (await openEcho(t, engine)).from), 'and then')

    t.equal(dials, 0)
  },

  async 'a caller that ends without a word while nothing is reached has left'(t, openEngine) {
    const { engine, events, counters } = rig(t, openEngine)
    const rule = await ruleTo([{ host: 'late.test', port: 9 }])
    await engine.open(rule)
    const caller = await call(t, rule.from)
    await until(() => events.length > 0)

    caller.end()

    t.equal(await endOf(caller), 'reset')
    await until(() => portCounters(counters()).active === 0)
  },

  async 'a caller that does not read stops its target, in bounded memory'(t, openEngine) {
    let sent = 0
    const port = await openTarget(t, socket => {
      const chunk = Buffer.alloc(64 * 1024)
      const flood = () => {
        while (socket.write(chunk, () => (sent += chunk.length)));
      }
      socket.on('drain', flood)
      flood()
    })
    const { engine, counters } = rig(t, openEngine)
    const rule = await ruleTo([port])
    await engine.open(rule)
    const caller = connect({ port: rule.from, host: '127.0.0.1' }).pause()
    caller.on('error', () => {})
    t.teardown(() => caller.destroy())

    await standsStill(() => sent)

    const buffered = sent - portCounters(counters()).bytesOut
    t.ok(sent > 0)
    // Besides ours, the kernel holds the target's send buffer and our receive buffer.
    t.ok(buffered < 16 * 1024 * 1024, `${buffered} bytes are buffered`)
    caller.resume()
    const before = sent
    await until(() => sent > before + 32 * 1024 * 1024)
  },

  async 'a drain lets a live connection finish, and the port is shut at once'(t, openEngine) {
    const { engine, final } = rig(t, openEngine)
    const rule = await openEcho(t, engine)
    const caller = await call(t, rule.from)
    await answer(caller, 'before')

    await engine.close(rule.id, 60_000)

    await t.rejects(call(t, rule.from), { code: 'ECONNREFUSED' })
    t.equal(await answer(caller, 'after'), 'after')
    t.match(engine.sample(), [{ ports: [{ active: 1 }] }])
    caller.end()
    t.equal(await endOf(caller), 'fin')
    t.match(await final(rule.id), { ports: [{ bytesIn: 11, bytesOut: 11, active: 0 }] })
    t.same(engine.sample(), [])
  },

  async 'what outlives its drain is reset'(t, openEngine) {
    const { engine, final } = rig(t, openEngine)
    const rule = await openEcho(t, engine)
    const caller = await call(t, rule.from)
    await answer(caller, 'before')

    await engine.close(rule.id, 50)

    t.equal(await endOf(caller), 'reset')
    await final(rule.id)
  },

  async 'a cut resets both sides at once, also in the middle of a drain'(t, openEngine) {
    let targetSide: Promise<'fin' | 'reset'> | undefined
    const port = await openTarget(t, socket => {
      socket.write('hello')
      targetSide = endOf(socket)
    })
    const { engine, final } = rig(t, openEngine)
    const rule = await ruleTo([port])
    await engine.open(rule)
    const caller = await call(t, rule.from)
    await once(caller, 'data')

    await engine.close(rule.id, 60_000)
    await engine.close(rule.id, 0)

    t.equal(await endOf(caller), 'reset')
    t.equal(await targetSide, 'reset')
    t.match(await final(rule.id), { ports: [{ bytesOut: 5, active: 0 }] })
  },

  async 'a port can be opened again right after it was closed, with connections in TIME_WAIT'(t, openEngine) {
    const port = await openTarget(t, socket => socket.end('bye'))
    const { engine } = rig(t, openEngine)
    const rule = await ruleTo([port])
    await engine.open(rule)
    // The side that ends first, the engine's listener here, keeps the port in TIME_WAIT.
    const callers = await Promise.all(Array.from({ length: 20 }, () => call(t, rule.from)))
    await Promise.all(callers.map(caller => collect(caller)))
    for (const caller of callers) caller.end()
    await until(() => engine.sample().every(counters => portCounters(counters).active === 0))

    await engine.close(rule.id, 0)
    await engine.open(await ruleTo([port], { from: rule.from }))

    t.equal(String(await collect(await call(t, rule.from))), 'bye')
  },

  async 'a port that another process holds is in use, on either family'(t, openEngine) {
    const { engine } = rig(t, openEngine)
    for (const host of ['127.0.0.1', '::1', '0.0.0.0']) {
      const from = await freePort()
      const other = createServer().listen(from, host)
      await once(other, 'listening')

      await t.rejects(engine.open(await ruleTo([9], { from })), { code: 'EADDRINUSE' }, host)

      other.close()
      await engine.open(await ruleTo([9], { from }))
    }
  },

  async 'a range opens all its ports, each to its own target port'(t, openEngine) {
    const { engine, counters } = rig(t, openEngine)
    const first = await freePort(3)
    for (const port of [first, first + 1, first + 2])
      await openTarget(t, socket => socket.end(String(port)), { port })
    const from = await freePort(3)
    await engine.open(await ruleTo([first], { from, to: from + 2 }))

    for (const offset of [0, 1, 2])
      t.equal(String(await collect(await call(t, from + offset))), String(first + offset))
    t.match(counters().ports, [{ port: from }, { port: from + 1 }, { port: from + 2, bytesOut: 5 }])
  },

  async 'a range with one port taken opens none'(t, openEngine) {
    const { engine } = rig(t, openEngine)
    const from = await freePort(3)
    const other = createServer().listen(from + 2, '127.0.0.1')
    await once(other, 'listening')
    t.teardown(() => other.close())

    await t.rejects(engine.open(await ruleTo([9], { from, to: from + 2 })), { code: 'EADDRINUSE' })

    await t.rejects(call(t, from), { code: 'ECONNREFUSED' })
    await t.rejects(call(t, from + 1), { code: 'ECONNREFUSED' })
    t.same(engine.sample(), [])
  },

  async 'counters move while bytes are delivered'(t, openEngine) {
    const { engine, counters } = rig(t, openEngine)
    const rule = await openEcho(t, engine)
    const caller = await call(t, rule.from)

    await answer(caller, 'hello')

    await until(() => portCounters(counters()).bytesOut === 5)
    t.match(portCounters(counters()), { bytesIn: 5, bytesOut: 5, active: 1 })
  },

  async 'a reset crosses over after what was received before it'(t, openEngine) {
    const port = await openTarget(t, socket =>
      socket.once('data', () => socket.write('last words', () => socket.resetAndDestroy()))
    )
    const { engine, final } = rig(t, openEngine)
    const rule = await ruleTo([port])
    await engine.open(rule)
    const caller = await call(t, rule.from)
    let heard = 0
    caller.on('data', chunk => {
      heard += chunk.length
    })
    caller.write('your last words?')

    t.equal(await endOf(caller), 'reset')

    await engine.close(rule.id, 0)
    t.match(await final(rule.id), { ports: [{ bytesOut: heard, active: 0 }] })
    t.equal(heard, 10)
  },

  async 'bytes that a reset kept from arriving are not counted'(t, openEngine) {
    let target: Socket | undefined
    const port = await openTarget(t, socket => {
      target = socket.pause()
    })
    const { engine, counters, final } = rig(t, openEngine)
    const rule = await ruleTo([port])
    await engine.open(rule)
    const caller = await call(t, rule.from)
    let offered = 0
    const chunk = Buffer.alloc(1024 * 1024)
    while (offered < 64 * chunk.length) {
      caller.write(chunk)
      offered += chunk.length
    }
    await standsStill(() => portCounters(counters()).bytesIn)
    const delivered = portCounters(counters()).bytesIn

    target?.resetAndDestroy()

    t.equal(await endOf(caller), 'reset')
    await engine.close(rule.id, 0)
    const { bytesIn } = portCounters(await final(rule.id))
    t.equal(bytesIn, delivered)
    t.ok(bytesIn < offered)
  },

  async 'an engine never dials its own listeners'(t, openEngine) {
    const { engine, counters } = rig(t, openEngine, { bind: ['0.0.0.0', '::'] })
    const from = await freePort()
    const hosts = ['127.0.0.1', '127.1.2.3', '::1', '0.0.0.0', '::ffff:127.0.0.1', '::']
    await engine.open(
      await ruleTo(
        hosts.map(host => ({ host, port: from })),
        { from }
      )
    )

    t.equal(await endOf(await call(t, from)), 'reset')

    t.match(counters(), { connectionsTotal: 1, rejected: { loop: 1 } })
  },

  async 'the same port on an address that the engine does not listen on is no loop'(t, openEngine) {
    const { engine } = rig(t, openEngine, { bind: ['::1'] })
    const port = await openTarget(t, echo)
    await engine.open(await ruleTo([port], { from: port }))

    t.equal(await answer(await call(t, port, '::1'), 'through'), 'through')
  },

  async 'callers are judged by their address'(t, openEngine) {
    const port = await openTarget(t, echo)
    const { engine, counters } = rig(t, openEngine)
    const source = { allow: [{ cidr: '127.0.0.0/8' }], deny: [], refusal: 'source_denied' }
    const rule = await ruleTo([port], { source })
    await engine.open(rule)

    t.equal(await answer(await call(t, rule.from, '127.0.0.1'), 'in'), 'in')
    t.equal(await endOf(await call(t, rule.from, '::1')), 'reset')

    t.match(counters(), { connectionsTotal: 1, rejected: { source_denied: 1 } })
  },

  async 'dials are judged by address, port and name'(t, openEngine) {
    const port = await openTarget(t, echo)
    const names = { 'good.test': { ok: true, addresses: ['::ffff:127.0.0.1'] } } as const
    const { engine, counters } = rig(t, openEngine, { names })
    const target = { host: 'good.test', port }
    const outcome = async (deny: object[], allow: object[] | null = null) => {
      const rule = await ruleTo([target], { target: [{ allow, deny, refusal: 'denied_by_agent' }] })
      await engine.open(rule)
      const caller = await call(t, rule.from)
      caller.write('hello')
      const end = await Promise.race([endOf(caller), once(caller, 'data').then(() => 'served')])
      await until(() => end === 'served' || portCounters(counters()).active === 0)
      const { rejected } = counters()
      await engine.close(rule.id, 0)
      await until(() => engine.sample().length === 0)
      return end === 'served' ? end : rejected
    }
    const denied = { denied_by_agent: 1 }

    t.same(await outcome([{ cidr: '127.0.0.0/8' }]), denied)
    t.same(await outcome([{ cidr: '127.0.0.1', ports: [port, port] }]), denied)
    t.same(await outcome([{ cidr: '::ffff:127.0.0.0/104' }]), denied)
    t.same(await outcome([{ host: 'good.test' }]), denied)
    t.same(await outcome([], []), denied)
    t.same(await outcome([], [{ host: 'other.test' }]), denied)
    t.same(await outcome([], [{ host: 'good.test' }]), 'served')
    t.same(await outcome([{ cidr: '127.0.0.1', ports: [1, 9] }, { cidr: 'fd00::/8' }]), 'served')
  },

  async 'an address that is denied leaves the way to one that is not'(t, openEngine) {
    const port = await openTarget(t, echo)
    const names = { 'two.test': { ok: true, addresses: ['::1', '127.0.0.1'] } } as const
    const { engine, counters } = rig(t, openEngine, { names })
    const filter = { allow: null, deny: [{ cidr: '::1' }], refusal: 'denied_by_agent' }
    const rule = await ruleTo([{ host: 'two.test', port }], { target: [filter] })
    await engine.open(rule)

    t.equal(await answer(await call(t, rule.from), 'hello'), 'hello')
    t.same(counters().rejected, {})
  },

  async 'new filters reset what they no longer allow, and nothing else'(t, openEngine) {
    const { engine, counters } = rig(t, openEngine)
    const rule = await openEcho(t, engine)
    const four = await call(t, rule.from, '127.0.0.1')
    const six = await call(t, rule.from, '::1')
    await answer(four, 'hello')
    await answer(six, 'hello')
    const deny = (cidr: string) => ({ allow: null, deny: [{ cidr }], refusal: 'source_denied' })

    engine.filter(rule.id, { source: deny('::1'), target: [] })

    t.equal(await endOf(six), 'reset')
    t.equal(await answer(four, 'still here'), 'still here')
    engine.filter(rule.id, { source: null, target: [deny('127.0.0.1')] })
    t.equal(await endOf(four), 'reset')
    engine.filter(rule.id, { source: null, target: [] })
    t.equal(await answer(await call(t, rule.from), 'again'), 'again')
    t.match(counters().rejected, { source_denied: 2 })
  },

  async 'a filter that is none is refused, and nothing is opened'(t, openEngine) {
    const { engine } = rig(t, openEngine)
    for (const cidr of [
      '10.0.0.0/33',
      '::/129',
      'example.org',
      '10.0.0.0/',
      '10.0.0.0/8/8',
      '::ffff:10.0.0.0/8'
    ]) {
      const source = { allow: null, deny: [{ cidr }], refusal: 'source_denied' }
      await t.rejects(engine.open(await ruleTo([9], { source })), { code: 'EINVAL' }, cidr)
    }
    t.same(engine.sample(), [])
  },

  async 'a name that is not found drops only that connection'(t, openEngine) {
    const port = await openTarget(t, echo)
    let answers = 0
    const { engine, events, counters } = rig(t, openEngine, {
      names: {
        get 'flaky.test'() {
          return answers++ === 0
            ? ({ ok: false, reason: 'nxdomain' } as const)
            : ({ ok: true, addresses: ['127.0.0.1'] } as const)
        }
      }
    })
    const rule = await ruleTo([{ host: 'flaky.test', port }])
    await engine.open(rule)

    t.equal(await endOf(await call(t, rule.from)), 'reset')
    t.equal(await answer(await call(t, rule.from), 'hello'), 'hello')

    t.match(counters(), { dnsFailures: 1, connectionsTotal: 2, rejected: {} })
    const failures = events.filter(({ kind }) => kind === 'dns-failed')
    t.same(failures, [{ kind: 'dns-failed', ruleId: rule.id, host: 'flaky.test', reason: 'nxdomain' }])
  },

  async 'a connection on which both sides are silent for the idle time is reset'(t, openEngine) {
    const { engine, counters } = rig(t, openEngine)
    const rule = await openEcho(t, engine, 300)
    const caller = await call(t, rule.from)
    const beganAt = performance.now()
    while (performance.now() - beganAt < 600) {
      await answer(caller, 'busy')
      await new Promise(resolve => setTimeout(resolve, 50))
    }

    const busyMs = performance.now() - beganAt
    t.equal(await endOf(caller), 'reset')

    t.ok(busyMs >= 600)
    t.ok(performance.now() - beganAt - busyMs >= 200)
    await until(() => portCounters(counters()).active === 0)
  },

  async 'stopping cuts everything, tells the final counters and refuses to open'(t, openEngine) {
    const { engine, events } = rig(t, openEngine)
    const rule = await openEcho(t, engine)
    const other = await openEcho(t, engine)
    const caller = await call(t, rule.from)
    await answer(caller, 'hello')

    await Promise.all([engine.stop(), engine.stop()])

    t.equal(await endOf(caller), 'reset')
    await t.rejects(call(t, other.from), { code: 'ECONNREFUSED' })
    await t.rejects(engine.open(await ruleTo([9])), { code: 'ESTOPPED' })
    const finals = events.flatMap(event => (event.kind === 'closed' ? [event.counters] : []))
    t.match(
      finals.find(({ ruleId }) => ruleId === rule.id),
      { ports: [{ bytesIn: 5, bytesOut: 5, active: 0 }] }
    )
    t.ok(finals.some(({ ruleId }) => ruleId === other.id))
    t.same(engine.sample(), [])
  },

  async 'what cannot be a rule is refused'(t, openEngine) {
    const { engine } = rig(t, openEngine)
    const from = await freePort(2)
    const impossible = [
      await ruleTo([]),
      await ruleTo([9], { from: 0, to: 0 }),
      await ruleTo([9], { from: 65_536, to: 65_536 }),
      await ruleTo([9], { from, to: from - 1 }),
      await ruleTo([65_535], { from, to: from + 1 })
    ]

    for (const rule of impossible) await t.rejects(engine.open(rule), { code: 'EINVAL' })
  }
}

async function openEcho(t: Test, engine: Engine, idleMs = 0): Promise<EngineRule> {
  const rule = await ruleTo([await openTarget(t, echo)], { idleMs })
  await engine.open(rule)
  return rule
}

/** Until the figure has not moved for a while: nothing tells that bytes have stopped flowing. */
async function standsStill(figure: () => number): Promise<void> {
  for (let before = -1; before !== figure(); ) {
    before = figure()
    await new Promise(resolve => setTimeout(resolve, 200))
  }
}
