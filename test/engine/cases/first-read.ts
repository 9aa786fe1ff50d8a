// First reads: a proxy in front writes a PROXY protocol header before the caller's first byte.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { Test } from 'tap'
import type { Engine, EngineRule } from '../../../agent/engine/engine.ts'
import type { FirstRead } from '../../../agent/engine/first-read.ts'
import { freePort } from '../../support/ports.ts'
import { clientHello } from '../client-hellos.ts'
import {
  collect,
  type EngineCase,
  endOf,
  engineFixture,
  fillFirstReads,
  noGuards,
  openCaller,
  openTarget,
  portCounters,
  ruleTo,
  sha256,
  until
} from '../engine-fixture.ts'
import { limited, unlimited } from '../meter-fixture.ts'
import { proxyV1 } from '../preambles.ts'
import { binaryHeader, headerCases, ipv4, ipv6, type Judgement } from '../proxy-headers.ts'

export const proxyFirstRead: FirstRead = {
  form: 'proxy_protocol',
  from: ['127.0.0.1', '::1/128'],
  refusals: { header: 'no_header', untrusted: 'not_a_proxy' }
}

/** Opens a rule to an echo target. The rule's preamble names the caller. */
async function openProxied(t: Test, engine: Engine, changes: Partial<EngineRule> = {}): Promise<EngineRule> {
  const port = await openTarget(t, socket => socket.pipe(socket))
  const rule = await ruleTo([port], { firstRead: proxyFirstRead, preamble: proxyV1, ...changes })
  await engine.open(rule)
  return rule
}

async function writeBytewise(socket: Socket, bytes: Buffer): Promise<void> {
  socket.setNoDelay()
  for (const byte of bytes) {
    socket.write(Buffer.of(byte))
    await new Promise(resolve => setImmediate(resolve))
  }
}

/** Returns the preamble line that the target receives for a caller with this header. */
function lineOf(means: Judgement, { localAddress = '', localPort }: Socket, port: number): string {
  const own = { source: `${localAddress} ${localPort}`, destination: `${localAddress} ${port}` }
  const { source, destination } = typeof means === 'string' ? own : means
  const [[from, fromPort], [to, toPort]] = [source.split(' '), destination.split(' ')]
  return `PROXY ${from?.includes(':') ? 'TCP6' : 'TCP4'} ${from} ${to} ${fromPort} ${toPort}\r\n`
}

const rightHeaders = Object.entries(headerCases).filter(([, { means }]) => means !== 'wrong')
const wrongHeaders = Object.entries(headerCases).filter(([, { means }]) => means === 'wrong')

