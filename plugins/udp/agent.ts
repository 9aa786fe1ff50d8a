import type { AgentPlugin } from '../../agent/plugin.ts'
import { capability, Settings, settingsPart } from './wire.ts'

export default {
  name: 'udp',
  agent: '^1.0.0',
  capabilities: { [capability.id]: capability.since },
  messages: [Settings],
  shapes: [{ shape: 'udp' }],
  explain({ path: { spec, plan }, counters }) {
    const flows = counters?.ports.reduce((sum, { active }) => sum + active, 0) ?? 0
    if (plan.protocol !== 'udp' || flows < plan.flowCap) return []
    const text = `${flows} of ${plan.flowCap} allowed flows are open: datagrams of new callers are dropped (udp_max_flows_per_rule)`
    return [{ kind: 'rule', id: spec.id, verdict: 'stop', reason: 'flows_dropped_overflow', text }]
  },
  connected(stream, { rules, codec }) {
    const bytes = stream.welcomePart(settingsPart)
    if (!bytes) return
    const { max_flows_per_rule: udpFlowCap, flow_idle_secs } = codec.decode(Settings, bytes)
    rules.configure({ udpFlowCap, udpIdleMs: flow_idle_secs * 1000 })
  }
} satisfies AgentPlugin
