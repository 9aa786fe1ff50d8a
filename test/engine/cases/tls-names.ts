// Rules that share a port by TLS name.
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import type { Test } from 'tap'
import type { Engine, EngineRule } from '../../../agent/engine/engine.ts'
import { freePort } from '../../support/ports.ts'
import { clientHello, splitIntoRecords } from '../client-hellos.ts'
import {
  collect,
  type EngineCase,
  endOf,
  engineFixture,
  exchange,
  fillFirstReads,
  firstReadMs,
  openCaller,
  openTarget,
  portCounters,
  ruleTo,
  sha256,
  until
} from '../engine-fixture.ts'
import { limited, meterCounters } from '../meter-fixture.ts'

/** Opens a rule to a target that sends 'label:', then echoes. */
async function openNamed(t: Test, engine: Engine, label: string, rule: Partial<EngineRule>) {
  const port = await openTarget(t, socket => {
    socket.write(`${label}:`)
    socket.pipe(socket)
  })
  const named = await ruleTo([port], rule)
  await engine.open(named)
  return named
}

async function openCallerWith(t: Test, port: number, request: string | Buffer): Promise<Socket> {
  const socket = await openCaller(t, port)
  socket.write(request)
  return socket
}

/** Sends a ClientHello for the name. Returns 'label:' of the target that answered, 'reset', or 'corrupted'. */
async function targetOf(t: Test, port: number, servername: string): Promise<string> {
  const hello = await clientHello({ servername })
  return answerTo(hello, await openCallerWith(t, port, hello))
}

/** Returns the answer to a caller that has sent the ClientHello, as `targetOf` does. */
async function answerTo(hello: Buffer, socket: Socket): Promise<string> {
  const chunks: Buffer[] = []
  socket.on('data', chunk => chunks.push(chunk)).end()
  if ((await endOf(socket)) === 'reset') return 'reset'
  const received = Buffer.concat(chunks)
  const label = received.subarray(0, received.length - hello.length)
  return received.subarray(label.length).equals(hello) ? String(label) : 'corrupted'
}

/** The bytes that a caller receives. */
class Received {
  #bytes = Buffer.alloc(0)
  readonly #ended: Promise<unknown>

  constructor(socket: Socket) {
    socket.on('data', chunk => {
      this.#bytes = Buffer.concat([this.#bytes, chunk])
    })
    this.#ended = once(socket, 'end')
  }

  has(bytes: Buffer | string): Promise<void> {
    return until(() => this.#bytes.equals(Buffer.from(bytes)))
  }

  async all(): Promise<Buffer> {
    await this.#ended
    return this.#bytes
  }
}

const peekCount = (engine: Engine) =>
  engine.sample().peekDurations.counts.reduce((sum, count) => sum + count, 0)

export const tlsNames: Record<string, EngineCase> = {
  async 'a TLS name selects the rule: an exact match, then a wildcard, then the fallback'(t, openEngine) {
    const { engine, events } = engineFixture(t, openEngine)
    const from = await freePort()
    await openNamed(t, engine, 'wild', { from, name: '*.example.org' })
    await openNamed(t, engine, 'exact', { from, name: 'one.example.org' })
    await openNamed(t, engine, 'deep', { from, name: 'a.b.example.org' })
    t.equal(await targetOf(t, from, 'example.org'), 'reset')
    await openNamed(t, engine, 'rest', { from, fallback: true })

    t.equal(await targetOf(t, from, 'one.example.org'), 'exact:')
    t.equal(await targetOf(t, from, 'ONE.Example.ORG'), 'exact:')
    t.equal(await targetOf(t, from, 'two.example.org'), 'wild:')
    t.equal(await targetOf(t, from, 'a.b.example.org'), 'deep:')
    t.equal(await targetOf(t, from, 'c.b.example.org'), 'rest:', 'a star matches one label')
    t.equal(await targetOf(t, from, 'example.org'), 'rest:', 'a star does not match zero labels')
    t.equal(await targetOf(t, from, 'elsewhere.test'), 'rest:')
    const rules = engine.sample().rules.map(({ connectionsTotal }) => connectionsTotal)
    t.same(rules, [1, 2, 1, 3])
    t.match(engine.sample().rules[0], { rejected: { sni_miss: 1 } })
    t.equal(peekCount(engine), 8)
    t.ok(engine.sample().peekDurations.sumMs > 0)
    t.ok(events.every(({ kind }) => kind === 'target-health'))
  },

  async 'a ClientHello in many records and packets arrives as it was sent'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const { from } = await openNamed(t, engine, 'one', { name: 'one.test' })
    const hello = splitIntoRecords(
      40,
      await clientHello({ servername: 'one.test', ALPNProtocols: ['h2', 'http/1.1'] })
    )
    const caller = await openCaller(t, from)
    caller.setNoDelay()

    for (let at = 0; at < hello.length; at += 200) {
      caller.write(hello.subarray(at, at + 200))
      await new Promise(resolve => setTimeout(resolve, 2))
    }
    caller.end('and what follows')

    const expected = Buffer.concat([Buffer.from('one:'), hello, Buffer.from('and what follows')])
    t.equal(sha256(await collect(caller)), sha256(expected))
  },

