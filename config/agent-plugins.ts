// The agent's halves of the features that come with sluice.
import type { AgentPlugin } from '../agent/plugin.ts'
import type { Builtin } from './load.ts'

export const agentPlugins: Builtin<AgentPlugin> = {
  grants: () => import('../plugins/grants/agent.ts'),
  rules: () => import('../plugins/rules/agent.ts'),
  stats: () => import('../plugins/stats/agent.ts')
}
