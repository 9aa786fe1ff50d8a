// The agent half. The engine checks the caller's address of a connection at accept (on a port shared by TLS name: when
// the name is known), and of a flow at its first datagram. A change also ends connections that are no longer allowed.
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
