// Preambles: bytes that a target receives before the caller's first bytes.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { Test } from 'tap'
import type { EngineRule } from '../../../agent/engine/engine.ts'
import { clientHello } from '../client-hellos.ts'
import {
  collect,
  type EngineCase,
  type EngineFixture,
  engineFixture,
  type OpenEngine,
  openCaller,
  openTarget,
  portCounters,
  ruleTo,
  sha256,
  until
} from '../engine-fixture.ts'
import { limited, rate, unlimited } from '../meter-fixture.ts'
import { crc32c, proxyV1, proxyV2, readProxyV2 } from '../preambles.ts'

/** Opens a rule with a target that records its input. */
async function open(
  t: Test,
  openEngine: OpenEngine,
  changes: Partial<EngineRule>,
  serve: (socket: Socket) => void = () => {}
): Promise<EngineFixture & { rule: EngineRule; port: number; received: Buffer[][] }> {
  const received: Buffer[][] = []
  const port = await openTarget(t, socket => {
    const chunks: Buffer[] = []
    received.push(chunks)
    socket.on('data', chunk => chunks.push(chunk))
    serve(socket)
  })
  const fixture = engineFixture(t, openEngine)
  fixture.engine.setMeter(1, unlimited)
  const rule = await ruleTo([port], { meters: [1], ...changes })
  await fixture.engine.open(rule)
  return { ...fixture, rule, port, received }
}

const lineOf = (host: string, family: string, { localPort }: Socket, { from }: EngineRule) =>
  `PROXY ${family} ${host} ${host} ${localPort} ${from}\r\n`

