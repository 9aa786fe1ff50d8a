// The half on the edge. The engine judges every caller's address at accept, and every flow's at its first datagram;
// a change reaches those who are there already.
import { type AgentPlugin, defineField, type Match } from 'sluice/agent-plugin'
import { capability, key, Lists } from './wire.ts'

const matches = (list: readonly string[]): Match[] => list.map(cidr => ({ cidr }))

export default {
  name: 'source-acl',
  agent: '^1.0.0',
  capabilities: { [capability.id]: capability.since },
  messages: [Lists],
  fields: [
    defineField({
      key,
      message: Lists,
      plan({ allow, deny }, draft) {
        draft.source = {
          allow: allow.length > 0 ? matches(allow) : null,
          deny: matches(deny),
          refusal: 'source_denied'
        }
      }
    })
  ]
} satisfies AgentPlugin
