// Whatever happens to server, agents and the stream between them, the books are what was delivered.
//   SLUICE_ROUNDS=200 SLUICE_SEED=7 node test/books/property.test.ts
import t, { type Test } from 'tap'
import type { QuotaRow } from '../../plugins/quota/schema.ts'
import { type Dice, openDice } from '../bench/soak/dice.ts'
import { balance, compareMinutes, comparePeriod, read, refuseSurplus } from './audit.ts'
import { openWorld, pause, type Rule, type World } from './world.ts'

const rounds = Number(process.env['SLUICE_ROUNDS'] ?? 1)
const seed = Number(process.env['SLUICE_SEED'] ?? Date.now() % 1_000_000)
const isBrief = rounds === 1 // some of the steps, others with each seed
const aheadMs = 20_000

type Step = (world: World, dice: Dice) => Promise<unknown>

const any = <T>(dice: Dice, of: readonly T[]): T => of[dice.below(of.length)] as T // never empty here

async function transfer({ rules }: World, dice: Dice, of: readonly Rule[] = rules): Promise<void> {
  const some = Array.from({ length: 1 + dice.below(6) }, () => any(dice, of))
  await Promise.all(
    some.map(({ route, port }) =>
      route.transfer(port, { in: dice.size(20), out: dice.size(20) }, dice.oneIn(3) ? 'reset' : 'close')
    )
  )
}

/** While `work` goes on, bytes run both ways through a rule. */
async function beside(world: World, dice: Dice, work: (rule: Rule) => Promise<unknown>): Promise<void> {
  const rule = any(dice, world.rules)
  const poured = await rule.route.pour(rule.port)
  await pause(dice.below(1500))
  await work(rule)
  poured.stop()
  await poured.over
}

const steps: Readonly<Record<string, Step>> = {
  transfers: (world, dice) => transfer(world, dice),
  cut: (world, dice) => beside(world, dice, async () => world.proxy.cut()),
  'report without an answer': (world, dice) =>
    beside(world, dice, async () => {
      world.proxy.cutBeforeAnswer()
      await transfer(world, dice)
    }),
  stall: (world, dice) =>
    beside(world, dice, async () => {
      world.proxy.hold()
      await transfer(world, dice)
      await pause(dice.below(2000))
      world.proxy.go()
    }),
  'server killed': (world, dice) =>
    beside(world, dice, async () => {
      await world.killServer()
      await transfer(world, dice)
      await world.startServer()
    }),
  'server restored': (world, dice) =>
    beside(world, dice, async () => {
      const file = await world.backup()
      await transfer(world, dice)
      await world.killServer()
      await transfer(world, dice)
      await world.restore(file)
      await world.connected()
    }),
  'agent killed': (world, dice) =>
    beside(world, dice, async ({ edge }) => {
      await world.killAgent(edge)
      await world.startAgent(edge)
    }),
  'power cut': (world, dice) =>
    beside(world, dice, async ({ edge }) => {
      const copy = await world.copyState(edge)
      await transfer(world, dice)
      await pause(dice.below(6000))
      await world.killAgent(edge)
      world.putBack(edge, copy)
      await world.startAgent(edge)
    }),
  renamed: (world, dice) =>
    beside(world, dice, ({ edge }) => world.rename(edge, `edge-${dice.below(1_000_000)}`)),
  'enrolled again': (world, dice) => beside(world, dice, ({ edge }) => world.enrollAgain(edge)),
  'pushed again': async (world, dice) => {
    await transfer(world, dice)
    await world.pushAgain(any(dice, world.rules))
    await transfer(world, dice)
  }
}

t.test(`the books are what came, with seed ${seed}`, { timeout: 60_000 + rounds * 180_000 }, async t => {
  const dice = openDice(seed)
  const world = await openWorld(t, dice)
  const began = performance.now()
  const fromSecs = Math.floor(Date.now() / 60_000) * 60
  const boundary = new Date(Date.now() + aheadMs)
  // January has every day of a month.
  const anchor = new Date(boundary).setUTCFullYear(boundary.getUTCFullYear() - 1, 0)
  const pairs = world.users.flatMap(user => world.edges.map(({ clientId }) => ({ user, clientId })))
  const quota = ({ user, clientId }: (typeof pairs)[number]) => `/v1/users/${user}/quotas/${clientId}`
  for (const pair of pairs)
    await world.call('PUT', quota(pair), {
      monthly_bytes: 2 ** 50,
      billing_anchor: Math.floor(anchor / 1000)
    })
  const all = new Set(world.rules)

  for (let round = 0; round < rounds; round++) {
    for (const name of shuffled(Object.keys(steps), dice).slice(0, isBrief ? 3 : undefined)) {
      await steps[name]?.(world, dice)
      for (const rule of world.rules) all.add(rule)
      await world.connected()
      refuseSurplus(t, await read(world, [...all], fromSecs))
      t.comment(`${name}, after ${Math.round((performance.now() - began) / 1000)} s`)
    }
    await pause(Math.max(0, boundary.getTime() - Date.now()))
    await transfer(world, dice)
    await balance(t, world, [...all], fromSecs, `round ${round}`)
    await compareAll(t, world, [...all], fromSecs)
    for (const pair of pairs)
      comparePeriod(t, world, [...all], await world.call<QuotaRow>('GET', `${quota(pair)}/status`))
  }
  t.same(world.warnings(), [], 'nothing was refused')
})

async function compareAll(t: Test, world: World, all: readonly Rule[], fromSecs: number): Promise<void> {
  for (const { clientId } of world.edges) {
    const { samples } = await world.traffic(`/v1/clients/${clientId}`, fromSecs)
    compareMinutes(t, world, all, clientId, samples)
  }
}

function shuffled<T>(list: readonly T[], dice: Dice): T[] {
  const left = [...list]
  return list.map(() => left.splice(dice.below(left.length), 1)[0] as T) // as many as there are
}
