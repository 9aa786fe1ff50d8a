// Listed first in config/agent-plugins.ts, so that it also watches the start of the other plugins.
import type { AgentPlugin } from '../../agent/plugin.ts'
import { startWatchdog } from './watchdog.ts'

export default {
  name: 'watchdog',
  agent: '^1.0.0',
  async start({ call: { log }, defer }) {
    startWatchdog({ watched: 'agent', patienceMs: 5000, log, defer })
  }
} satisfies AgentPlugin
