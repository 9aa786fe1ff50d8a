// The half on the edge, where a plugin that holds the agent up cannot be asked any more, and no start may be silent.
import type { AgentPlugin } from '../../agent/plugin.ts'
import { keepWatch } from './wire.ts'

export default {
  name: 'watchdog',
  agent: '^1.0.0',
  async start({ call: { log }, defer }) {
    keepWatch({ whom: 'agent', patienceMs: 5000, log, defer })
  }
} satisfies AgentPlugin
