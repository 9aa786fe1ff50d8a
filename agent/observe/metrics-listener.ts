// The agent's own /metrics: what its engine has counted since the start, and whether the control stream is up.
import { openListener, openScrape } from '../../plugins/metrics/wire.ts'
import type { Counters } from '../engine.ts'
import type { AgentCall, AgentPlugin } from '../plugin.ts'
import { metricsOf, sumCounters } from './metrics.ts'

/** As a plugin of the agent sees it: nothing of the agent knows that it is watched. */
export function metricsPlugin(listen: string): AgentPlugin {
  // A rule that is opened anew is a new one to the engine: what the old one counted stays in the sums.
  const ended = new Map<string, Counters[]>()
  let streams = 0

  function tell({ rules, takeSample }: Pick<AgentCall, 'rules' | 'takeSample'>) {
    const sample = takeSample()
    const live = Map.groupBy(sample.rules, ({ ruleId }) => rules.find(ruleId)?.id ?? '')
    live.delete('')
    for (const rule of ended.keys()) if (!live.has(rule)) ended.delete(rule) // its series go with it
    const all = [...live].map(([rule, counters]) =>
      sumCounters(rule, [...(ended.get(rule) ?? []), ...counters])
    )
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
      const metrics = () => [{ by: 'agent', value: async () => tell(call) }]
      const { port, close } = await openListener({ listen, scrape: openScrape({ metrics, log }), log })
      defer(close)
      log.info('metrics.listening', `/metrics is served on port ${port}`, { port })
    }
  }
}
