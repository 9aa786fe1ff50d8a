import type { BuiltinPlugins } from '../kernel/platform/plugins/builtin-plugins.ts'
import { agentPlugins } from './agent-plugins.ts'
import { plugins } from './plugins.ts'

export const builtinPlugins: BuiltinPlugins = { server: plugins, agent: agentPlugins }
