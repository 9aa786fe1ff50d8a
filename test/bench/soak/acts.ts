// What can happen to an engine: each act is drawn, and changes the scene.
import type { Engine, EngineRule, Meter } from '../../../agent/engine.ts'
import { ruleTo } from '../../engine/engine-fixture.ts'
import { limited, meterCounters, meterTotal, rate, unlimited } from '../../engine/meter-fixture.ts'
import { isFree } from '../../support/ports.ts'
import type { Dice } from './dice.ts'
import type { Hall, Talk, Wish } from './hall.ts'
import { settled } from './settled.ts'

/** The meters of a scene: some for a few rules, one for all. */
export const someMeters = [1, 2, 3] as const
export const meterOfAll = 4

/** So many ports in a row are a scene's. */
export const scenePorts = 64

const refusingPort = 1 // of a service that is no more

export interface Scene {
  readonly engine: Engine
  readonly dice: Dice
  readonly hall: Hall
  readonly firstPort: number
  readonly open: Map<number, EngineRule>
  readonly talks: Talk[]
  readonly wrong: (what: string) => void
  changes: number
  hangUps: number
  lastPort: number // of them that was taken
}

const wishes: readonly Wish[] = ['echo', 'upload', 'download']

const randomRate = (dice: Dice) =>
  dice.oneIn(2) ? null : rate(100_000 * 2 ** dice.below(10), 10_000 * 2 ** dice.below(8))

const randomMeter = (dice: Dice): Meter =>
  dice.oneIn(2)
    ? unlimited
    : limited({
        bytesIn: randomRate(dice),
        bytesOut: randomRate(dice),
        connections: dice.oneIn(4) ? dice.below(40) : null,
        newConnections: dice.oneIn(4) ? rate(500, 50) : null
      })

/** The one that has been closed for the longest time: who still dials it means the rule that it had. */
async function nextPort(scene: Scene): Promise<number> {
  do scene.lastPort = (scene.lastPort + 1) % scenePorts
  while (!(await isFree(scene.firstPort + scene.lastPort)))
  return scene.firstPort + scene.lastPort
}

export async function openRule(scene: Scene): Promise<void> {
  const { engine, dice, hall, open } = scene
  if (open.size >= 8) return
  const targets = dice.oneIn(4) ? [refusingPort, hall.port] : [hall.port]
  const rule = await ruleTo(targets, {
    from: await nextPort(scene),
    meters: [dice.of(someMeters) ?? 1, meterOfAll],
    idleMs: dice.oneIn(2) ? 0 : 500
  })
  await engine.open(rule)
  open.set(rule.id, rule)
}

async function closeRule({ engine, dice, open }: Scene): Promise<void> {
  const rule = dice.of([...open.values()])
  if (!rule) return
  open.delete(rule.id)
  await engine.close(rule.id, dice.oneIn(2) ? 0 : dice.below(500))
}

function limitAgain({ engine, dice }: Scene): void {
  engine.setMeter(dice.of(someMeters) ?? 1, randomMeter(dice))
}

function budgetAgain({ engine, dice }: Scene): void {
  const id = 1 + dice.below(4)
  const mark = meterTotal(engine, id) + dice.size(22)
  engine.setBudget(id, dice.oneIn(3) ? { mark, holdMs: dice.below(200) } : null)
}

function filterAgain({ engine, dice, open }: Scene): void {
  const rule = dice.of([...open.values()])
  const deny = dice.oneIn(8) ? [{ cidr: '127.0.0.0/8' }] : []
  if (rule)
    engine.setFilters(rule.id, { source: { allow: null, deny, refusal: 'source_denied' }, target: [] })
}

function hangUp(scene: Scene): void {
  const { dice, talks } = scene
  const who = dice.oneIn(2) ? 'caller' : 'target'
  dice.of(talks.filter(({ end }) => end === null))?.hangUp(who)
  scene.hangUps++
}

let lastOwnMeter = 1_000

/** A meter of its own, spent to the mark, refilled, and run to its end: with nothing lost, and no byte too many. */
async function exhaust(scene: Scene): Promise<void> {
  const { engine, dice, hall, wrong } = scene
  const id = ++lastOwnMeter
  const size = 100_000 + dice.size(21)
  const mark = 10 + dice.below(size - 10)
  engine.setMeter(id, unlimited)
  engine.setBudget(id, { mark, holdMs: 60_000 })
  const rule = await ruleTo([hall.port], { from: await nextPort(scene), meters: [id] })
  await engine.open(rule)
  const wish = dice.of(wishes) ?? 'echo'

  const talk = hall.call({ ruleId: rule.id, port: rule.from }, wish, size)
  await settled(
    'a budget is spent',
    () => meterTotal(engine, id) >= mark || talk.end !== null,
    () => ({ ...talk, total: meterTotal(engine, id), mark })
  )
  const spent = meterTotal(engine, id)
  if (spent !== mark || talk.end !== null)
    wrong(`${wish}: ${spent} bytes of a budget of ${mark}, then ${talk.end}`)
  engine.setBudget(id, null)
  await settled(
    'a refilled talk ends',
    () => talk.end !== null,
    () => ({ ...talk, total: meterTotal(engine, id) })
  )

  const said = talk.said.caller + talk.said.target
  await settled('an own meter is left', () => meterCounters(engine, id).active === 0)
  if (talk.end !== 'whole' || meterTotal(engine, id) !== said)
    wrong(`${wish}, refilled: ${talk.end}, ${meterTotal(engine, id)} bytes counted of ${said}`)
  await engine.close(rule.id, 0)
  await settled('a rule closes', () => engine.sample().rules.every(({ ruleId }) => ruleId !== rule.id))
  engine.removeMeter(id)
}

const acts: readonly ((scene: Scene) => Promise<void> | void)[] = [
  openRule,
  closeRule,
  limitAgain,
  budgetAgain,
  filterAgain,
  hangUp,
  hangUp,
  exhaust
]

export async function act(scene: Scene): Promise<void> {
  await (scene.open.size < 2 ? openRule : scene.dice.of(acts))?.(scene)
  scene.changes++
}

export function call({ dice, hall, open, talks }: Scene): void {
  const rule = dice.of([...open.values()])
  if (!rule) return
  talks.push(hall.call({ ruleId: rule.id, port: rule.from }, dice.of(wishes) ?? 'echo', dice.size(20)))
}

/** Nothing holds anybody back any more. */
export function release(engine: Engine): void {
  for (const id of [...someMeters, meterOfAll]) {
    engine.setMeter(id, unlimited)
    engine.setBudget(id, null)
  }
}
