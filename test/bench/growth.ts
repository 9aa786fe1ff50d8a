// Prints the resource usage of an agent after each kind of heavy work. Two processes need 20,000 descriptors each.
//   node test/bench/growth.ts [portable|native]
import t from 'tap'
import { jobs, type ResourceUsage, readResourceUsage } from '../matrix/resource-usage.ts'
import { openWorld } from '../matrix/world.ts'

const work = { sequential: 10_000, concurrent: 2_000, rounds: 1_000, flows: 100_000, concurrentFlows: 15_000 }
const config = 'udp_flow_idle_secs = 20\nudp_max_flows_per_rule = 15000\n'
const repeats = 2 // the first one warms up

const line = ({ descriptors, timers, meters, residentMiB, heapMiB }: ResourceUsage): string =>
  `${descriptors} descriptors, ${timers} timers, ${meters} meters, ${residentMiB} MiB resident, ${heapMiB} MiB heap`

t.setTimeout(3_600_000)
t.test('growth', { timeout: 3_600_000 }, async t => {
  const world = await openWorld(t, process.argv[2] === 'native' ? 'native' : 'portable', config)
  console.error(`begin: ${line(await readResourceUsage(world))}`)
  const all = await jobs(t, world, work)
  for (let time = 1; time <= repeats; time++)
    for (const { name, run } of all) {
      const startedAt = performance.now()
      await run()
      const secs = Math.round((performance.now() - startedAt) / 1000)
      console.error(`${name} (${secs} s): ${line(await readResourceUsage(world))}`)
    }
})
