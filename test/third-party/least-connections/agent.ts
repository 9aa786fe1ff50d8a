// The agent half: the engine chooses the target, by what the server half sends.
import { type AgentPlugin, defineField } from 'sluice/agent-plugin'
import { capability, key, Spread } from './wire.ts'

export default {
  name: 'least-connections',
  agent: '^1.1.0',
  capabilities: { [capability.id]: capability.since },
  messages: [Spread],
  fields: [
    defineField({
      key,
      message: Spread,
      plan({ tiers, weights }, draft) {
        draft.balance = { by: 'least_connections', tiers, weights }
      }
    })
  ]
} satisfies AgentPlugin