export const preamble: Record<string, EngineCase> = {
  async 'a preamble names the caller, comes first, and is not counted'(t, openEngine) {
    const { engine, rule, received, finalCounters } = await open(
      t,
      openEngine,
      { preamble: proxyV1 },
      socket => socket.on('end', () => socket.end('bye'))
    )
    const calls = [
      ['127.0.0.1', 'TCP4'],
      ['::1', 'TCP6']
    ] as const
    for (const [index, [host, family]] of calls.entries()) {
      const caller = await openCaller(t, rule.from, host)
      const expected = lineOf(host, family, caller, rule)
      caller.end('hello')
      t.equal(String(await collect(caller)), 'bye')
      t.equal(String(Buffer.concat(received[index] ?? [])), `${expected}hello`)
    }
    await engine.close(rule.id, 1_000)
    t.match(portCounters(await finalCounters(rule.id)), { bytesIn: 10, bytesOut: 6 })
    t.match(engine.sample().meters, [{ bytesIn: 10, bytesOut: 6 }])
  },

  async 'a target that speaks first receives the preamble before the caller has sent a byte'(t, openEngine) {
    const { rule, received } = await open(t, openEngine, { preamble: proxyV1 }, socket =>
      socket.once('data', () => socket.write('220 ready'))
    )

    const caller = await openCaller(t, rule.from)
    const [greeting] = await once(caller, 'data')

    t.equal(String(greeting), '220 ready')
    t.equal(String(Buffer.concat(received[0] ?? [])), lineOf('127.0.0.1', 'TCP4', caller, rule))
  },

  async 'if a caller ends without a byte, its target receives preamble and FIN'(t, openEngine) {
    const { rule, received } = await open(t, openEngine, { preamble: proxyV1 }, socket =>
      socket.on('end', () => socket.end())
    )

    const caller = await openCaller(t, rule.from)
    const expected = lineOf('127.0.0.1', 'TCP4', caller, rule)
    caller.end()
    await collect(caller)

    t.equal(String(Buffer.concat(received[0] ?? [])), expected)
  },

  async 'a preamble can have lengths, a name, an id and a checksum'(t, openEngine) {
    t.equal(crc32c(Buffer.from('123456789')), 0xe3069283)
    const shared = { preamble: proxyV2('tcp') }
    const { engine, rule, port, received } = await open(t, openEngine, { ...shared, name: 'a.test' })
    await engine.open(await ruleTo([port], { ...shared, from: rule.from, fallback: true }))
    const ids = new Set<string>()
    const calls = [
      ['127.0.0.1', 0x11, 'a.test'],
      ['::1', 0x21, 'a.test'],
      ['127.0.0.1', 0x11, 'other.test'],
      ['127.0.0.1', 0x11, null]
    ] as const
    for (const [index, [host, kind, name]] of calls.entries()) {
      const caller = await openCaller(t, rule.from, host)
      const sent = name === null ? Buffer.from('GET / HTTP/1.0\r\n') : await clientHello({ servername: name })
      caller.write(sent)
      await until(() => Buffer.concat(received[index] ?? []).length > 0)
      t.equal(received[index]?.length, 1, 'both in one segment')

      const { values, ...header } = readProxyV2(Buffer.concat(received[index] ?? []))
      t.match(header, { kind, ports: [caller.localPort, rule.from], isIntact: true })
      t.ok(header.rest.equals(sent))
      const address = host === '::1' ? `${'00'.repeat(15)}01` : '7f000001'
      t.equal(header.addresses.toString('hex'), address.repeat(2))
      t.equal(values[2] && String(values[2]), name ?? undefined)
      t.equal(values[5]?.length, 16)
      ids.add(values[5]?.toString('hex') ?? '')
    }
    t.equal(ids.size, calls.length)
  },

  async 'bulk data after a preamble arrives bit for bit'(t, openEngine) {
    const { rule, received } = await open(t, openEngine, { preamble: proxyV2('tcp') }, socket =>
      socket.on('end', () => socket.end())
    )
    const sent = randomBytes(16 * 1024 * 1024)

    const caller = await openCaller(t, rule.from)
    caller.end(sent)
    await collect(caller)

    t.equal(sha256(readProxyV2(Buffer.concat(received[0] ?? [])).rest), sha256(sent))
  },

  async 'a preamble passes even while the meter delays the bytes of the caller'(t, openEngine) {
    const { engine, rule, received, counters } = await open(t, openEngine, { preamble: proxyV1 })
    engine.setMeter(1, limited({ bytesIn: rate(0, 1) }))
    const first = await openCaller(t, rule.from)
    first.write('1')
    await until(() => portCounters(counters()).bytesIn === 1)

    const caller = await openCaller(t, rule.from)
    caller.write('hello')
    const expected = lineOf('127.0.0.1', 'TCP4', caller, rule)
    await until(() => String(Buffer.concat(received[1] ?? [])) === expected)
    t.equal(portCounters(counters()).bytesIn, 1)

    engine.setMeter(1, unlimited)
    await until(() => String(Buffer.concat(received[1] ?? [])) === `${expected}hello`)
    await until(() => portCounters(counters()).bytesIn === 6)
  },

  async 'a rule with an invalid preamble is refused'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const long = { bytes: Buffer.alloc(300) }
    for (const parts of [
      [{ bytes: Buffer.alloc(4097) }],
      [{ length: 1, of: [long] }],
      [{ crc32c: true }, { whenNamed: [{ crc32c: true }] }],
      [{ field: 'owner', form: 'text' }]
    ] as never[]) {
      const rule = await ruleTo([9], { preamble: { ipv4: [], ipv6: parts, datagrams: 'first' } })
      await t.rejects(engine.open(rule), { code: 'EINVAL' })
    }
    t.same(engine.sample().rules, [])
  },

  async 'a probe sends the probe text of the preamble and closes'(t, openEngine) {
    const { received } = await open(t, openEngine, {
      preamble: { ...proxyV1, probe: Buffer.from('PROXY UNKNOWN\r\n') },
      probeMs: 60_000
    })

    await until(() => received.length === 1 && Buffer.concat(received[0] ?? []).length > 0)

    t.equal(String(Buffer.concat(received[0] ?? [])), 'PROXY UNKNOWN\r\n')
  }
}
