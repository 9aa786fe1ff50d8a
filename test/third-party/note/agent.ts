import { type AgentPlugin, defineField } from '../../../agent/plugin.ts'
import { capability, Idle, key } from './wire.ts'

export default {
  name: 'note',
  agent: '^1.0.0',
  capabilities: { [capability.id]: capability.since },
  messages: [Idle],
  fields: [
    defineField({
      key,
      message: Idle,
      plan({ secs }, draft) {
        draft.idleMs = secs * 1000
      }
    })
  ]
} satisfies AgentPlugin
