// node separate-process.ts LISTEN-PORT TARGET-PORT portable|native LISTEN-PORT TARGET-PORT NAMED PROBED: an engine in its own
// process, with a rule of ann and, unless its port is 0, one of bob. With NAMED, the target of ann is a name with that many
// addresses; with PROBED, ann has another rule with that many targets, all at addresses in 127.0.1.0/24 and 127.0.2.0/24, that
// is probed. Sends its state on request, stops on 'stop'.
import { readdirSync } from 'node:fs'
import type { Counters, EngineRule, MeterCounters } from '../../agent/engine/engine.ts'
import { openPortableEngine } from '../../agent/portable-engine/portable-engine.ts'
import { freePort } from '../support/ports.ts'
import { limited } from './meter-fixture.ts'
import { nativeUnderTest } from './native-under-test.ts'

export interface EngineState {
  readonly counters: Counters | undefined // of the first rule
  readonly rules: readonly Counters[]
  readonly descriptors: number
  readonly meters: readonly MeterCounters[]
  readonly resources: readonly string[] // timers and handles that could keep the process alive
}

const [from = 0, port = 0, , bobsPort = 0, bobsTarget = 0, named = 0, probed = 0] = process.argv
  .slice(2)
  .map(Number)
const addresses = (count: number) =>
  Array.from({ length: count }, (_, i) => `127.0.${1 + Math.floor(i / 250)}.${1 + (i % 250)}`)
const native = nativeUnderTest()
const openEngine = process.argv[4] === 'native' && native.ok ? native.openEngine : openPortableEngine
const engine = openEngine({
  bind: ['127.0.0.1'],
  onEvents(events) {
    for (const event of events)
      if (event.kind === 'resolve') engine.resolved(event.token, { ok: true, addresses: addresses(named) })
  }
})
const plenty = { perSec: 1e9, burst: 1e9 }
engine.setMeter(1, limited({ bytesIn: plenty, bytesOut: plenty, connections: 1e9, newConnections: plenty }))
engine.setMeter(
  2,
  limited({ bytesIn: { perSec: 1e6, burst: 2_000 }, bytesOut: { perSec: 1e6, burst: 2_000 } })
)
for (const id of [1, 2]) engine.setBudget(id, { mark: 1e12, holdMs: 60_000 })
const rule = (id: number, owner: string, from: number, port: number): EngineRule => ({
  id,
  owner,
  protocol: 'tcp',
  from,
  to: from,
  targets: [{ host: owner === 'ann' && named > 0 ? 'ann.test' : '127.0.0.1', port }],
  preferIpv6: false,
  balance: null,
  idleMs: 60_000,
  unansweredMs: 0,
  name: null,
  fallback: false,
  probeMs: 0,
  meters: [1, 2],
  flowCap: 1024,
  reportEnds: false,
  dialFrom: null,
  firstRead: null,
  preamble: null,
  replyCap: null,
  diverts: [],
  source: null,
  addressGuards: [],
  sourceLimits: [],
  target: []
})
await engine.open(rule(1, 'ann', from, port))
if (bobsPort > 0) await engine.open(rule(2, 'bob', bobsPort, bobsTarget))
const probedTargets = addresses(probed).map(host => ({ host, port }))
if (probed > 0)
  await engine.open({ ...rule(3, 'ann', await freePort(), port), targets: probedTargets, probeMs: 100 })

const releases: (() => void)[] = []

process.on('message', async command => {
  if (command === 'stop') {
    await engine.stop()
    process.disconnect() // from now on, only a leak of the engine can keep the process alive
    return
  }
  if (command === 'reserve') {
    const before = releases.length
    for (let release = engine.reserveDescriptor('ann'); release; release = engine.reserveDescriptor('ann'))
      releases.push(release)
    return process.send?.(releases.length - before)
  }
  if (command === 'release') return releases.pop()?.()
  if (command === 'close') {
    await engine.close(1, 0)
    return process.send?.('closed')
  }
  if (command === 'open') {
    await engine.open(rule(4, 'ann', from, port))
    return process.send?.('open')
  }
  const { rules, meters } = engine.sample()
  const descriptors = readdirSync('/proc/self/fd').length
  const resources = process.getActiveResourcesInfo().toSorted()
  const state: EngineState = { counters: rules[0], rules, meters, descriptors, resources }
  process.send?.(state)
})
process.send?.('open')