  async 'callers without a name or without TLS go to the fallback, or are reset'(t, openEngine) {
    const { engine, counters } = engineFixture(t, openEngine)
    const named = await openNamed(t, engine, 'one', { name: 'one.test' })
    const nameless = await clientHello({})

    t.equal(await endOf(await openCallerWith(t, named.from, 'GET / HTTP/1.1\r\n\r\n')), 'reset')
    t.equal(await endOf(await openCallerWith(t, named.from, nameless)), 'reset')

    t.match(counters(), { connectionsTotal: 0, rejected: { sni_miss: 2 } })
    const rest = await openNamed(t, engine, 'rest', { from: named.from, fallback: true })
    for (const request of [Buffer.from('GET / HTTP/1.1\r\n\r\n'), nameless]) {
      const caller = await openCallerWith(t, rest.from, request)
      caller.end()
      t.same(await collect(caller), Buffer.concat([Buffer.from('rest:'), request]))
    }
  },

  async 'a fallback alone on its port does not wait for a ClientHello'(t, openEngine) {
    const { engine, counters } = engineFixture(t, openEngine)
    const rest = await openNamed(t, engine, 'rest', { fallback: true })

    const caller = await openCaller(t, rest.from)

    await until(() => portCounters(counters()).bytesOut === 5)
    t.equal(await exchange(caller, 'and?'), 'rest:')
    t.equal(peekCount(engine), 0)
  },

  async 'a name is unique on its port, and a plain rule cannot share the port'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const port = await openTarget(t, socket => socket.end())
    const plain = await ruleTo([port])
    await engine.open(plain)
    const named = await ruleTo([port], { name: 'one.test' })
    const { from } = named
    await engine.open(named)
    await engine.open(await ruleTo([port], { from, fallback: true }))
    const inUse = { code: 'EADDRINUSE' }

