// Everything at random and at once, against what must be true whatever happens. SLUICE_SOAK_SECS and SLUICE_SOAK_SEED
// make it longer, and play a run again.
import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Counters, Engine, EngineEvent, EngineRule, Meter } from '../../agent/engine.ts'
import { limited, meterOf, rate, totalOf, unlimited } from './metering.ts'
import { nativeUnderTest } from './native-under-test.ts'
import { echo, openTarget, ruleTo, until } from './rig.ts'

const seconds = Number(process.env['SLUICE_SOAK_SECS'] ?? 8)
const seed = Number(process.env['SLUICE_SOAK_SEED'] ?? Date.now() % 1_000_000)

/** mulberry32: the same numbers from the same seed. */
function openDice(seed: number) {
  let state = seed
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (count: number) => Math.floor(next() * count)
  return { below, oneIn: (count: number) => below(count) === 0, bytes: () => Math.floor(2 ** (next() * 20)) }
}
type Dice = ReturnType<typeof openDice>

const words = randomBytes(2 ** 21)
const sparePipes = 2 * 64 // on two threads

interface Said {
  readonly rule: EngineRule
  sent: number
  heard: number
  end: 'whole' | 'broken' | null
}

/** Says a part of `words` to an echo, at its own pace, and looks at every byte of the answer. */
function converse(
  rule: EngineRule,
  dice: Dice,
  spoilt: (why: string) => void
): { said: Said; socket: Socket } {
  const from = dice.below(2 ** 20)
  const size = dice.bytes()
  const said: Said = { rule, sent: 0, heard: 0, end: null }
  const socket = connect({ port: rule.from, host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => {})
  socket.on('close', () => {
    said.end ??= 'broken'
  })
  socket.on('data', chunk => {
    const expected = words.subarray(from + said.heard, from + said.heard + chunk.length)
    if (!chunk.equals(expected)) spoilt(`an answer differs after ${said.heard} bytes`)
    said.heard += chunk.length
  })
  socket.on('end', () => {
    said.end = said.heard === size ? 'whole' : 'broken'
    if (said.heard !== size) spoilt(`an answer of ${size} bytes ended in order after ${said.heard}`)
    socket.end()
  })
  said.sent = size
  socket.end(words.subarray(from, from + size))
  if (dice.oneIn(8)) setTimeout(() => socket.destroy(), dice.below(30)) // what still comes is answered with RST
  return { said, socket }
}

function randomMeter(dice: Dice): Meter {
  if (dice.oneIn(2)) return unlimited
  const some = () => (dice.oneIn(2) ? null : rate(100_000 * 2 ** dice.below(10), 10_000 * 2 ** dice.below(8)))
  return limited({
    bytesIn: some(),
    bytesOut: some(),
    connections: dice.oneIn(3) ? dice.below(20) : null,
    newConnections: dice.oneIn(3) ? rate(200, 20) : null
  })
}

interface Scene {
  readonly engine: Engine
  readonly dice: Dice
  readonly target: number
  readonly open: Map<number, EngineRule>
  readonly said: Said[]
  readonly spoilt: (why: string) => void
}

const acts: readonly ((scene: Scene) => Promise<void> | void)[] = [
  async ({ engine, dice, target, open }) => {
    if (open.size >= 6) return
    const rule = await ruleTo([target], { meters: [1 + dice.below(3), 4], idleMs: dice.oneIn(2) ? 0 : 500 })
    await engine.open(rule)
    open.set(rule.id, rule)
  },
  async ({ engine, dice, open }) => {
    const rule = [...open.values()][dice.below(8)]
    if (!rule) return
    open.delete(rule.id)
    await engine.close(rule.id, dice.oneIn(2) ? 0 : dice.below(200))
  },
  ({ engine, dice }) => engine.meter(1 + dice.below(3), randomMeter(dice)),
  ({ engine, dice }) => {
    const id = 1 + dice.below(4)
    const mark = totalOf(engine, id) + dice.bytes()
    engine.budget(id, dice.oneIn(2) ? null : { mark, holdMs: dice.below(100) })
  },
  ({ engine, dice, open }) => {
    const rule = [...open.values()][dice.below(8)]
    const deny = dice.oneIn(4) ? [{ cidr: '127.0.0.0/8' }] : []
    const source = { allow: null, deny, refusal: 'source_denied' }
    if (rule) engine.filter(rule.id, { source, target: [] })
  }
]

/** One act in twenty turns; else somebody calls. */
async function turn(scene: Scene): Promise<void> {
  const { dice, open, said, spoilt } = scene
  const rules = [...open.values()]
  const rule = rules[dice.below(rules.length)]
  if (rule && !dice.oneIn(20)) said.push(converse(rule, dice, spoilt).said)
  else await acts[rules.length < 2 ? 0 : dice.below(acts.length)]?.(scene)
  const isCrowded = () => said.filter(({ end }) => end === null).length > 200
  if (isCrowded()) for (const id of [1, 2, 3, 4]) release(scene.engine, id)
  await until(() => !isCrowded())
}

function release(engine: Engine, id: number): void {
  engine.meter(id, unlimited)
  engine.budget(id, null)
}

async function finish({ engine, open, said }: Scene): Promise<void> {
  for (const id of [1, 2, 3, 4]) release(engine, id)
  for (const { id } of open.values()) await engine.close(id, 5_000)
  await until(() => engine.sample().rules.length === 0 && said.every(({ end }) => end !== null))
}

function judge(t: Test, engine: Engine, said: readonly Said[], finals: readonly Counters[]): void {
  const sum = (list: readonly { bytesIn: number; bytesOut: number }[]) =>
    list.reduce((all, { bytesIn, bytesOut }) => all + bytesIn + bytesOut, 0)
  let total = 0
  for (const { ruleId, ports, targets } of finals) {
    const own = said.filter(({ rule }) => rule.id === ruleId)
    const heard = own.reduce((all, one) => all + one.heard, 0)
    const [port] = ports
    const least = own.filter(({ end }) => end === 'whole').reduce((all, one) => all + one.sent, 0)
    if (port?.active !== 0 || port.bytesOut < heard || port.bytesIn < least || sum(ports) !== sum(targets))
      t.fail(`rule ${ruleId} heard ${heard}`, { ports, targets })
    total += sum(ports)
  }
  t.equal(totalOf(engine, 4), total, 'the meter that all rules share has counted what they have')
  t.equal(
    [1, 2, 3].reduce((all, id) => all + totalOf(engine, id), 0),
    total
  )
  for (const id of [1, 2, 3, 4]) t.equal(meterOf(engine, id).active, 0)
}

const native = nativeUnderTest()
if (!native.ok) t.plan(0, native.reason)
else
  t.test(`${seconds} s at random, seed ${seed}`, { timeout: (seconds + 60) * 1_000 }, async t => {
    const events: EngineEvent[] = []
    const engine = native.openEngine({
      bind: ['127.0.0.1'],
      threads: 2,
      onEvents: batch => events.push(...batch)
    })
    t.teardown(() => engine.stop())
    for (const id of [1, 2, 3, 4]) engine.meter(id, unlimited)
    const target = await openTarget(t, socket => echo(socket.on('close', () => socket.destroy())))
    const open = new Map<number, EngineRule>()
    const scene: Scene = { engine, dice: openDice(seed), target, open, said: [], spoilt: why => t.fail(why) }
    const before = readdirSync('/proc/self/fd').length

    const endsAt = performance.now() + seconds * 1_000
    while (performance.now() < endsAt) {
      await turn(scene)
      if (scene.dice.oneIn(4)) await setImmediate()
    }
    await finish(scene)

    const finals = events.flatMap(event => (event.kind === 'closed' ? [event.counters] : []))
    judge(t, engine, scene.said, finals)
    const ends = Object.groupBy(scene.said, ({ end }) => end ?? 'none')
    t.comment(`${finals.length} rules, ${ends['whole']?.length} whole, ${ends['broken']?.length} broken`)
    const held = readdirSync('/proc/self/fd').length - before
    t.ok(held <= sparePipes * 2 + 10, `${held} descriptors more than before`)
  })
