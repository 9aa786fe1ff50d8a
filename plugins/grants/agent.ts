import { type AgentPlugin, defineField } from '../../agent/plugin.ts'
import { capability, key, type Match, Targets } from './wire.ts'

export default {
  name: 'grants',
  agent: '^1.0.0',
  capabilities: { [capability.id]: capability.since },
  messages: [Targets],
  fields: [
    defineField({
      key,
      message: Targets,
      plan({ allow }, draft) {
        draft.target = [...draft.target, { allow: allow.map(matchOf), deny: [], refusal: 'target_denied' }]
      }
    })
  ]
} satisfies AgentPlugin

const matchOf = ({ port_from: from, port_to: to, ...address }: Match) => ({
  ...address,
  ...(from !== undefined && to !== undefined && { ports: [from, to] as const })
})
