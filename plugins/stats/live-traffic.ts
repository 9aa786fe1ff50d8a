// The live connections and flows of a rule, for the plans of `apply`.
import type { Api } from '../../kernel/cli/command.ts'

export async function liveTrafficOf(ruleId: string, api: Api): Promise<number> {
  const stats = await api.get<{ active_connections: number; active_flows: number }>(
    `/v1/rules/${ruleId}/stats`
  )
  return stats.active_connections + stats.active_flows
}
