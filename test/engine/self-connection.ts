// node self-connection.ts: with few local ports, dials a free port of this host until the system chooses the same local
// port. Sends the bytes that callers received although there is no target.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import t from 'tap'
import { openPortableEngine } from '../../agent/portable-engine/portable-engine.ts'
import {
  endOf,
  engineFixture,
  type OpenEngine,
  openCaller,
  portCounters,
  ruleTo,
  until
} from './engine-fixture.ts'
import { nativeUnderTest } from './native-under-test.ts'

const first = 40_000

const last = 40_015
const native = nativeUnderTest()
const engines: Record<string, OpenEngine> = { portable: openPortableEngine }
if (native.ok) engines['native'] = native.openEngine
writeFileSync('/proc/sys/net/ipv4/ip_local_port_range', `${first} ${last}`)

const seen: Record<string, object> = {}
for (const [name, openEngine] of Object.entries(engines)) {
  t.test(`TCP, ${name}`, async t => {
    const { engine, counters } = engineFixture(t, openEngine)
    const rule = await ruleTo([first + 2], { from: 20_000, to: 20_000 })
    await engine.open(rule)
    const ends = new Set<string>()
    for (let i = 0; i < 300 && !ends.has('data'); i++) {
      const caller = await openCaller(t, rule.from)
      caller.write('hello')
      ends.add(await Promise.race([endOf(caller), once(caller, 'data').then(() => 'data')]))
    }
    seen[`tcp ${name}`] = { ends: [...ends], bytes: counters().targets[0]?.bytesOut }
  })
  t.test(`UDP, ${name}`, async t => {
    const { engine, counters } = engineFixture(t, openEngine)
    const rule = await ruleTo([first + 2], { from: 20_001, to: 20_001, protocol: 'udp' })
    await engine.open(rule)
    const caller = createSocket('udp4').bind(20_002, '127.0.0.1') // not at the target's port
    t.teardown(() => void caller.close())
    const bytes = () => counters().targets[0]?.bytesOut
    for (let flows = 0; flows < 300 && bytes() === 0; flows++) {
      caller.send('hello', rule.from, '127.0.0.1')
      await until(() => counters().connectionsTotal > flows)
      await until(() => portCounters(counters()).active === 0 || bytes() !== 0)
    }
    seen[`udp ${name}`] = { bytes: bytes() }
  })
}
t.test('sends the results of callers', async () => void process.send?.({ seen }))
