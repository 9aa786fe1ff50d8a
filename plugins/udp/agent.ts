import type { AgentPlugin } from '../../agent/plugin.ts'
import { capability, Settings, settingsPart } from './wire.ts'

export default {
  name: 'udp',
  agent: '^1.0.0',
  capabilities: { [capability.id]: capability.since },
  messages: [Settings],
  shapes: [{ shape: 'udp' }],
  connected(stream, { rules, codec }) {
    const bytes = stream.welcomePart(settingsPart)
    if (!bytes) return
    const { max_flows_per_rule: udpFlowCap, flow_idle_secs } = codec.decode(Settings, bytes)
    rules.configure({ udpFlowCap, udpIdleMs: flow_idle_secs * 1000 })
  }
} satisfies AgentPlugin
