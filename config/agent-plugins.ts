// The agent halves of the built-in plugins.
import type { AgentPlugin } from '../agent/plugin.ts'
import type { Builtin } from '../kernel/platform/plugins/load-plugins.ts'

export { importExternal } from '../plugins/extensions/trust/import-external.ts'

export const agentPlugins: Builtin<AgentPlugin> = {
  process: () => import('../plugins/process/agent.ts'), // first, so that it also watches the start of later plugins
  'access-log': () => import('../plugins/access-log/agent.ts'),
  grants: () => import('../plugins/grants/agent.ts'),
  quota: () => import('../plugins/quota/agent.ts'),
  'rate-limit': () => import('../plugins/rate-limit/agent.ts'),
  connections: () => import('../plugins/connections/agent.ts'),
  explain: () => import('../plugins/explain/agent.ts'),
  'host-health': () => import('../plugins/host-health/agent.ts'),
  journal: () => import('../plugins/journal/agent.ts'),
  links: () => import('../plugins/links/agent.ts'),
  amplification: () => import('../plugins/amplification/agent.ts'),
  balance: () => import('../plugins/balance/agent.ts'),
  bans: () => import('../plugins/bans/agent.ts'),
  'source-filter': () => import('../plugins/source-filter/agent.ts'),
  'source-limit': () => import('../plugins/source-limit/agent.ts'),
  'multi-target': () => import('../plugins/multi-target/agent.ts'),
  'port-range': () => import('../plugins/port-range/agent.ts'),
  'proxy-protocol': () => import('../plugins/proxy-protocol/agent.ts'),
  rules: () => import('../plugins/rules/agent.ts'),
  schedule: () => import('../plugins/schedule/agent.ts'),
  sni: () => import('../plugins/sni/agent.ts'),
  stats: () => import('../plugins/stats/agent.ts'),
  udp: () => import('../plugins/udp/agent.ts'),
  service: () => import('../plugins/service/agent.ts'),
  'under-attack': () => import('../plugins/under-attack/agent.ts')
}

/** Loads the plugin that serves /metrics. The key `metrics_listen` enables it instead of a section. */
export const loadMetricsPlugin = () => import('../plugins/metrics/agent.ts')