export const firstRead: Record<string, EngineCase> = {
  async 'a header names the caller, however it is split, and its bytes are not counted'(t, openEngine) {
    const { engine, counters } = engineFixture(t, openEngine)
    const rule = await openProxied(t, engine)
    const call = async (bytes: Buffer, means: Judgement, host: string, cut: 'whole' | 'bytewise') => {
      const caller = await openCaller(t, rule.from, host)
      const line = lineOf(means, caller, rule.from)
      const received = collect(caller)
      if (cut === 'bytewise') await writeBytewise(caller, bytes)
      else caller.write(bytes)
      caller.end(cut === 'bytewise' ? 'hello' : '')
      return [String(await received), line] as const
    }

    const hello = Buffer.from('hello')
    const answers = await Promise.all(
      rightHeaders.flatMap(([, { bytes, means }], i) => {
        const host = i % 2 === 0 ? '127.0.0.1' : '::1'
        return [
          call(bytes, means, host, 'bytewise'),
          call(Buffer.concat([bytes, hello]), means, host, 'whole')
        ]
      })
    )

    for (const [received, line] of answers) t.equal(received, `${line}hello`)
    await until(() => portCounters(counters()).active === 0)
    t.equal(portCounters(counters()).bytesIn, answers.length * hello.length)
    t.match(counters(), { connectionsTotal: answers.length, rejected: {} })
    t.equal(Math.max(...engine.sample().peekDurations.counts), 0)
  },

  async 'a wrong header, a missing header, and untrusted senders are refused'(t, openEngine) {
    const { engine, counters } = engineFixture(t, openEngine)
    const rule = await openProxied(t, engine)
    for (const [name, { bytes }] of wrongHeaders) {
      const caller = await openCaller(t, rule.from)
      caller.write(bytes)
      t.equal(await endOf(caller), 'reset', name)
    }
    const silent = await openCaller(t, rule.from)
    silent.end('PROXY ')
    t.equal(await endOf(silent), 'reset')
    t.match(counters(), { connectionsTotal: 0, rejected: { no_header: wrongHeaders.length + 1 } })

    const other = await openProxied(t, engine, {
      firstRead: { ...proxyFirstRead, from: ['10.0.0.0/8', '::1'] }
    })
    const untrusted = await openCaller(t, other.from)
    untrusted.write(binaryHeader())
    t.equal(await endOf(untrusted), 'reset')
    const trusted = await openCaller(t, other.from, '::1')
    trusted.end(binaryHeader())
    t.equal(
      String(await collect(trusted)),
      lineOf(headerCases['version 2, IPv4']?.means ?? 'wrong', trusted, 0)
    )
    t.match(engine.sample().rules[1]?.rejected, { not_a_proxy: 1 })
  },

  async 'a header that takes longer than three seconds is refused'(t, openEngine) {
    const { engine, counters } = engineFixture(t, openEngine)
    const rule = await openProxied(t, engine)
    const beganAt = performance.now()
    const caller = await openCaller(t, rule.from)
    caller.write('PROXY TCP4 ')

    t.equal(await endOf(caller), 'reset')

    const waited = performance.now() - beganAt
    t.ok(waited > 2_900 && waited < 6_000, `${waited} ms`)
    t.match(counters(), { connectionsTotal: 0, rejected: { no_header: 1 } })
  },

  async 'a header precedes the ClientHello, however both are split'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const from = await freePort()
    const port = await openTarget(t, socket => socket.pipe(socket))
    const shared = { from, firstRead: proxyFirstRead, preamble: proxyV1 }
    await engine.open(await ruleTo([port], { ...shared, name: 'one.test' }))
    await engine.open(await ruleTo([port], { ...shared, fallback: true, preamble: null }))
    const hello = await clientHello({ servername: 'one.test' })
    for (const [, { bytes, means }] of rightHeaders)
      for (const host of ['127.0.0.1', '::1']) {
        const caller = await openCaller(t, from, host)
        const line = lineOf(means, caller, from)
        const received = collect(caller)
        if (host === '::1') await writeBytewise(caller, bytes)
        caller.end(host === '::1' ? hello : Buffer.concat([bytes, hello]))
        t.equal(String(await received), `${line}${hello}`)
      }
    const other = await openCaller(t, from)
    other.end(Buffer.concat([binaryHeader(), Buffer.from('not TLS')]))
    t.equal(String(await collect(other)), 'not TLS')
    const bare = await openCaller(t, from)
    bare.write(hello)
    t.equal(await endOf(bare), 'reset')

    const [one, rest] = engine.sample().rules
    t.match(one, { connectionsTotal: rightHeaders.length * 2, rejected: {} })
    t.match(rest, { connectionsTotal: 1, rejected: { no_header: 1 } })
    const peeks = engine.sample().peekDurations.counts.reduce((sum, count) => sum + count, 0)
    t.equal(peeks, rightHeaders.length * 2 + 1)
  },

  async 'a caller that sends a header but no ClientHello times out'(t, openEngine) {
    const { engine, counters } = engineFixture(t, openEngine)
    const rule = await openProxied(t, engine, { name: 'one.test' })
    const late = await openCaller(t, rule.from)
    const ended = await openCaller(t, rule.from)
    late.write(binaryHeader())
    ended.end(binaryHeader())

    t.equal(await endOf(ended), 'reset')
    t.match(counters().rejected, { sni_miss: 1 })
    t.equal(await endOf(late), 'reset')
    t.match(counters().rejected, { sni_timeout: 1 })
  },

  async 'a caller that sends a header but no ClientHello goes to the fallback'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const { from } = await openProxied(t, engine, { name: 'one.test' })
    await openProxied(t, engine, { from, fallback: true })
    const late = await openCaller(t, from)
    const ended = await openCaller(t, from)
    late.write(binaryHeader())
    ended.end(binaryHeader())

    t.match(String(await collect(ended)), /^PROXY TCP4 [^\n]+\n$/)
    const [line] = await once(late, 'data')
    t.match(String(line), /^PROXY TCP4 [^\n]+\n$/)
    t.match(engine.sample().rules, [{ rejected: {} }, { connectionsTotal: 2, rejected: {} }])
  },

  async 'rules that share a port need the same first read'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const { from } = await openProxied(t, engine, { name: 'one.test' })
    const others = [null, { ...proxyFirstRead, from: ['127.0.0.1'] }]
    for (const firstRead of others)
      await t.rejects(engine.open(await ruleTo([9], { from, firstRead, name: 'two.test' })), {
        code: 'EINVAL',
        message: /the same proxies in front/
      })
    await engine.open(
      await ruleTo([9], { from, firstRead: structuredClone(proxyFirstRead), name: 'two.test' })
    )
    t.equal(engine.sample().rules.length, 2)
  },

  async 'an unknown first read is refused'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const table = [
      { form: 'netty' as never },
      { from: [] },
      { from: ['10.0.0.0/33'] },
      { refusals: { ...proxyFirstRead.refusals, untrusted: '' } }
    ]
    for (const wrong of table)
      await t.rejects(engine.open(await ruleTo([9], { firstRead: { ...proxyFirstRead, ...wrong } })), {
        code: 'EINVAL'
      })
    t.same(engine.sample().rules, [])
  },

  async 'each port of a range reads its headers'(t, openEngine) {
    const { engine, counters } = engineFixture(t, openEngine)
    const port = await freePort(2)
    for (const at of [port, port + 1])
      await openTarget(t, socket => socket.end(String(at - port)), { port: at })
    const from = await freePort(2)
    await engine.open(await ruleTo([port], { from, to: from + 1, firstRead: proxyFirstRead }))
    for (const at of [0, 1])
      for (const [, { bytes }] of rightHeaders) {
        const caller = await openCaller(t, from + at)
        caller.write(bytes)
        t.equal(String(await collect(caller)), String(at))
        caller.end()
      }
    t.match(
      counters().ports.map(({ bytesOut }) => bytesOut),
      [rightHeaders.length, rightHeaders.length]
    )
  },

  async 'filters, balances and records use the address of the header'(t, openEngine) {
    const { engine, events, counters } = engineFixture(t, openEngine)
    const ports = await Promise.all([0, 1, 2].map(at => openTarget(t, socket => socket.end(String(at)))))
    const rule = await ruleTo(ports, {
      firstRead: proxyFirstRead,
      reportEnds: true,
      balance: { by: 'source_hash', tiers: [0, 0, 0], weights: [1, 1, 1] },
      source: { allow: null, deny: [{ cidr: '192.0.2.255' }], refusal: 'denied' }
    })
    await engine.open(rule)
    const call = async (lastByte: number) => {
      const block = Buffer.from(ipv4)
      block[3] = lastByte
      const caller = await openCaller(t, rule.from)
      caller.end(binaryHeader({ block }))
      return { target: (await endOf(caller)) === 'fin', block }
    }
    t.match(await call(255), { target: false })
    t.match(counters(), { rejected: { denied: 1 } })
    for (let host = 1; host <= 30; host++) await call(host)

    const total = counters().targets.map(({ connectionsTotal }) => connectionsTotal)
    t.equal(total.filter(count => count > 0).length, 3, 'spread, although all have one sender')
    const ended = () => events.flatMap(event => (event.kind === 'connections-ended' ? event.ended : []))
    await until(() => ended().length === 31)
    t.match(
      ended().map(({ source }) => source.address),
      ended().map(() => /^192\.0\.2\.\d+$/)
    )
    t.ok(ended().every(({ source, listen }) => source.port === 12_345 && listen.port === rule.from))
  },

  async 'a new source filter resets by the address of the header'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const rule = await openProxied(t, engine)
    const four = await openCaller(t, rule.from)
    const six = await openCaller(t, rule.from)
    four.write(binaryHeader())
    six.write(binaryHeader({ kind: 0x21, block: ipv6 }))
    await Promise.all([once(four, 'data'), once(six, 'data')])

    const source = { allow: null, deny: [{ cidr: '192.0.2.0/24' }], refusal: 'denied' }
    engine.setFilters(rule.id, { ...noGuards, source, target: [] })

    t.equal(await endOf(four), 'reset')
    six.end('still')
    t.match(String(await collect(six)), /still$/)
  },

  async 'bulk data after a header arrives bit for bit'(t, openEngine) {
    const { engine, counters } = engineFixture(t, openEngine)
    const rule = await openProxied(t, engine, { preamble: null })
    const sent = randomBytes(16 * 1024 * 1024)

    const caller = await openCaller(t, rule.from)
    caller.end(Buffer.concat([binaryHeader(), sent]))

    t.equal(sha256(await collect(caller)), sha256(sent))
    t.equal(portCounters(counters()).bytesIn, sent.length)
  },

  async 'callers that wait for a header count for no limit, and are reset when the rule closes'(
    t,
    openEngine
  ) {
    const { engine, finalCounters } = engineFixture(t, openEngine)
    engine.setMeter(1, limited({ connections: 1 }))
    const rule = await openProxied(t, engine, { meters: [1] })
    const waiting = await openCaller(t, rule.from)
    waiting.write('PROXY ')
    const caller = await openCaller(t, rule.from)
    caller.write(binaryHeader())
    await once(caller, 'data')
    const third = await openCaller(t, rule.from)
    third.write(binaryHeader())
    t.equal(await endOf(third), 'reset')
    engine.setMeter(1, unlimited)

    const ends = [endOf(waiting), endOf(caller)]
    await engine.close(rule.id, 0)

    t.same(await Promise.all(ends), ['reset', 'reset'])
    t.match(await finalCounters(rule.id), { connectionsTotal: 1 })
  },

  async 'callers that a proxy names by one address leave places to those that it names by others'(
    t,
    openEngine
  ) {
    const { engine } = engineFixture(t, openEngine)
    const port = await openTarget(t, socket => socket.end('served'))
    const rule = await ruleTo([port], { firstRead: proxyFirstRead, name: 'one.test' })
    await engine.open(rule)
    const hello = await clientHello({ servername: 'one.test' })
    const named = await Promise.all(Array.from({ length: 1024 }, () => openCaller(t, rule.from)))
    for (const caller of named) caller.write(binaryHeader())

    const other = await openCaller(t, rule.from)
    other.end(Buffer.concat([binaryHeader({ kind: 0x21, block: ipv6 }), hello]))

    t.equal(String(await collect(other)), 'served')
  },

  async 'at most 1,024 connections wait for a header at once'(t, openEngine) {
    const { engine, counters } = engineFixture(t, openEngine)
    const rule = await openProxied(t, engine)

    const { waiting, end, rejected } = await fillFirstReads(t, rule.from, { counters })

    t.equal(end, 'reset')
    t.same(rejected, { no_header: 1 })
    for (const caller of waiting) caller.resetAndDestroy()
    await until(() => waiting.every(({ closed }) => closed))
    // The engine may see the new caller before the last reset.
    for (let ended: string = 'reset'; ended === 'reset'; ) {
      const caller = await openCaller(t, rule.from)
      caller.end(binaryHeader())
      ended = await endOf(caller)
    }
    t.match(counters(), { connectionsTotal: 1 })
  }
}
