// Every kind of rule under every limit, with real traffic through a real server and agent.
import { setTimeout as after } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { EngineName } from '../../agent/engine/select-engine.ts'
import { type Cell, openCell } from './cell.ts'
import { limits } from './limits.ts'
import { type RuleKind, restoredKinds, ruleKinds } from './rule-kinds.ts'
import { engines, openWorld } from './world.ts'

const concurrency = 12 // cells at the same time
const timeoutMs = 30_000
/** Returns new test options, since tap writes into the object. */
const parallel = () => ({ timeout: 240_000, buffered: true })

t.jobs = 2 * engines.length

for (const engine of engines) {
  t.test(
    `each kind of rule enforces each limit and counts exactly on the ${engine} engine`,
    parallel(),
    async t => {
      const { world, cells } = await openCells(t, engine, ruleKinds)
      await forEachConcurrently(cells, cell => runCell(t, cell))
      await world.waitForReports()
      for (const cell of cells) await t.test(cell.name, cell.check)
    }
  )

  t.test(
    `rules that a restarted ${engine} agent restores without its server enforce each limit and count exactly`,
    parallel(),
    async t => {
      const { world, cells } = await openCells(t, engine, restoredKinds)
      // Without the server the agent resumes at its last saved time. A report saves a time after rules and quotas.
      await world.waitForReports()
      await world.restartAgentAlone(cells.flatMap(({ ruleIds }) => ruleIds))
      await forEachConcurrently(cells, cell => runCell(t, cell))
      await world.restartServer()
      await world.waitForReports()
      for (const cell of cells) await t.test(cell.name, cell.check)
    }
  )
}

async function openCells(t: Test, engine: EngineName, kinds: readonly RuleKind[]) {
  const world = await openWorld(t, engine)
  await world.agentLogged('engine.selected', ({ engine: selected }) => selected === engine)
  await world.call('POST', '/v1/users', { user_id: 'neighbour', display_name: 'neighbour' })
  const pairs = kinds.flatMap(kind => limits.map(limit => ({ kind, limit })))
  const cells: Cell[] = []
  await forEachConcurrently(
    pairs.map((pair, i) => ({ ...pair, owner: `owner-${i}` })),
    async spec => void cells.push(await openCell(t, world, spec))
  )
  return { world, cells }
}

/** Runs a cell. Reports an error or a timeout with the cell's name. */
async function runCell(t: Test, { name, run }: Cell): Promise<void> {
  const late = after(timeoutMs, 'late', { ref: false }).then(() => Promise.reject(new Error('timed out')))
  await Promise.race([run(), late]).catch(error => void t.fail(`${name}: ${error.message}`))
}

/** Runs `task` for each element in order, `concurrency` at a time. */
async function forEachConcurrently<T>(list: readonly T[], task: (one: T) => Promise<void>): Promise<void> {
  const left = [...list]
  const work = async () => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) await task(one)
  }
  await Promise.all(Array.from({ length: concurrency }, work))
}
