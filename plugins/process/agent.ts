// Comes first in config/agent-plugins.ts, so that it also watches the start of the other plugins.
import { Type } from 'typebox'
import type { AgentPlugin } from '../../agent/plugin.ts'
import { superviseProcess } from './process.ts'

const config = Type.Object({
  return_memory: Type.Boolean({
    default: true,
    description: 'Return unused memory to the system while idle.'
  })
})

export default {
  name: 'process',
  agent: '^1.0.0',
  config,
  async start({ call: { config, log }, defer }) {
    const { return_memory: returnsMemory } = config as { readonly return_memory: boolean } // validated
    superviseProcess({ watched: 'agent', patienceMs: 5000, returnsMemory, log, defer })
  }
} satisfies AgentPlugin
