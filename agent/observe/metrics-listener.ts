// The agent's /metrics: counters of the engine since the start, and whether the control stream is up.
import { openListener, openScrape } from '../../plugins/metrics/wire.ts'
import type { Counters } from '../engine.ts'
import type { AgentCall, AgentPlugin } from '../plugin.ts'
import { metricsOf, type RuleCounters } from './metrics.ts'

/** An internal plugin, so that no other part of the agent depends on metrics. */
export function metricsPlugin(listen: string): AgentPlugin {
  // The engine counts anew when a rule is reopened; the sums include the counters of its earlier runs.
  const ended = new Map<string, Counters[]>()
  let streams = 0

  function collect({ rules, takeSample }: Pick<AgentCall, 'rules' | 'takeSample'>) {
    const sample = takeSample()
    const live = Map.groupBy(sample.rules, ({ ruleId }) => rules.find(ruleId)?.id ?? '')
    live.delete('')
    for (const rule of ended.keys()) if (!live.has(rule)) ended.delete(rule) // a removed rule has no series
    const all = [...live].map(([rule, runs]): RuleCounters => [rule, [...(ended.get(rule) ?? []), ...runs]])
    return metricsOf({ rules: all, sample, isConnected: streams > 0 })
  }

  return {
    name: 'metrics',
    agent: '^1.0.0',
    event(event, { rules }) {
      if (event.kind !== 'closed') return
      const rule = rules.find(event.counters.ruleId)?.id
      if (rule !== undefined) ended.set(rule, [...(ended.get(rule) ?? []), event.counters])
    },
    connected({ signal }) {
      streams++
      signal.addEventListener('abort', () => streams--, { once: true })
    },
    async start({ call, defer }) {
      const { log } = call
      const metrics = () => [{ by: 'agent', value: async () => collect(call) }]
      const { port, close } = await openListener({ listen, scrape: openScrape({ metrics, log }), log })
      defer(close)
      log.info('metrics.listening', `/metrics is served on port ${port}`, { port })
    }
  }
}
