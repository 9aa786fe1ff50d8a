// Heavy work leaves no resources behind in an agent; test/bench/growth.ts does more of it.
import t from 'tap'
import { jobs, readResourceUsage } from './resource-usage.ts'
import { engines, openWorld } from './world.ts'

const work = { sequential: 500, concurrent: 200, rounds: 30, flows: 2_000, concurrentFlows: 1_000 }
const config = 'udp_flow_idle_secs = 1\nudp_max_flows_per_rule = 1000\n'

t.jobs = engines.length

for (const engine of engines)
  t.test(
    `the ${engine} agent uses no more resources after heavy work`,
    { timeout: 240_000, buffered: true },
    async t => {
      const world = await openWorld(t, engine, config)
      for (const { name, run } of await jobs(t, world, work)) {
        const before = await readResourceUsage(world)
        await run()
        const after = await readResourceUsage(world)
        t.ok(
          after.descriptors <= before.descriptors + 1,
          `${name}: descriptors, without the one of the metrics request`
        )
        t.equal(after.timers, before.timers, `${name}: timers`)
        t.equal(after.meters, before.meters, `${name}: meters`)
      }
    }
  )
