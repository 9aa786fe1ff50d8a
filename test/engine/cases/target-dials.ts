// Targets that a plugin of the agent dials: the engine asks with a 'dial' event, and gets an answer.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Test } from 'tap'
import type { DialAnswer, DialRequest } from '../../../agent/engine/dial-request.ts'
import type { EngineTarget } from '../../../agent/engine/engine.ts'
import { zeroCounters } from '../../../agent/portable-engine/live-counters.ts'
import { TargetChooser } from '../../../agent/portable-engine/target-chooser.ts'
import { freePort } from '../../support/ports.ts'
import {
  collect,
  type EngineCase,
  echo,
  endOf,
  engineFixture,
  exchange,
  type OpenEngine,
  openCaller,
  openTarget,
  portCounters,
  ruleTo,
  sha256,
  until,
  untilStable
} from '../engine-fixture.ts'
import { limited, rate } from '../meter-fixture.ts'

const far: EngineTarget = { host: 'db.internal', port: 5432, dialer: 'links', path: 'paris' }
const connected: DialAnswer = { ok: true, address: '10.0.0.7', port: 5432 }

/** An engine with a dialer that gives each answer, and passes each stream to `serve`. */
function dialerFixture(
  t: Test,
  openEngine: OpenEngine,
  { serve = echo, answer = () => connected }: Dialer = {}
) {
  const requests: DialRequest[] = []
  const streams: (Duplex | null)[] = []
  const fixture = engineFixture(t, openEngine, {
    async onDial(request, engine) {
      requests.push(request)
      const stream = await engine.dialed(request.token, answer(request))
      streams.push(stream)
      if (stream) t.teardown(() => stream.destroy())
      if (stream) serve(stream)
    }
  })
  return { ...fixture, requests, streams }
}

interface Dialer {
  readonly serve?: (stream: Duplex) => void
  readonly answer?: (request: DialRequest) => DialAnswer
}

/** An engine with dials that the test answers. */
function unansweredFixture(t: Test, openEngine: OpenEngine) {
  const requests: DialRequest[] = []
  const fixture = engineFixture(t, openEngine, { onDial: request => void requests.push(request) })
  const canceled = () =>
    fixture.events.flatMap(event => (event.kind === 'dial-canceled' ? [event.token] : []))
  return { ...fixture, requests, canceled }
}

/** Opens a caller and returns it with the stream that its dialer gets. */
async function openPair(t: Test, openEngine: OpenEngine, changes: Parameters<typeof ruleTo>[1] = {}) {
  const served = Promise.withResolvers<Duplex>()
  const fixture = dialerFixture(t, openEngine, { serve: served.resolve })
  const rule = await ruleTo([far], changes)
  await fixture.engine.open(rule)
  const caller = await openCaller(t, rule.from)
  return { ...fixture, rule, caller, stream: await served.promise }
}

/** The descriptors of this process; 0 where the system does not show them. */
const descriptors = (): number => (existsSync('/proc/self/fd') ? readdirSync('/proc/self/fd').length : 0)

