import { type AgentPlugin, defineField, type FieldRule } from '../../agent/plugin.ts'
import { capability, grantLost, key, type Match, Targets } from './wire.ts'

type TargetsRule = FieldRule<typeof Targets.body>

function decide({ value, open, close }: Pick<TargetsRule, 'value' | 'open' | 'close'>): void {
  if (value.lost) close({ mode: 'cut', reason: grantLost, drainMs: 0, closesPort: true })
  else open()
}

export default {
  name: 'grants',
  agent: '^1.0.0',
  capabilities: { [capability.id]: capability.since },
  messages: [Targets],
  fields: [
    defineField({
      key,
      message: Targets,
      opened: decide,
      changed: decide,
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
