// Metrics of the agent: targets by their health, and probes of rules without traffic.
import type { AgentCall, Metric } from '../../agent/plugin.ts'
import { healthOf } from './health-reporter.ts'
import type { IdleProbes, Runs } from './idle-probes.ts'

export function metricsOf(runs: Runs, call: AgentCall, probes: IdleProbes): Metric[] {
  const states = [...healthOf(runs, call, probes).values()].flatMap(({ targets }) => targets)
  const { reached, failed, waiting } = probes.counts()
  return [
    {
      name: 'targets',
      type: 'gauge',
      help: 'Targets of rules, by health.',
      labels: ['state'],
      samples: (['healthy', 'failed', 'unknown'] as const).map(state => ({
        labelValues: [state],
        value: states.filter(target => target.state === state).length
      }))
    },
    {
      name: 'idle_probes_total',
      type: 'counter',
      help: 'Probes of rules without traffic, by result.',
      labels: ['result'],
      samples: Object.entries({ reached, failed }).map(([result, value]) => ({
        labelValues: [result],
        value
      }))
    },
    {
      name: 'idle_probes_waiting',
      type: 'gauge',
      help: 'Probes of rules without traffic that wait for their turn.',
      labels: [],
      samples: [{ labelValues: [], value: waiting }]
    }
  ]
}
