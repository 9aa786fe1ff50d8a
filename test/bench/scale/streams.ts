// Rows about event streams. Each watcher gets the stats of a rule every 5 s.
import { setTimeout } from 'node:timers/promises'
import type { Bench } from './bench.ts'
import { cpuMsOf, startHelper } from './processes.ts'
import type { WatchersOrder } from './watchers.ts'

const spanMs = 10_000

export async function streams({ server: { origin, pid }, seeded, note }: Bench): Promise<void> {
  const helper = startHelper('watchers.ts')
  const order = (request: WatchersOrder) => helper.ask<{ readonly events: number }>(request)
  try {
    const idleMs = cpuMsOf(pid)
    await setTimeout(spanMs)
    const beforeMs = cpuMsOf(pid)
    const baseMs = cpuMsOf(pid) - idleMs
    await order({ do: 'open', origin, streams: seeded.eventStreams })
    note(
      'opening an event stream',
      'ms of CPU',
      'watchers',
      (cpuMsOf(pid) - beforeMs) / seeded.eventStreams.length
    )
    await order({ do: 'count' })
    const before = cpuMsOf(pid)
    const began = performance.now()
    await setTimeout(spanMs)
    const cores = (cpuMsOf(pid) - before - baseMs) / (performance.now() - began)
    const { events } = await order({ do: 'count' })
    note('event streams: additional load', 'cores', 'watchers', cores)
    note('event streams: events in 10 s', 'per watcher', 'watchers', events / seeded.eventStreams.length)
  } finally {
    await helper.end()
  }
}
