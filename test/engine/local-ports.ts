// node local-ports.ts: uses all local ports towards a target. Sends the results of further callers.
import { createSocket } from 'node:dgram'
import { writeFileSync } from 'node:fs'
import t from 'tap'
import { openPortableEngine } from '../../agent/portable-engine/portable-engine.ts'
import { openUdpCaller, openUdpRule, openUdpTarget } from './cases/udp-fixture.ts'
import {
  echo,
  endOf,
  engineFixture,
  exchange,
  type OpenEngine,
  openCaller,
  openTarget,
  ruleTo,
  until
} from './engine-fixture.ts'
import { nativeUnderTest } from './native-under-test.ts'

/** Each engine uses up the ports towards a separate destination. */
const few = 100
const ranges: Record<string, number> = { portable: 40_000, native: 50_000 }
const native = nativeUnderTest()
const engines: Record<string, OpenEngine> = { portable: openPortableEngine }
if (native.ok) engines['native'] = native.openEngine
const setRange = (from: number, to: number) =>
  writeFileSync('/proc/sys/net/ipv4/ip_local_port_range', `${from} ${to}`)

const seen: Record<string, object> = {}
for (const [name, openEngine] of Object.entries(engines)) {
  const first = ranges[name] ?? 0
  t.test(`TCP, ${name}`, async t => {
    setRange(20_000, 39_999)
    const { engine, counters } = engineFixture(t, openEngine)
    const used = await openTarget(t, echo, { port: 9_001 })
    const rule = await ruleTo([used], { from: 9_002, to: 9_002 })
    const failing = await ruleTo([used, await openTarget(t, echo, { port: 9_003 })], {
      from: 9_004,
      to: 9_004
    })
    await engine.open(rule)
    await engine.open(failing)
    setRange(first, first + few - 1)
    const holders = await Promise.all(Array.from({ length: few }, () => openCaller(t, used)))

    const ends = new Set<string>()
    for (let i = 0; i < 3; i++) {
      const caller = await openCaller(t, rule.from)
      ends.add(await endOf(caller))
    }
    const other = await exchange(await openCaller(t, failing.from), 'next')
    const [byRule] = engine.sample().rules
    const failures = byRule?.targets[0]?.consecutiveFailures
    for (const socket of holders) socket.resetAndDestroy()
    await until(() => counters().ports[0]?.active === 0)
    seen[`tcp ${name}`] = { ends: [...ends], rejected: byRule?.rejected, failures, other }
  })
  t.test(`UDP, ${name}`, async t => {
    setRange(20_000, 39_999)
    const { engine, counters } = engineFixture(t, openEngine)
    const target = await openUdpTarget(t)
    const rule = await openUdpRule(engine, [target.port])
    const caller = await openUdpCaller(t, rule.from)
    setRange(first, first + few - 1)
    const holders = Array.from({ length: few }, (_, i) => createSocket('udp4').bind(first + i, '0.0.0.0'))
    t.teardown(() => holders.map(holder => holder.close()))
    await until(() => holders.every(holder => isBound(holder)))

    caller.send('hello')
    await until(() => Object.keys(counters().rejected).length > 0)
    seen[`udp ${name}`] = { rejected: counters().rejected }
  })
}

const isBound = (socket: ReturnType<typeof createSocket>): boolean => {
  try {
    return socket.address().port > 0
  } catch {
    return false
  }
}
t.test('sends the results of callers', async () => void process.send?.({ seen }))
