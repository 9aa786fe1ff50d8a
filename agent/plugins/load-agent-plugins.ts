import { dirname, resolve } from 'node:path'
import { agentPlugins, importExternal } from '../../config/agent-plugins.ts'
import { type LoadedPlugins, loadPlugins } from '../../kernel/platform/plugins/load-plugins.ts'
import type { AgentConfig } from '../config.ts'
import type { AgentPlugin } from '../plugin.ts'
import { checkPlugins } from './check-plugins.ts'

/** Loads the agent halves of a configuration and checks them together. Throws Fault. */
export async function loadAgentPlugins(
  { plugins: table, placeOf }: Pick<AgentConfig, 'plugins' | 'placeOf'>,
  file: string | null
): Promise<LoadedPlugins<AgentPlugin>> {
  const loaded = await loadPlugins<AgentPlugin>({
    half: 'agent',
    builtin: agentPlugins,
    table,
    baseDir: file === null ? process.cwd() : dirname(resolve(file)),
    importExternal,
    placeOf
  })
  checkPlugins(loaded.plugins)
  return loaded
}
