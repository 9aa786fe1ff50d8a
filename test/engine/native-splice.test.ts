// The native engine copies small transfers and splices large ones.
import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import type { Engine, EngineOptions } from '../../agent/engine/engine.ts'
import {
  collect,
  echo,
  engineFixture,
  exchange,
  openCaller,
  openTarget,
  ruleTo,
  sha256,
  until
} from './engine-fixture.ts'
import { countReceived, flood, limited, meterCounters, rate, unlimited } from './meter-fixture.ts'
import { nativeUnderTest } from './native-under-test.ts'

const native = nativeUnderTest()
if (!native.ok) t.plan(0, native.reason)
else {
  const open = openWith(native.openEngine)
  testSplicing(open)
  testLimits(open)
}

type Open = ReturnType<typeof openWith>

/** Returns the function that opens an engine with a metered rule. */
function openWith(openEngine: (options: EngineOptions) => Engine) {
  return async (t: Test, options: Partial<EngineOptions>, serve: (socket: Socket) => void = echo) => {
    const fixture = engineFixture(t, all => openEngine({ ...all, ...options }))
    fixture.engine.setMeter(1, unlimited)
    const rule = await ruleTo([await openTarget(t, serve)], { meters: [1] })
    await fixture.engine.open(rule)
    const selected = () => fixture.events.filter(({ kind }) => kind === 'splice-selected').length
    return { ...fixture, rule, selected }
  }
}

async function transfer(t: Test, port: number, size: number): Promise<void> {
  const bytes = randomBytes(size)
  const caller = await openCaller(t, port)
  caller.end(bytes)
  t.equal(sha256(await collect(caller)), sha256(bytes))
}

function testSplicing(open: Open): void {
  t.test('a rule takes the zero-copy path with its first large transfer, and reports it once', async t => {
    const { engine, rule, events, selected } = await open(t, {})

    t.equal(await exchange(await openCaller(t, rule.from), 'few bytes are copied'), 'few bytes are copied')
    t.equal(selected(), 0)
    for (let i = 0; i < 3; i++) await transfer(t, rule.from, 4_000_000)

    await until(() => selected() > 0)
    t.equal(selected(), 1)
    t.notOk(events.some(({ kind }) => kind === 'splice-unsupported'))
    t.match(meterCounters(engine, 1), { bytesIn: 12_000_020, bytesOut: 12_000_020 })
  })

  t.test('a rule with a budget and no byte rate takes the zero-copy path', async t => {
    const { engine, rule, selected } = await open(t, {})
    engine.setBudget(1, { mark: 100_000_000, holdMs: 1_000 })

    await transfer(t, rule.from, 4_000_000)

    await until(() => selected() === 1)
  })
}

function testLimits(open: Open): void {
  t.test('with splice off or a byte rate set, every byte is copied', async t => {
    const off = await open(t, { splice: 'off' })
    const slow = await open(t, {})
    slow.engine.setMeter(1, limited({ bytesIn: rate(1e9, 1e9), bytesOut: rate(1e9, 1e9) }))

    for (const { rule } of [off, slow]) await transfer(t, rule.from, 4_000_000)

    for (const { engine, selected } of [off, slow]) {
      await until(() => meterCounters(engine, 1).active === 0)
      t.equal(selected(), 0)
    }
  })

  t.test('a rate that is set and lifted during a spliced transfer applies and loses no byte', async t => {
    const { engine, rule, selected } = await open(t, {}, flood)
    const bytes = countReceived(await openCaller(t, rule.from))
    await until(() => selected() === 1 && bytes() > 10_000_000)

    engine.setMeter(1, limited({ bytesOut: rate(1_000_000, 50_000) }))
    const { bytesOut: before } = meterCounters(engine, 1)
    const slowBytes = (): number => meterCounters(engine, 1).bytesOut - before
    const beganAt = performance.now()
    await until(() => slowBytes() > 2_000_000)
    const read = slowBytes()
    const tookMs = performance.now() - beganAt
    engine.setMeter(1, unlimited)

    // Bytes in the pipe when the rate was set had already passed the meter.
    t.ok(read < 1_000 * tookMs + 50_000 + 2 ** 20, `${read} bytes in ${tookMs} ms`)
    const atLift = bytes()
    await until(() => bytes() > atLift + 20_000_000)
  })

  t.test('with one thread or four, all bytes of each connection arrive', async t => {
    for (const threads of [1, 4]) {
      const { engine, rule } = await open(t, { threads })

      await Promise.all(Array.from({ length: 40 }, () => transfer(t, rule.from, 300_000)))

      await until(() => meterCounters(engine, 1).active === 0)
      t.match(engine.sample().rules, [
        { connectionsTotal: 40, ports: [{ bytesIn: 12_000_000, bytesOut: 12_000_000 }] }
      ])
    }
  })
}
