// Lists all metrics of server and agents, as the program exports them.
import { rmSync } from 'node:fs'

import { peekBoundsMs } from '../../../agent/engine/engine.ts'
import type { Metric } from '../../../kernel/metrics.ts'
import { scratchFor } from '../../../kit/scratch.ts'
import { testServer } from '../../../kit/test-server.ts'
import { agentMetrics as metricsOfAgent } from '../../../plugins/metrics/agent/families.ts'

type Described = Pick<Metric, 'name' | 'type' | 'labels' | 'help'>

/** Scrapes a server without clients and rules: metrics without samples have a description, too. */
export async function serverMetrics(): Promise<readonly Described[]> {
  const dir = scratchFor(import.meta.dirname, '.site-')
  const ends = [() => rmSync(dir, { recursive: true })]
  const teardown = (end: () => void): void => void ends.unshift(end)
  const { server } = await testServer({ teardown, testdir: () => dir })
  try {
    const { metrics } = server.depsOf('metrics')
    const found = await Promise.all(metrics().map(({ value: collect }) => collect()))
    return byName(found.flat())
  } finally {
    for (const end of ends) await end()
  }
}

/** Describes the metrics of an agent without rules. */
export const agentMetrics = async (): Promise<readonly Described[]> => {
  const counts = [...peekBoundsMs, 0].map(() => 0)
  const sample = { rules: [], meters: [], eventsDropped: 0, peekDurations: { counts, sumMs: 0 } }
  return byName(metricsOfAgent({ engine: 'native', open: 0, isConnected: false }, [], sample))
}

const byName = (metrics: readonly Metric[]): readonly Described[] =>
  [...new Map(metrics.map(metric => [metric.name, metric])).values()].toSorted((a, b) =>
    a.name < b.name ? -1 : 1
  )
