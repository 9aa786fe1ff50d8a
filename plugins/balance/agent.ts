// The agent half: the engine chooses the target.
import { type AgentPlugin, defineField } from '../../agent/plugin.ts'
import { capability, key, Spread } from './wire.ts'

export default {
  name: 'balance',
  agent: '^1.1.0',
  capabilities: { [capability.id]: capability.since },
  messages: [Spread],
  fields: [
    defineField({
      key,
      message: Spread,
      plan(spread, draft) {
        draft.balance = spread
      }
    })
  ]
} satisfies AgentPlugin
