// Every kind of rule under every limit, with real traffic through a real server and a real agent.
import { setTimeout as after } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { EngineName } from '../../agent/engine-selection.ts'
import { type Cell, openCell } from './cell.ts'
import { type Kind, kinds, reopened } from './kinds.ts'
import { limits } from './limits.ts'
import { engines, openWorld } from './world.ts'

const playing = 12 // at once
const latestMs = 30_000
/** A new object for each test: tap writes into it. */
const parallel = () => ({ timeout: 240_000, buffered: true })

t.jobs = 2 * engines.length

for (const engine of engines) {
  t.test(
    `each kind of rule keeps each limit, and its books, on the ${engine} engine`,
    parallel(),
    async t => {
      const { world, cells } = await openCells(t, engine, kinds)
      await inTurns(cells, cell => played(t, cell))
      await world.settle()
      for (const cell of cells) await t.test(cell.name, cell.check)
    }
  )

  t.test(
    `so does what a killed ${engine} agent opens again while its server is away`,
    parallel(),
    async t => {
      const { world, cells } = await openCells(t, engine, reopened)
      await world.goAway(cells.flatMap(({ ruleIds }) => ruleIds))
      await inTurns(cells, cell => played(t, cell))
      await world.comeBack()
      await world.settle()
      for (const cell of cells) await t.test(cell.name, cell.check)
    }
  )
}

async function openCells(t: Test, engine: EngineName, kinds: readonly Kind[]) {
  const world = await openWorld(t, engine)
  await world.agentSays('engine.selected', ({ engine: selected }) => selected === engine)
  await world.call('POST', '/v1/users', { user_id: 'neighbour', display_name: 'neighbour' })
  const pairs = kinds.flatMap(kind => limits.map(limit => ({ kind, limit })))
  const cells: Cell[] = []
  await inTurns(
    pairs.map((pair, i) => ({ ...pair, owner: `owner-${i}` })),
    async of => void cells.push(await openCell(t, world, of))
  )
  return { world, cells }
}

/** One that hangs is told by its name. */
async function played(t: Test, { name, play }: Cell): Promise<void> {
  const late = after(latestMs, 'late', { ref: false }).then(() => Promise.reject(new Error('it hangs')))
  await Promise.race([play(), late]).catch(error => void t.fail(`${name}: ${error.message}`))
}

/** A few at a time, in the order of the list. */
async function inTurns<T>(list: readonly T[], task: (one: T) => Promise<void>): Promise<void> {
  const left = [...list]
  const work = async () => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) await task(one)
  }
  await Promise.all(Array.from({ length: playing }, work))
}
