import type { AgentPlugin } from '../../agent/plugin.ts'
import { capability } from './wire.ts'

export default {
  name: 'port-range',
  agent: '^1.0.0',
  capabilities: { [capability.id]: capability.since },
  shapes: [{ shape: 'range' }]
} satisfies AgentPlugin
