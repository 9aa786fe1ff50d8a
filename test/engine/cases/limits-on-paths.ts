// Every limit of a meter on every path of a connection. Bytes of proxies in front and of the engine never count.
import type { Test } from 'tap'
import type { Engine, EngineRule } from '../../../agent/engine/engine.ts'
import { clientHello } from '../client-hellos.ts'
import {
  type EngineCase,
  endOf,
  engineFixture,
  openCaller,
  openTarget,
  ruleTo,
  until
} from '../engine-fixture.ts'
import { limited, meterCounters, rate, unlimited } from '../meter-fixture.ts'
import { proxyV1, proxyV2, readProxyV2 } from '../preambles.ts'
import { binaryHeader } from '../proxy-headers.ts'
import { proxyFirstRead } from './first-read.ts'

const preamble = proxyV2('tcp')
const balance = { by: 'least_connections', tiers: [0, 0], weights: [1, 1] } as const

const paths: Readonly<Record<string, Partial<EngineRule>>> = {
  plain: {},
  'version 1 for targets': { preamble: proxyV1 },
  'version 2 for targets': { preamble },
  'from proxies': { firstRead: proxyFirstRead },
  'from proxies, for targets': { firstRead: proxyFirstRead, preamble },
  'a TLS name': { name: 'one.test' },
  'a TLS name, from proxies, for targets': { name: 'one.test', firstRead: proxyFirstRead, preamble },
  'balanced, from proxies, for targets': { balance, firstRead: proxyFirstRead, preamble }
}

/** The maximum bytes of the first connection, and the refusal reason of the second. */
const limits: Readonly<
  Record<string, { set(engine: Engine, meter: number): void; bytes: number; refusal: string | null }>
> = {
  rate: {
    set: (engine, meter) => engine.setMeter(meter, limited({ bytesIn: rate(0, 1_000) })),
    bytes: 1_000,
    refusal: null
  },
  budget: {
    set: (engine, meter) => engine.setBudget(meter, { mark: 1_000, holdMs: 300_000 }),
    bytes: 1_000,
    refusal: 'spent'
  },
  connections: {
    set: (engine, meter) => engine.setMeter(meter, limited({ connections: 1 })),
    bytes: 2_000,
    refusal: 'too_many'
  },
  'new connections': {
    set: (engine, meter) => engine.setMeter(meter, limited({ newConnections: rate(0, 1) })),
    bytes: 2_000,
    refusal: 'too_fast'
  }
}

/** Two targets that record the received bytes without the engine's preamble. */
async function openTargets(t: Test, path: Partial<EngineRule>) {
  const received: Buffer[][] = []
  const keep = () =>
    openTarget(t, socket => {
      const chunks: Buffer[] = []
      received.push(chunks)
      socket.on('data', chunk => chunks.push(chunk))
    })
  const behind = (all: Buffer) => {
    if (!path.preamble) return all
    return path.preamble === preamble ? readProxyV2(all).rest : all.subarray(all.indexOf('\r\n') + 2)
  }
  const payload = () => received.map(chunks => Buffer.concat(chunks)).filter(({ length }) => length > 0)
  return { ports: [await keep(), await keep()], received: () => Buffer.concat(payload().map(behind)) }
}

let lastMeter = 0

async function play(t: Test, engine: Engine, path: Partial<EngineRule>, limit: (typeof limits)[string]) {
  const { ports, received } = await openTargets(t, path)
  const meter = ++lastMeter
  const rule = await ruleTo(path.balance ? ports : ports.slice(0, 1), { meters: [meter], ...path })
  engine.setMeter(meter, unlimited)
  await engine.open(rule)
  limit.set(engine, meter)
  const hello = path.name ? await clientHello({ servername: path.name }) : Buffer.alloc(0)
  const payload = Buffer.concat([hello, Buffer.alloc(2_000 - hello.length, 'x')])
  const all = path.firstRead ? Buffer.concat([binaryHeader(), payload]) : payload

  const caller = await openCaller(t, rule.from)
  caller.write(all)
  await until(() => received().length >= limit.bytes)
  const counted = meterCounters(engine, meter).bytesIn
  if (limit.refusal !== null) {
    const second = await openCaller(t, rule.from)
    second.write(all)
    t.equal(await endOf(second), 'reset')
    t.same(engine.sample().rules[0]?.rejected, { [limit.refusal]: 1 })
  }

  t.ok(received().equals(payload.subarray(0, limit.bytes)))
  t.equal(counted, limit.bytes)
  t.match(engine.sample().rules[0], { connectionsTotal: 1 })
  caller.destroy()
  await engine.close(rule.id, 0)
}

export const limitsOnPaths: Record<string, EngineCase> = Object.fromEntries(
  Object.entries(limits).map(([name, limit]) => [
    `the limit '${name}' holds on every path, and counts no byte of a header`,
    async (t, openEngine) => {
      const { engine } = engineFixture(t, openEngine)
      for (const [path, changes] of Object.entries(paths))
        await t.test(path, t => play(t, engine, changes, limit))
    }
  ])
)