    await t.rejects(engine.open(await ruleTo([port], { from, name: 'one.test' })), inUse)
    await t.rejects(engine.open(await ruleTo([port], { from, fallback: true })), inUse)
    await t.rejects(engine.open(await ruleTo([port], { from })), inUse)
    await t.rejects(engine.open(await ruleTo([port], { from: plain.from, name: 'two.test' })), inUse)
    t.equal(engine.sample().rules.length, 3)
    await engine.close(plain.id, 0)
    await engine.open(await ruleTo([port], { from: plain.from, name: 'two.test' }))
  },

  async 'rules that open at the same time share the port'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const from = await freePort()
    const labels = ['one', 'two', 'three']

    await Promise.all(labels.map(label => openNamed(t, engine, label, { from, name: `${label}.test` })))

    for (const label of labels) t.equal(await targetOf(t, from, `${label}.test`), `${label}:`)
  },

  async 'closing a rule frees its name, closing the last one closes the port, connections drain'(
    t,
    openEngine
  ) {
    const { engine, finalCounters } = engineFixture(t, openEngine)
    const one = await openNamed(t, engine, 'one', { name: 'one.test' })
    const { from } = one
    const two = await openNamed(t, engine, 'two', { from, name: 'two.test' })
    const live = await openCallerWith(t, from, await clientHello({ servername: 'one.test' }))
    await until(() =>
      engine.sample().rules.some(({ ports }) => ports[0] !== undefined && ports[0].bytesOut > 100)
    )
    const pending = await openCaller(t, from)

    await engine.close(one.id, 60_000)

    t.equal(await targetOf(t, from, 'one.test'), 'reset')
    t.equal(await targetOf(t, from, 'two.test'), 'two:')
    const again = await openNamed(t, engine, 'again', { from, name: 'one.test' })
    t.equal(await targetOf(t, from, 'one.test'), 'again:')
    await engine.close(two.id, 0)
    await engine.close(again.id, 0)
    t.equal(await endOf(pending), 'reset')
    await t.rejects(openCaller(t, from), { code: 'ECONNREFUSED' })
    live.end()
    t.match(String(await collect(live)).slice(0, 4), 'one:')
    t.match(await finalCounters(one.id), { connectionsTotal: 1, ports: [{ active: 0 }] })
  },

  async 'the wait for a ClientHello ends after three seconds'(t, openEngine) {
    const { engine, counters } = engineFixture(t, openEngine)
    const { from } = await openNamed(t, engine, 'one', { name: 'one.test' })
    const hello = await clientHello({ servername: 'one.test' })
    const beganAt = performance.now()
    const silent = await openCaller(t, from)
    const slow = await openCallerWith(t, from, hello.subarray(0, hello.length - 1))

    t.equal(await targetOf(t, from, 'one.test'), 'one:')
    t.same(await Promise.all([silent, slow].map(endOf)), ['reset', 'reset'])

    const tookMs = performance.now() - beganAt
    t.ok(tookMs > 2_900 && tookMs < 4_500, `${tookMs} ms`)
    t.match(counters(), { connectionsTotal: 1, rejected: { sni_timeout: 2 } })
    const { counts, sumMs } = engine.sample().peekDurations
    t.equal(counts.length, 16)
    t.equal((counts.at(-2) ?? 0) + (counts.at(-1) ?? 0), 2)
    t.ok(sumMs > 5_900)
  },

  async 'a caller that sends nothing, or half a ClientHello, goes to the fallback after three seconds'(
    t,
    openEngine
  ) {
    const { engine, counters } = engineFixture(t, openEngine)
    const { from } = await openNamed(t, engine, 'one', { name: 'one.test' })
    await openNamed(t, engine, 'rest', { from, fallback: true })
    const hello = await clientHello({ servername: 'one.test' })
    const half = hello.subarray(0, 100)
    const silent = await openCaller(t, from)
    const slow = await openCallerWith(t, from, half)
    const fromSilent = new Received(silent)
    const fromSlow = new Received(slow)

    await fromSilent.has('rest:') // such as the greeting of a server that speaks first
    await fromSlow.has(Buffer.concat([Buffer.from('rest:'), half]))
    silent.end('after it')
    slow.end(hello.subarray(100))

    t.equal(String(await fromSilent.all()), 'rest:after it')
    t.same(await fromSlow.all(), Buffer.concat([Buffer.from('rest:'), hello]))
    t.match(engine.sample().rules, [{ connectionsTotal: 0 }, { connectionsTotal: 2 }])
    t.same(counters().rejected, {})
    const { counts } = engine.sample().peekDurations
    t.equal((counts.at(-2) ?? 0) + (counts.at(-1) ?? 0), 2)
  },

  async 'a FIN at once, or after half a ClientHello, goes to the fallback with the bytes before it'(
    t,
    openEngine
  ) {
    const { engine, counters } = engineFixture(t, openEngine)
    const { from } = await openNamed(t, engine, 'one', { name: 'one.test' })
    await openNamed(t, engine, 'rest', { from, fallback: true })
    const hello = await clientHello({ servername: 'one.test' })

    for (const bytes of [hello.subarray(0, 0), hello.subarray(0, 1), hello.subarray(0, -1)]) {
      const caller = await openCaller(t, from)
      caller.end(bytes)
      t.same(await collect(caller), Buffer.concat([Buffer.from('rest:'), bytes]))
    }

    t.match(engine.sample().rules, [
      { connectionsTotal: 0 },
      { connectionsTotal: 3, ports: [{ bytesIn: hello.length }] }
    ])
    t.same(counters().rejected, {})
  },

  async 'a ClientHello longer than 64 KiB is refused'(t, openEngine) {
    const { engine, counters } = engineFixture(t, openEngine)
    const { from } = await openNamed(t, engine, 'one', { name: 'one.test' })
    const firstRecord = Buffer.from([22, 3, 1, 0x3f, 0xfc, 1, 0, 0xff, 0xfc])
    const nextRecord = Buffer.from([22, 3, 1, 0x3f, 0xfc])
    const caller = await openCaller(t, from)
    caller.write(firstRecord)
    caller.write(Buffer.alloc(0x3ff8))
    for (let i = 0; i < 5; i++) {
      caller.write(nextRecord)
      caller.write(Buffer.alloc(0x3ffc))
    }

    t.equal(await endOf(caller), 'reset')
    t.match(counters().rejected, { sni_miss: 1 })
  },

  async 'a reset before the ClientHello is not counted, a FIN counts as a miss'(t, openEngine) {
    const { engine, counters } = engineFixture(t, openEngine)
    const { from } = await openNamed(t, engine, 'one', { name: 'one.test' })
    const hello = await clientHello({ servername: 'one.test' })
    const leaving = await openCallerWith(t, from, hello.subarray(0, 100))
    leaving.resetAndDestroy()

    const ending = await openCallerWith(t, from, hello.subarray(0, 100))
    ending.end()
    t.equal(await endOf(ending), 'reset')
    const silent = await openCaller(t, from)
    silent.end()
    t.equal(await endOf(silent), 'reset')

    t.same(counters().rejected, { sni_miss: 2 })
  },

  async 'filters and meters of a named rule apply only to its own callers'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const from = await freePort()
    const source = { allow: [], deny: [], refusal: 'source_denied' }
    engine.setMeter(1, limited({ connections: 0 }))
    const denied = await openNamed(t, engine, 'denied', { from, name: 'denied.test', source })
    const full = await openNamed(t, engine, 'full', { from, name: 'full.test', meters: [1] })
    await openNamed(t, engine, 'free', { from, name: 'free.test' })

    t.equal(await targetOf(t, from, 'denied.test'), 'reset')
    t.equal(await targetOf(t, from, 'full.test'), 'reset')
    t.equal(await targetOf(t, from, 'free.test'), 'free:')

    const rejected = (id: number) => engine.sample().rules.find(({ ruleId }) => ruleId === id)?.rejected
    t.same(rejected(denied.id), { source_denied: 1 })
    t.same(rejected(full.id), { too_many: 1 })
    t.match(meterCounters(engine, 1), { active: 0 })
  },

  async 'at most 1,024 connections wait for a ClientHello at once'(t, openEngine) {
    const { engine, counters } = engineFixture(t, openEngine)
    const { from } = await openNamed(t, engine, 'one', { name: 'one.test' })

    const { waiting, end, rejected } = await fillFirstReads(t, from, { counters })

    t.equal(end, 'reset')
    t.same(rejected, { sni_overflow: 1 })
    for (const caller of waiting) caller.resetAndDestroy()
    await until(() => waiting.every(({ closed }) => closed))
    t.equal(await targetOf(t, from, 'one.test'), 'one:')
  },

  async 'a thousand silent callers of one address keep no other address out of a shared port'(t, openEngine) {
    const { engine, counters } = engineFixture(t, openEngine)
    const { from } = await openNamed(t, engine, 'one', { name: 'one.test' })
    await openNamed(t, engine, 'two', { from, owner: 'bob', name: 'two.test' })
    const hello = await clientHello({ servername: 'two.test' })
    const other = async () => {
      const caller = await openCaller(t, from, '::1')
      caller.write(hello.subarray(0, 100))
      return caller
    }
    const finish = (caller: Socket) => {
      caller.write(hello.subarray(100))
      return answerTo(hello, caller)
    }

    for (let isInTime = false; !isInTime; ) {
      const begunAt = performance.now()
      const early = await other()
      const { waiting, end } = await fillFirstReads(t, from, { counters })
      const late = await other()
      const answers = [await finish(early), await finish(late)]
      isInTime = performance.now() - begunAt < firstReadMs - 100
      for (const caller of waiting) caller.destroy()
      t.equal(end, 'reset')
      if (isInTime) t.same(answers, ['two:', 'two:'])
    }
    t.ok((counters().rejected['sni_overflow'] ?? 0) >= 3)
  },

  async 'a source that all rules of a port deny is refused before it waits for a ClientHello'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const from = await freePort()
    const source = { allow: null, deny: [{ cidr: '127.0.0.0/8' }], refusal: 'source_denied' }
    await openNamed(t, engine, 'one', { from, name: 'one.test', source })
    await openNamed(t, engine, 'two', { from, name: 'two.test', source })
    const ends = Array.from({ length: 1100 }, async () => endOf(await openCaller(t, from)))
    t.same(new Set(await Promise.all(ends)), new Set(['reset']))
    t.match(engine.sample().rules, [{ rejected: { source_denied: 1100 } }, { rejected: {} }])
    t.equal(peekCount(engine), 0)

    await openNamed(t, engine, 'three', { from, name: 'three.test' })
    t.equal(await targetOf(t, from, 'three.test'), 'three:')
    t.equal(await targetOf(t, from, 'two.test'), 'reset')
    t.match(engine.sample().rules, [{}, { rejected: { source_denied: 1 } }, {}])
  },

  async 'a source that all rules of a port deny does not wait while the engine has other work'(
    t,
    openEngine
  ) {
    const { engine } = engineFixture(t, openEngine)
    const from = await freePort()
    const source = { allow: null, deny: [{ cidr: '127.0.0.0/8' }], refusal: 'source_denied' }
    const rule = await openNamed(t, engine, 'one', { from, name: 'one.test', source })
    const ends = Array.from({ length: 200 }, async () => endOf(await openCaller(t, from)))
    for (let tasks = 0; tasks < 50_000; tasks++) engine.resetTargets(rule.id, [])
    t.same(new Set(await Promise.all(ends)), new Set(['reset']))
    t.match(engine.sample().rules, [{ rejected: { source_denied: 200 } }])
    t.equal(peekCount(engine), 0)
  },

  async 'invalid rules with names are refused'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const from = await freePort(2)
    const invalid: Partial<EngineRule>[] = [
      { from, to: from + 1, name: 'one.test' },
      { from, to: from + 1, fallback: true },
      { name: 'one.test', protocol: 'udp' },
      { name: 'one.test', fallback: true },
      { name: '' }
    ]

    for (const rule of invalid) await t.rejects(engine.open(await ruleTo([9], rule)), { code: 'EINVAL' })
    t.same(engine.sample().rules, [])
  },

  async 'rules that open together on one port start to serve at the same moment'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const from = await freePort()
    const labels = { exact: 'first.example.org', wild: 'any.example.org', rest: 'elsewhere.test' }
    const target = async (label: string) => openTarget(t, socket => void socket.write(`${label}:`))
    const exact = await target('exact')
    const wild = await target('wild')
    const rest = await target('rest')
    const names = ['first', ...Array.from({ length: 300 }, (_, i) => `name-${i}`)]
    const rules = await Promise.all([
      ...names.map(name => ruleTo([exact], { from, name: `${name}.example.org` })),
      ruleTo([wild], { from, name: '*.example.org' }),
      ruleTo([rest], { from, fallback: true })
    ])
    const hellos = await Promise.all(
      Object.entries(labels).map(async ([label, servername]) => [label, await clientHello({ servername })])
    )
    const workerData = [from, Object.fromEntries(hellos)]
    const callers = new Worker(new URL('../first-callers.ts', import.meta.url), { workerData })
    t.teardown(() => callers.terminate())
    t.same(await once(callers, 'message'), ['closed'], 'they call before the port is open')

    const opening = rules.slice(0, 150).map(rule => engine.open(rule))
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300) // blocks this turn of the event loop while callers connect
    opening.push(...rules.slice(150).map(rule => engine.open(rule)))
    await Promise.all(opening)

    const answers = await new Promise(resolve =>
      callers.on('message', message => message === 'closed' || resolve(message))
    )
    t.same(answers, { exact: ['exact'], wild: ['wild'], rest: ['rest'] })
  }
}
