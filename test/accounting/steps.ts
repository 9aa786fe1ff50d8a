// Failures and changes that the accounting must survive, most of them during traffic.
import type { SeededRandom } from '../bench/soak/seeded-random.ts'
import { randomElement } from './random-choice.ts'
import { pause, type Rule, type World } from './world.ts'

export type Step = (world: World, dice: SeededRandom) => Promise<unknown>

/** Makes some concurrent transfers. All bytes arrive. */
export async function transfer({ rules }: World, dice: SeededRandom): Promise<void> {
  const some = Array.from({ length: 1 + dice.below(6) }, () => randomElement(rules, dice))
  await Promise.all(
    some.map(({ route, port }) =>
      route.transfer(port, { in: dice.size(20), out: dice.size(20) }, dice.oneIn(3) ? 'reset' : 'close')
    )
  )
}

/** Runs `work` while bytes flow in both directions through one or two rules of one agent. */
async function duringTraffic(
  world: World,
  dice: SeededRandom,
  work: (rule: Rule) => Promise<unknown>
): Promise<void> {
  const rule = randomElement(world.rules, dice)
  const other = randomElement(
    world.rules.filter(({ edge }) => edge === rule.edge),
    dice
  )
  const traffic = await Promise.all([rule, other].map(({ route, port }) => route.startTraffic(port)))
  await pause(dice.below(1500))
  await work(rule)
  for (const { stop } of traffic) stop()
  await Promise.all(traffic.map(({ ended }) => ended))
}

export const steps: Readonly<Record<string, Step>> = {
  transfers: transfer,
  cut: (world, dice) => duringTraffic(world, dice, async () => world.proxy.cut()),
  'response to a report lost': (world, dice) =>
    duringTraffic(world, dice, async () => {
      world.proxy.cutBeforeResponse()
      await transfer(world, dice)
    }),
  'report delayed': (world, dice) =>
    duringTraffic(world, dice, async () => {
      world.proxy.delayReport()
      await transfer(world, dice)
      await pause(dice.below(6000))
    }),
  stall: (world, dice) =>
    duringTraffic(world, dice, async () => {
      world.proxy.pause()
      await transfer(world, dice)
      await pause(dice.below(2000))
      world.proxy.resume()
    }),
  'server killed': (world, dice) =>
    duringTraffic(world, dice, async () => {
      await world.killServer()
      await transfer(world, dice)
      await world.startServer()
    }),
  'server restored': (world, dice) =>
    duringTraffic(world, dice, async () => {
      const file = await world.backup()
      await transfer(world, dice)
      await pause(dice.below(6000))
      await world.killServer()
      await transfer(world, dice)
      await world.restore(file)
      await world.connected()
    }),
  'agent killed': (world, dice) =>
    duringTraffic(world, dice, async ({ edge }) => {
      await world.killAgent(edge)
      await world.startAgent(edge)
    }),
  'both killed': (world, dice) =>
    duringTraffic(world, dice, async ({ edge }) => {
      await Promise.all([world.killServer(), world.killAgent(edge)])
      await Promise.all([world.startServer(), world.startAgent(edge)])
    }),
  'power cut': (world, dice) =>
    duringTraffic(world, dice, async ({ edge }) => {
      const copy = await world.copyAsAfterPowerCut(edge, frames => dice.below(frames + 1))
      await transfer(world, dice)
      await pause(dice.below(6000))
      await world.killAgent(edge)
      world.swapState(edge, copy)
      await world.startAgent(edge)
    }),
  'agent stopped': async (world, dice) => {
    const { edge } = randomElement(world.rules, dice)
    await transfer(world, dice)
    await world.stopAgent(edge)
    await world.startAgent(edge)
  },
  'agent stopped twice': (world, dice) =>
    duringTraffic(world, dice, async ({ edge }) => {
      edge.agent.signal('SIGTERM')
      await edge.agent.until('agent.stopping')
      await pause(dice.below(1500))
      await world.stopAgent(edge)
      await world.startAgent(edge)
    }),
  'copies of one state': async (world, dice) => {
    const { edge } = randomElement(world.rules, dice)
    await world.stopAgent(edge)
    const copy = world.copyState(edge)
    for (let round = 0; round < 3; round++) {
      await world.startAgent(edge)
      await transfer(world, dice)
      await world.stopAgent(edge)
      world.swapState(edge, copy)
    }
    await world.startAgent(edge)
  },
  renamed: (world, dice) =>
    duringTraffic(world, dice, ({ edge }) => world.rename(edge, `edge-${dice.below(1_000_000)}`)),
  'enrolled again': (world, dice) => duringTraffic(world, dice, ({ edge }) => world.enrollAgain(edge)),
  'created again': async (world, dice) => {
    await transfer(world, dice)
    await world.createAgain(randomElement(world.rules, dice))
    await transfer(world, dice)
  }
}
