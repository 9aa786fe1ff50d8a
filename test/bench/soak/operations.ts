// The random operations of the soak test.
import type { Engine, EngineRule, Meter } from '../../../agent/engine/engine.ts'
import { ruleTo } from '../../engine/engine-fixture.ts'
import { limited, meterCounters, meterTotal, rate, unlimited } from '../../engine/meter-fixture.ts'
import { isFree } from '../../support/ports.ts'
import type { SeededRandom } from './seeded-random.ts'
import type { Traffic, Transfer, TransferKind } from './transfers.ts'
import { waitUntil } from './wait-until.ts'

/** Each rule of `openRule` has one of `partMeters`, and all have `totalMeter`. */
export const partMeters = [1, 2, 3] as const
export const totalMeter = 4

/** Consecutive ports for the rules. */
export const portCount = 64

const refusingPort = 1 // nothing listens there

export interface SoakState {
  readonly engine: Engine
  readonly random: SeededRandom
  readonly traffic: Traffic
  readonly firstPort: number
  readonly open: Map<number, EngineRule>
  readonly transfers: Transfer[]
  readonly fail: (what: string) => void
  changes: number
  hangUps: number
  lastPort: number // offset of the last used port
}

const kinds: readonly TransferKind[] = ['echo', 'upload', 'download']

const randomRate = (random: SeededRandom) =>
  random.oneIn(2) ? null : rate(100_000 * 2 ** random.below(10), 10_000 * 2 ** random.below(8))

const randomMeter = (random: SeededRandom): Meter =>
  random.oneIn(2)
    ? unlimited
    : limited({
        bytesIn: randomRate(random),
        bytesOut: randomRate(random),
        connections: random.oneIn(4) ? random.below(40) : null,
        newConnections: random.oneIn(4) ? rate(500, 50) : null
      })

/** Returns the least recently used free port, since callers may still dial the rule that had a recent port. */
async function nextPort(state: SoakState): Promise<number> {
  do state.lastPort = (state.lastPort + 1) % portCount
  while (!(await isFree(state.firstPort + state.lastPort)))
  return state.firstPort + state.lastPort
}

export async function openRule(state: SoakState): Promise<void> {
  const { engine, random, traffic, open } = state
  if (open.size >= 8) return
  const targets = random.oneIn(4) ? [refusingPort, traffic.port] : [traffic.port]
  const rule = await ruleTo(targets, {
    from: await nextPort(state),
    meters: [random.pick(partMeters) ?? 1, totalMeter],
    idleMs: random.oneIn(2) ? 0 : 500
  })
  await engine.open(rule)
  open.set(rule.id, rule)
}

async function closeRule({ engine, random, open }: SoakState): Promise<void> {
  const rule = random.pick([...open.values()])
  if (!rule) return
  open.delete(rule.id)
  await engine.close(rule.id, random.oneIn(2) ? 0 : random.below(500))
}

function changeLimits({ engine, random }: SoakState): void {
  engine.setMeter(random.pick(partMeters) ?? 1, randomMeter(random))
}

function changeBudget({ engine, random }: SoakState): void {
  const id = 1 + random.below(4)
  const mark = meterTotal(engine, id) + random.size(22)
  engine.setBudget(id, random.oneIn(3) ? { mark, holdMs: random.below(200) } : null)
}

function changeFilters({ engine, random, open }: SoakState): void {
  const rule = random.pick([...open.values()])
  const deny = random.oneIn(8) ? [{ cidr: '127.0.0.0/8' }] : []
  if (rule)
    engine.setFilters(rule.id, {
      addressGuards: [],
      sourceLimits: [],
      source: { allow: null, deny, refusal: 'source_denied' },
      target: []
    })
}

function hangUp(state: SoakState): void {
  const { random, transfers } = state
  const side = random.oneIn(2) ? 'caller' : 'target'
  random.pick(transfers.filter(({ end }) => end === null))?.hangUp(side)
  state.hangUps++
}

let lastOwnMeter = 1_000

/** Runs one transfer through its own meter: exactly up to the budget, then, with the budget lifted, to its end. */
async function exhaustBudget(state: SoakState): Promise<void> {
  const { engine, random, traffic, fail } = state
  const id = ++lastOwnMeter
  const size = 100_000 + random.size(21)
  const mark = 10 + random.below(size - 10)
  engine.setMeter(id, unlimited)
  engine.setBudget(id, { mark, holdMs: 60_000 })
  const rule = await ruleTo([traffic.port], { from: await nextPort(state), meters: [id] })
  await engine.open(rule)
  const kind = random.pick(kinds) ?? 'echo'

  const transfer = traffic.start({ ruleId: rule.id, port: rule.from }, kind, size)
  await waitUntil(
    'a budget is spent',
    () => meterTotal(engine, id) >= mark || transfer.end !== null,
    () => ({ ...transfer, total: meterTotal(engine, id), mark })
  )
  const spent = meterTotal(engine, id)
  if (spent !== mark || transfer.end !== null)
    fail(`${kind}: ${spent} bytes of a budget of ${mark}, end ${transfer.end}`)
  engine.setBudget(id, null)
  await waitUntil(
    'a transfer ends after its budget was lifted',
    () => transfer.end !== null,
    () => ({ ...transfer, total: meterTotal(engine, id) })
  )

  const sent = transfer.sent.caller + transfer.sent.target
  await waitUntil('the meter has no connection', () => meterCounters(engine, id).active === 0)
  if (transfer.end !== 'whole' || meterTotal(engine, id) !== sent)
    fail(`${kind}, budget lifted: ${transfer.end}, ${meterTotal(engine, id)} bytes counted of ${sent}`)
  await engine.close(rule.id, 0)
  await waitUntil('the rule is closed', () => engine.sample().rules.every(({ ruleId }) => ruleId !== rule.id))
  engine.removeMeter(id)
}

const operations: readonly ((state: SoakState) => Promise<void> | void)[] = [
  openRule,
  closeRule,
  changeLimits,
  changeBudget,
  changeFilters,
  hangUp,
  hangUp,
  exhaustBudget
]

export async function randomOperation(state: SoakState): Promise<void> {
  await (state.open.size < 2 ? openRule : state.random.pick(operations))?.(state)
  state.changes++
}

export function startTransfer({ random, traffic, open, transfers }: SoakState): void {
  const rule = random.pick([...open.values()])
  if (!rule) return
  transfers.push(
    traffic.start({ ruleId: rule.id, port: rule.from }, random.pick(kinds) ?? 'echo', random.size(20))
  )
}

/** Removes all limits, so that every transfer can end. */
export function liftLimits(engine: Engine): void {
  for (const id of [...partMeters, totalMeter]) {
    engine.setMeter(id, unlimited)
    engine.setBudget(id, null)
  }
}