export const targetDials: Record<string, EngineCase> = {
  async 'a rule with a dialer at a place where none can be is refused'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const divert = { name: 'tarpit', from: ['slow'], targets: [far], refusalBeyond: null }
    const invalid = [
      [/UDP rule cannot have a dialer/, await ruleTo([far], { protocol: 'udp' })],
      [/divert tarpit cannot have a dialer/, await ruleTo([9], { diverts: [divert] })],
      [/has a path, but no dialer/, await ruleTo([{ host: '127.0.0.1', port: 9, path: 'paris' }])],
      [/must be the name of a plugin, got Links/, await ruleTo([{ ...far, dialer: 'Links' }])],
      [/at most 128 characters, got 129/, await ruleTo([{ ...far, path: 'p'.repeat(129) }])]
    ] as const
    for (const [message, rule] of invalid)
      await t.rejects(engine.open(rule), { code: 'EINVAL', message }, String(message))
    await engine.open(await ruleTo([far, { ...far, path: 'lyon' }]))
  },

  async 'the agent dials a target with a dialer, and its stream is the target'(t, openEngine) {
    const { engine, events, requests, counters, finalCounters } = dialerFixture(t, openEngine)
    const rule = await ruleTo([far], { reportEnds: true })
    await engine.open(rule)
    const caller = await openCaller(t, rule.from)
    t.equal(await exchange(caller, 'hello'), 'hello')

    const source = { address: '127.0.0.1', port: caller.localPort }
    const listen = { address: '127.0.0.1', port: rule.from }
    t.match(requests, [
      { ruleId: rule.id, target: 0, offset: 0, caller: { source, listen, serverName: null } }
    ])
    const all = { ids: null, rules: null, sources: null, target: null }
    const target = { address: '10.0.0.7', port: 5432 }
    const { rows } = engine.connections({ ...all, target, sort: 'age', after: null, limit: 10 })
    t.match(rows, [{ source, listen, target: { index: 0, ...target }, targetLeg: null }])
    t.match(counters(), { targets: [{ active: 1, connects: 1, health: 'healthy', lastSource: 'traffic' }] })
    caller.end()
    t.equal(await endOf(caller), 'fin')

    await engine.close(rule.id, null)
    t.match(await finalCounters(rule.id), {
      ports: [{ bytesIn: 5, bytesOut: 5, active: 0 }],
      targets: [{ bytesIn: 5, bytesOut: 5, connectionsTotal: 1 }],
      rejected: {}
    })
    const ended = events.flatMap(event => (event.kind === 'connections-ended' ? event.ended : []))
    t.match(ended, [{ target: { index: 0, ...target }, bytesIn: 5, bytesOut: 5, end: 'caller_closed' }])
  },

  async 'a dial says how far into a range of ports its caller is'(t, openEngine) {
    const { engine, requests } = dialerFixture(t, openEngine)
    const from = await freePort()
    const rule = await ruleTo([far], { from, to: from + 2 })
    await engine.open(rule)
    for (const offset of [2, 0, 1]) await exchange(await openCaller(t, from + offset), 'hello')
    t.same(
      requests.map(({ offset }) => offset),
      [2, 0, 1]
    )
  },

  async 'bytes pass a dialed stream bit for bit in both directions at once'(t, openEngine) {
    const up = randomBytes(8 * 1024 * 1024)
    const down = randomBytes(8 * 1024 * 1024)
    let received: Promise<Buffer> | undefined
    const { engine, finalCounters } = dialerFixture(t, openEngine, {
      serve(stream) {
        received = collect(stream)
        stream.end(down)
      }
    })
    const rule = await ruleTo([far])
    await engine.open(rule)
    const caller = await openCaller(t, rule.from)
    caller.end(up)
    t.equal(sha256(await collect(caller)), sha256(down))
    t.equal(sha256((await received) ?? Buffer.alloc(0)), sha256(up))
    await engine.close(rule.id, 1_000)
    t.match(await finalCounters(rule.id), { ports: [{ bytesIn: up.length, bytesOut: down.length }] })
  },

  async 'the end of each side passes alone'(t, openEngine) {
    const { caller, stream } = await openPair(t, openEngine)
    caller.end('question')
    t.equal(String(await collect(stream)), 'question')
    stream.end('answer')
    t.equal(String(await collect(caller)), 'answer')

    const other = await openPair(t, openEngine)
    other.stream.end('greeting')
    t.equal(String(await collect(other.caller)), 'greeting')
    other.caller.end('reply')
    t.equal(String(await collect(other.stream)), 'reply')
  },

  async 'the reset of a caller is an error of the stream, after its bytes'(t, openEngine) {
    const { caller, stream, counters } = await openPair(t, openEngine)
    const received: Buffer[] = []
    stream.on('data', chunk => received.push(chunk))
    const failed = once(stream, 'error')
    stream.once('end', () => t.fail('the stream has ended'))
    caller.write('last words', () => caller.resetAndDestroy())
    t.match(await failed, [{ code: 'ECONNRESET' }])
    t.equal(String(Buffer.concat(received)), 'last words')
    await until(() => portCounters(counters()).active === 0)
  },

  async 'a stream that is read late gives the bytes of its caller before the error'(t, openEngine) {
    const { caller, stream, counters } = await openPair(t, openEngine)
    caller.write('last words')
    await until(() => portCounters(counters()).bytesIn === 10 || stream.readableLength === 10)
    caller.resetAndDestroy()
    await until(() => portCounters(counters()).active === 0)
    t.equal(stream.errored, null)
    const failed = once(stream, 'error')
    const [bytes] = await once(stream, 'data')
    t.equal(String(bytes), 'last words')
    t.match(await failed, [{ code: 'ECONNRESET' }])
  },

  async 'the reset of a caller that has sent its end is an error of the stream'(t, openEngine) {
    const { caller, stream } = await openPair(t, openEngine)
    caller.end('question')
    t.equal(String(await collect(stream)), 'question')
    const failed = once(stream, 'error')
    stream.write('an')
    await once(caller.resume(), 'data')
    caller.resetAndDestroy()
    t.match(await failed, [{ code: 'ECONNRESET' }])
  },

  async 'a stream that is destroyed resets the caller, after its bytes'(t, openEngine) {
    for (const error of [undefined, new Error('the link broke')]) {
      const { caller, stream, engine, rule, events, finalCounters } = await openPair(t, openEngine, {
        reportEnds: true
      })
      let received = ''
      caller.on('data', chunk => {
        received += chunk
      })
      stream.write('last words', () => stream.destroy(error))
      t.equal(await endOf(caller), 'reset')
      t.equal(received, 'last words')
      await engine.close(rule.id, 0)
      t.match(await finalCounters(rule.id), { ports: [{ bytesOut: 10, active: 0 }] })
      const ended = events.flatMap(event => (event.kind === 'connections-ended' ? event.ended : []))
      t.match(ended, [{ end: 'target_reset' }])
    }
  },

  async 'a stream that fails after its end resets the caller'(t, openEngine) {
    const { caller, stream, counters } = await openPair(t, openEngine)
    stream.end('greeting')
    t.equal(String(await collect(caller)), 'greeting')
    stream.destroy(new Error('the link broke'))
    await until(() => portCounters(counters()).active === 0)
    const failed = once(caller, 'error')
    caller.write('too late')
    t.match(await failed, [{ syscall: 'write' }])
  },

  async 'a slow caller gets all bytes of a stream that was destroyed'(t, openEngine) {
    const size = 300_000
    const { caller, stream, counters } = await openPair(t, openEngine)
    stream.write(Buffer.alloc(size, 'x'))
    await until(() => portCounters(counters()).bytesOut === size)
    stream.destroy()
    let received = 0
    caller.on('data', chunk => {
      received += chunk.length
    })
    t.equal(await endOf(caller), 'reset')
    t.equal(received, size)
  },

  async 'a stream that does not read stops its caller, and a caller its stream'(t, openEngine) {
    const chunk = Buffer.alloc(256 * 1024)
    const { caller, stream, counters } = await openPair(t, openEngine)
    for (const [side, other, direction] of [
      [caller, stream, 'bytesIn'],
      [stream, caller, 'bytesOut']
    ] as const) {
      const flood = () => {
        while (side.write(chunk));
      }
      side.on('drain', flood)
      flood()
      await untilStable(() => portCounters(counters())[direction])
      const stoppedAt = portCounters(counters())[direction]
      t.ok(side.writableNeedDrain)
      other.resume()
      await until(() => portCounters(counters())[direction] > stoppedAt + 8 * 1024 * 1024)
      side.off('drain', flood)
    }
  },

  async 'limits, preamble and idle time hold for a dialed stream'(t, openEngine) {
    const fixture = dialerFixture(t, openEngine, { serve: echo })
    const { engine } = fixture
    engine.setMeter(1, limited({ bytesIn: rate(64 * 1024, 64 * 1024) }))
    const header = [{ bytes: Buffer.from('HELLO ') }]
    const preamble = { ipv4: header, ipv6: header, datagrams: 'first' } as const
    const rule = await ruleTo([far], { meters: [1], idleMs: 300, preamble })
    await engine.open(rule)
    const caller = await openCaller(t, rule.from)
    const beganAt = performance.now()
    let received = Buffer.alloc(0)
    caller.on('data', chunk => {
      received = Buffer.concat([received, chunk])
    })
    caller.write(Buffer.alloc(96 * 1024, 'x'))
    await until(() => received.length === 96 * 1024 + 6)
    t.equal(String(received.subarray(0, 8)), 'HELLO xx')
    t.ok(performance.now() - beganAt > 300, 'the burst is 64 KiB')
    t.equal(await endOf(caller), 'reset')
  },

  async 'a refusal leads to the next target, and does not change health'(t, openEngine) {
    const answer = ({ target }: DialRequest): DialAnswer =>
      target === 0 ? { ok: false, reason: 'link_down', isRefusal: true } : connected
    const { engine, counters, requests } = dialerFixture(t, openEngine, { answer })
    const rule = await ruleTo([far, { ...far, path: 'lyon' }])
    await engine.open(rule)
    for (let i = 0; i < 4; i++) t.equal(await exchange(await openCaller(t, rule.from), 'hello'), 'hello')
    t.same(
      requests.map(({ target }) => target),
      [0, 1, 0, 1, 0, 1, 0, 1]
    )
    t.match(counters(), {
      targetFailovers: 0,
      targets: [{ health: 'unknown', failures: 0 }, { health: 'healthy' }],
      rejected: {}
    })
  },

  async 'a caller whose targets are all refused is reset with the first reason'(t, openEngine) {
    const reasons = ['link_down', 'rule_unknown']
    const answer = ({ target }: DialRequest): DialAnswer => ({
      ok: false,
      reason: reasons[target] ?? '',
      isRefusal: true
    })
    const { engine, events, counters } = dialerFixture(t, openEngine, { answer })
    const rule = await ruleTo([far, { ...far, path: 'lyon' }], { reportEnds: true })
    await engine.open(rule)
    t.equal(await endOf(await openCaller(t, rule.from)), 'reset')
    await until(() => events.some(({ kind }) => kind === 'connections-ended'))
    const ended = events.flatMap(event => (event.kind === 'connections-ended' ? event.ended : []))
    t.match(ended, [{ end: 'refused', refusal: 'link_down', target: null }])
    t.same(counters().rejected, { link_down: 1 })
  },

  async 'a failure leads to the next target, and three fail the target'(t, openEngine) {
    const answer = (): DialAnswer => ({ ok: false, reason: 'dns_nxdomain', isRefusal: false })
    const { engine, counters, events, requests } = dialerFixture(t, openEngine, { answer })
    const rule = await ruleTo([far, await openTarget(t, echo).then(port => ({ host: '127.0.0.1', port }))])
    await engine.open(rule)
    for (let i = 0; i < 4; i++) t.equal(await exchange(await openCaller(t, rule.from), 'hello'), 'hello')
    t.equal(requests.length, 3, 'a failed target is skipped')
    t.match(counters(), {
      targetFailovers: 3,
      dnsFailures: 0,
      targets: [{ health: 'failed', consecutiveFailures: 3, lastFailure: 'dns_nxdomain', active: 0 }, {}]
    })
    t.match(
      events.filter(({ kind }) => kind === 'target-health'),
      [
        { target: 1, to: 'healthy' },
        { target: 0, from: 'unknown', to: 'failed', reason: 'dns_nxdomain' }
      ]
    )
  },

  async 'a caller that leaves during a dial cancels it'(t, openEngine) {
    const { engine, requests, counters, canceled } = unansweredFixture(t, openEngine)
    const rule = await ruleTo([far])
    await engine.open(rule)
    const caller = await openCaller(t, rule.from)
    await until(() => requests.length === 1)
    caller.resetAndDestroy()
    await until(() => canceled().length === 1)
    const token = requests[0]?.token ?? 0
    t.same(canceled(), [token])
    t.equal(await engine.dialed(token, connected), null)
    await until(() => portCounters(counters()).active === 0)
    t.match(counters(), { targets: [{ health: 'unknown', failures: 0, active: 0 }] })
  },

  async 'an answer counts once, and an invalid one not at all'(t, openEngine) {
    const { engine, requests } = unansweredFixture(t, openEngine)
    const rule = await ruleTo([far])
    await engine.open(rule)
    const caller = await openCaller(t, rule.from)
    await until(() => requests.length === 1)
    const token = requests[0]?.token ?? 0
    const invalid: readonly DialAnswer[] = [
      { ok: true, address: 'db.internal', port: 1 },
      { ok: true, address: '10.0.0.7', port: 65_536 },
      { ok: false, reason: 'Not a code', isRefusal: true }
    ]
    for (const answer of invalid) await t.rejects(engine.dialed(token, answer), { code: 'EINVAL' })
    const stream = await engine.dialed(token, connected)
    t.equal(await engine.dialed(token, connected), null)
    t.equal(await engine.dialed(token + 1_000, connected), null)
    stream?.end('hello')
    t.equal(String(await collect(caller)), 'hello')
  },

  async 'a probe asks the dialer without a caller, and needs no stream'(t, openEngine) {
    let now: DialAnswer = connected
    const { engine, counters, requests, streams } = dialerFixture(t, openEngine, { answer: () => now })
    await engine.open(await ruleTo([far], { probeMs: 50 }))
    await until(() => counters().targets[0]?.health === 'healthy')
    t.match(counters().targets, [{ lastSource: 'probe', connectionsTotal: 0, active: 0 }])
    now = { ok: false, reason: 'link_down', isRefusal: true }
    const before = requests.length
    await until(() => requests.length > before + 2)
    t.match(counters().targets, [{ health: 'healthy', failures: 0 }])
    now = { ok: false, reason: 'refused', isRefusal: false }
    await until(() => counters().targets[0]?.health === 'failed')
    t.ok(requests.every(({ caller }) => caller === null))
    t.ok(streams.every(stream => stream === null))
  },

  async '200 callers at once get a stream each'(t, openEngine) {
    const { engine, requests, counters } = dialerFixture(t, openEngine)
    const rule = await ruleTo([far])
    await engine.open(rule)
    const callers = await Promise.all(Array.from({ length: 200 }, () => openCaller(t, rule.from)))
    const answers = await Promise.all(callers.map((caller, at) => exchange(caller, `caller ${at}`)))
    t.same(
      answers,
      callers.map((_, at) => `caller ${at}`)
    )
    t.equal(new Set(requests.map(({ token }) => token)).size, 200)
    for (const caller of callers) caller.end()
    await until(() => portCounters(counters()).active === 0)
  },

  async 'however connections end, their streams close and leave no descriptor'(t, openEngine) {
    const { engine, streams, counters } = dialerFixture(t, openEngine)
    const rule = await ruleTo([far])
    await engine.open(rule)
    const before = descriptors()
    const all = { ids: null, rules: null, sources: null, target: null }
    const ends: readonly ((caller: Socket, stream: Duplex) => unknown)[] = [
      caller => caller.end(),
      caller => caller.resetAndDestroy(),
      caller => caller.destroy(),
      (_, stream) => stream.destroy(),
      (_, stream) => stream.destroy(new Error('the link broke')),
      (caller, stream) => [stream.end(), caller.end()],
      () => engine.endConnections(all)
    ]
    for (let round = 0; round < 70; round++) {
      const caller = await openCaller(t, rule.from)
      await exchange(caller, 'hello')
      const stream = streams.at(-1)
      if (stream) ends[round % ends.length]?.(caller, stream)
      caller.resume()
      await until(() => portCounters(counters()).active === 0)
    }
    await until(() => streams.every(stream => stream?.closed))
    await until(() => descriptors() <= before)
    t.match(counters(), { connectionsTotal: 70, targets: [{ connectionsTotal: 70, active: 0 }] })
  },

  async 'an engine that stops cancels its dials and resets its streams'(t, openEngine) {
    const { engine, requests, canceled } = unansweredFixture(t, openEngine)
    const rule = await ruleTo([far])
    await engine.open(rule)
    await openCaller(t, rule.from)
    await openCaller(t, rule.from)
    await until(() => requests.length === 2)
    const [first = 0, second = 0] = requests.map(({ token }) => token)
    const stream = await engine.dialed(first, connected)
    const end = stream && endOf(stream)
    await engine.stop()
    t.equal(await end, 'reset')
    t.same(canceled(), [second])
    t.equal(await engine.dialed(second, connected), null)
  },

  async 'a rule that cuts its connections resets their streams'(t, openEngine) {
    const { engine, rule, caller, stream } = await openPair(t, openEngine)
    const ends = [endOf(caller), endOf(stream)]
    engine.resetTargets(rule.id, [0])
    t.same(await Promise.all(ends), ['reset', 'reset'])
  },

  async 'target filters do not judge what a dialer reaches'(t, openEngine) {
    const denyAll = { allow: [], deny: [], refusal: 'denied_by_agent' }
    const { engine } = dialerFixture(t, openEngine)
    const rule = await ruleTo([far], { target: [denyAll] })
    await engine.open(rule)
    const caller = await openCaller(t, rule.from)
    t.equal(await exchange(caller, 'one'), 'one')
    engine.setFilters(rule.id, {
      source: null,
      target: [denyAll, denyAll],
      addressGuards: [],
      sourceLimits: []
    })
    t.equal(await exchange(caller, 'two'), 'two')
  },

  async 'targets with different paths have a health of their own, which a replaced rule hands on'(
    t,
    openEngine
  ) {
    const answer = ({ target }: DialRequest): DialAnswer =>
      target === 0 ? { ok: false, reason: 'refused', isRefusal: false } : connected
    const { engine } = dialerFixture(t, openEngine, { answer })
    const lyon = { ...far, path: 'lyon' }
    const rule = await ruleTo([far, lyon])
    await engine.open(rule)
    for (let i = 0; i < 3; i++) await exchange(await openCaller(t, rule.from), 'hello')
    const next = await ruleTo([lyon, far, { ...far, path: 'nice' }, { host: far.host, port: far.port }], {
      from: rule.from
    })
    await engine.open(next, rule.id)
    const { targets = [] } = engine.sample().rules.find(({ ruleId }) => ruleId === next.id) ?? {}
    t.same(
      targets.map(({ health }) => health),
      ['healthy', 'failed', 'unknown', 'unknown']
    )
  },

  async 'a balance by source distinguishes targets by their paths, alike in both engines'(t, openEngine) {
    const { engine, requests } = dialerFixture(t, openEngine)
    const balance = { by: 'source_hash', weights: [1, 1], tiers: [0, 0] } as const
    const rule = await ruleTo([far, { ...far, path: 'lyon' }], { balance })
    await engine.open(rule)
    const chooser = new TargetChooser(balance, rule, zeroCounters(rule).targets)
    const sources = Array.from({ length: 12 }, (_, host) => `127.0.1.${host + 1}`)
    for (const localAddress of sources) {
      const caller = connect({ port: rule.from, host: '127.0.0.1', localAddress })
      t.teardown(() => caller.destroy())
      await exchange(caller, 'hello')
    }
    const targets = requests.map(({ target }) => target)
    t.same(
      targets,
      sources.map(source => chooser.choose([0, 1], source))
    )
    t.equal(new Set(targets).size, 2)
  }
}
