// The agent half. The engine checks the caller's address at accept, after the TLS name on a shared port, or at the first
// datagram of a flow. A change also ends connections that are no longer allowed.
import { type AgentPlugin, defineField, type Match } from 'sluice/agent-plugin'
import { field } from './field.ts'

const matches = (list: readonly string[]): Match[] => list.map(cidr => ({ cidr }))

export default {
  name: 'source-acl',
  agent: '^1.5.0',
  fields: [
    defineField({
      ...field,
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
