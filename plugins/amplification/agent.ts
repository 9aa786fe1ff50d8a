// The agent half: the engine caps the replies of each flow. A change counts for flows that begin later.
import { type AgentPlugin, defineField } from '../../agent/plugin.ts'
import { Cap, capability, key, refusal } from './wire.ts'

export default {
  name: 'amplification',
  agent: '^1.5.0',
  capabilities: { [capability.id]: capability.since },
  messages: [Cap],
  fields: [
    defineField({
      key,
      message: Cap,
      plan({ ratio, proven_after: provenAfter }, draft) {
        draft.replyCap = { ratio, provenAfter, refusal }
      }
    })
  ]
} satisfies AgentPlugin
