// The agent half: the engine chooses the target by the weights of the server half.
import { type AgentPlugin, defineField } from 'sluice/agent-plugin'
import { field } from './field.ts'

export default {
  name: 'least-connections',
  agent: '^1.5.0',
  fields: [
    defineField({
      ...field,
      plan({ tiers, weights }, draft) {
        draft.balance = { by: 'least_connections', tiers, weights }
      }
    })
  ]
} satisfies AgentPlugin
