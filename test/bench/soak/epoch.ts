// One life of an engine: opened, played with, and ended in order or in the midst of it.
import type { Counters, EngineEvent } from '../../../agent/engine.ts'
import type { OpenEngine } from '../../engine/engine-fixture.ts'
import { meterCounters, meterTotal } from '../../engine/meter-fixture.ts'
import { act, call, meterOfAll, openRule, release, type Scene, someMeters } from './acts.ts'
import { openDice } from './dice.ts'
import { openHall, type Talk } from './hall.ts'
import { settled } from './settled.ts'

export interface Epoch {
  readonly talks: number
  readonly whole: number
  readonly changes: number
  readonly hangUps: number
  readonly wrong: readonly string[]
}

export interface Plan {
  readonly seed: number
  readonly ms: number
  readonly firstPort: number
  readonly ending: 'drain' | 'kill'
}

const mostAtOnce = 150

const sum = (list: readonly { bytesIn: number; bytesOut: number }[], way: 'bytesIn' | 'bytesOut'): number =>
  list.reduce((all, one) => all + one[way], 0)

/** What was delivered lies between what was heard and what was said; of whole talks both are the same. */
function judgeRule({ ruleId, ports, targets, connectionsTotal }: Counters, talks: readonly Talk[]): string[] {
  const own = talks.filter(talk => talk.ruleId === ruleId)
  const over = (of: (talk: Talk) => number) => own.reduce((all, talk) => all + of(talk), 0)
  const found: string[] = []
  for (const [way, from, to] of [
    ['bytesIn', 'caller', 'target'],
    ['bytesOut', 'target', 'caller']
  ] as const) {
    const counted = sum(ports, way)
    const [heard, said] = [over(talk => talk.heard[to]), over(talk => talk.said[from])]
    const most = over(talk => (talk.end === 'whole' ? talk.heard[to] : talk.said[from]))
    if (counted < heard || counted > most)
      found.push(`rule ${ruleId}: ${way} ${counted}, heard ${heard}, said ${said}`)
    if (counted !== sum(targets, way)) found.push(`rule ${ruleId}: targets have another ${way} than ports`)
  }
  const reached = own.filter(({ isReached }) => isReached).length
  if (connectionsTotal < reached || connectionsTotal > own.length)
    found.push(`rule ${ruleId}: ${connectionsTotal} connections, ${reached} reached, ${own.length} called`)
  if (ports.some(({ active }) => active !== 0)) found.push(`rule ${ruleId} closed with connections in it`)
  return found
}

async function drain(scene: Scene, finals: () => readonly Counters[]): Promise<void> {
  const { engine, open, talks, wrong } = scene
  release(engine)
  for (const { id } of open.values()) await engine.close(id, 10_000)
  await settled(
    'all rules have closed, all talks ended',
    () => engine.sample().rules.length === 0 && talks.every(({ end }) => end !== null),
    () => ({
      rules: engine.sample().rules,
      meters: engine.sample().meters,
      living: talks.filter(({ end }) => end === null)
    })
  )
  const ids = new Set(talks.map(({ ruleId }) => ruleId))
  const own = finals().filter(({ ruleId }) => ids.has(ruleId))
  for (const counters of own) for (const what of judgeRule(counters, talks)) wrong(what)
  const total = own.reduce((all, { ports }) => all + sum(ports, 'bytesIn') + sum(ports, 'bytesOut'), 0)
  const shared = meterTotal(engine, meterOfAll)
  const parts = someMeters.reduce((all, id) => all + meterTotal(engine, id), 0)
  if (shared !== total || parts !== total) wrong(`rules ${total}, their meter ${shared}, its parts ${parts}`)
  for (const id of [...someMeters, meterOfAll])
    if (meterCounters(engine, id).active !== 0) wrong(`meter ${id} still has somebody in it`)
}

export async function playEpoch(
  openEngine: OpenEngine,
  { seed, ms, firstPort, ending }: Plan
): Promise<Epoch> {
  const faults: string[] = []
  const wrong = (what: string) => void (faults.length < 20 && faults.push(what))
  const events: EngineEvent[] = []
  const hall = await openHall(wrong)
  const dice = openDice(seed)
  const engine = openEngine({
    bind: ['127.0.0.1'],
    threads: 1 + dice.below(3),
    splice: dice.oneIn(4) ? 'off' : 'on',
    onEvents: batch => void events.push(...batch)
  })
  const talks: Talk[] = []
  const counts = { changes: 0, hangUps: 0, lastPort: -1 }
  const scene: Scene = { engine, dice, hall, firstPort, open: new Map(), talks, wrong, ...counts }
  try {
    release(engine)
    await openRule(scene)
    const endsAt = performance.now() + ms
    while (performance.now() < endsAt) {
      if (dice.oneIn(30)) await act(scene)
      else call(scene)
      if (hall.open() > 2 * mostAtOnce) release(engine) // else all wait for what nobody lifts
      await settled(
        'fewer are there',
        () => hall.open() <= 2 * mostAtOnce,
        () => ({
          meters: engine.sample().meters,
          living: talks.filter(({ end }) => end === null).slice(0, 9),
          rules: engine.sample().rules,
          open: hall.open()
        })
      )
      if (dice.oneIn(4)) await new Promise(setImmediate)
    }
    if (ending === 'drain')
      await drain(scene, () => events.flatMap(event => (event.kind === 'closed' ? [event.counters] : [])))
    await engine.stop()
    await settled(
      'a stopped engine leaves nobody',
      () => hall.open() === 0,
      () => hall.living()
    )
  } catch (error) {
    wrong(String(error))
  } finally {
    await engine.stop()
    await hall.close()
  }
  const { changes, hangUps } = scene
  const whole = talks.filter(({ end }) => end === 'whole').length
  return { talks: talks.length, whole, changes, hangUps, wrong: faults }
}
