// One engine run of the soak test: opens the engine, runs random operations, then drains or kills it.
import type { Counters, EngineEvent } from '../../../agent/engine/engine.ts'
import type { OpenEngine } from '../../engine/engine-fixture.ts'
import { meterCounters, meterTotal } from '../../engine/meter-fixture.ts'
import {
  liftLimits,
  openRule,
  partMeters,
  randomOperation,
  type SoakState,
  startTransfer,
  totalMeter
} from './operations.ts'
import { seededRandom } from './seeded-random.ts'
import { openTraffic, type Transfer } from './transfers.ts'
import { waitUntil } from './wait-until.ts'

export interface EngineRun {
  readonly transfers: number
  readonly whole: number // complete transfers: all bytes arrived, both ends closed with FIN
  readonly changes: number
  readonly hangUps: number // transfers that one side reset
  readonly failures: readonly string[]
}

export interface RunPlan {
  readonly seed: number
  readonly ms: number
  readonly firstPort: number
  readonly ending: 'drain' | 'kill'
}

const maxConcurrent = 150

const sum = (list: readonly { bytesIn: number; bytesOut: number }[], key: 'bytesIn' | 'bytesOut'): number =>
  list.reduce((total, counters) => total + counters[key], 0)

/** Counted bytes lie between received and sent bytes. For complete transfers both are equal. */
function checkRule(
  { ruleId, ports, targets, connectionsTotal }: Counters,
  transfers: readonly Transfer[]
): string[] {
  const own = transfers.filter(transfer => transfer.ruleId === ruleId)
  const sumOf = (bytes: (transfer: Transfer) => number) =>
    own.reduce((total, transfer) => total + bytes(transfer), 0)
  const failures: string[] = []
  for (const [key, from, to] of [
    ['bytesIn', 'caller', 'target'],
    ['bytesOut', 'target', 'caller']
  ] as const) {
    const counted = sum(ports, key)
    const received = sumOf(({ received }) => received[to])
    const sent = sumOf(({ sent }) => sent[from])
    const limit = sumOf(({ end, received, sent }) => (end === 'whole' ? received[to] : sent[from]))
    if (counted < received || counted > limit)
      failures.push(`rule ${ruleId}: ${key} ${counted}, received ${received}, sent ${sent}`)
    if (counted !== sum(targets, key)) failures.push(`rule ${ruleId}: ${key} of targets and ports differ`)
  }
  const connected = own.filter(({ isConnected }) => isConnected).length
  if (connectionsTotal < connected || connectionsTotal > own.length)
    failures.push(`rule ${ruleId}: ${connectionsTotal} connections, ${connected} connected of ${own.length}`)
  if (ports.some(({ active }) => active !== 0)) failures.push(`rule ${ruleId} closed with open connections`)
  return failures
}

async function drain(state: SoakState, finals: () => readonly Counters[]): Promise<void> {
  const { engine, open, transfers, fail } = state
  liftLimits(engine)
  for (const { id } of open.values()) await engine.close(id, 10_000)
  await waitUntil(
    'all rules are closed, all transfers have ended',
    () => engine.sample().rules.length === 0 && transfers.every(({ end }) => end !== null),
    () => ({
      rules: engine.sample().rules,
      meters: engine.sample().meters,
      unfinished: transfers.filter(({ end }) => end === null)
    })
  )
  const ids = new Set(transfers.map(({ ruleId }) => ruleId))
  const own = finals().filter(({ ruleId }) => ids.has(ruleId))
  for (const counters of own) for (const what of checkRule(counters, transfers)) fail(what)
  const total = own.reduce((all, { ports }) => all + sum(ports, 'bytesIn') + sum(ports, 'bytesOut'), 0)
  const shared = meterTotal(engine, totalMeter)
  const parts = partMeters.reduce((all, id) => all + meterTotal(engine, id), 0)
  if (shared !== total || parts !== total) fail(`rules ${total}, total meter ${shared}, part meters ${parts}`)
  for (const id of [...partMeters, totalMeter])
    if (meterCounters(engine, id).active !== 0) fail(`meter ${id} still has connections`)
}

export async function runEngine(
  openEngine: OpenEngine,
  { seed, ms, firstPort, ending }: RunPlan
): Promise<EngineRun> {
  const failures: string[] = []
  const fail = (what: string) => void (failures.length < 20 && failures.push(what))
  const events: EngineEvent[] = []
  const traffic = await openTraffic(fail)
  const random = seededRandom(seed)
  const engine = openEngine({
    bind: ['127.0.0.1'],
    threads: 1 + random.below(3),
    splice: random.oneIn(4) ? 'off' : 'on',
    onEvents: batch => void events.push(...batch)
  })
  const transfers: Transfer[] = []
  const counts = { changes: 0, hangUps: 0, lastPort: -1 }
  const state: SoakState = { engine, random, traffic, firstPort, open: new Map(), transfers, fail, ...counts }
  try {
    liftLimits(engine)
    await openRule(state)
    const endsAt = performance.now() + ms
    while (performance.now() < endsAt) {
      if (random.oneIn(30)) await randomOperation(state)
      else startTransfer(state)
      if (traffic.openSockets() > 2 * maxConcurrent) liftLimits(engine) // otherwise all could wait for limits that never change
      await waitUntil(
        'fewer transfers are open',
        () => traffic.openSockets() <= 2 * maxConcurrent,
        () => ({
          meters: engine.sample().meters,
          unfinished: transfers.filter(({ end }) => end === null).slice(0, 9),
          rules: engine.sample().rules,
          open: traffic.openSockets()
        })
      )
      if (random.oneIn(4)) await new Promise(setImmediate)
    }
    if (ending === 'drain')
      await drain(state, () => events.flatMap(event => (event.kind === 'closed' ? [event.counters] : [])))
    await engine.stop()
    await waitUntil(
      'a stopped engine has no connections',
      () => traffic.openSockets() === 0,
      () => traffic.describeOpen()
    )
  } catch (error) {
    fail(String(error))
  } finally {
    await engine.stop()
    await traffic.close()
  }
  const { changes, hangUps } = state
  const whole = transfers.filter(({ end }) => end === 'whole').length
  return { transfers: transfers.length, whole, changes, hangUps, failures }
}
