// What an agent does leaves nothing behind; test/bench/growth.ts does more of it.
import t from 'tap'
import { heldBy, jobs } from './growing.ts'
import { engines, openWorld } from './world.ts'

const work = { inTurn: 500, atOnce: 200, rounds: 30, flows: 2_000, flowsAtOnce: 1_000 }
const config = 'udp_flow_idle_secs = 1\nudp_max_flows_per_rule = 1000\n'

t.jobs = engines.length

for (const engine of engines)
  t.test(
    `the ${engine} agent holds after much work what it held before`,
    { timeout: 240_000, buffered: true },
    async t => {
      const world = await openWorld(t, engine, config)
      for (const { name, run } of await jobs(t, world, work)) {
        const before = await heldBy(world)
        await run()
        const after = await heldBy(world)
        t.ok(after.descriptors <= before.descriptors + 1, `${name}: descriptors, but for the one that asks`)
        t.equal(after.timers, before.timers, `${name}: timers`)
        t.equal(after.meters, before.meters, `${name}: meters`)
      }
    }
  )
