// The agent half: the rule ends at its time on the edge, too, with or without the server.
import { type AgentCall, type AgentPlugin, defineField, type FieldRule } from 'sluice/agent-plugin'
import { capability, Expires, key } from './wire.ts'

function decide({ value, at, open, close }: FieldRule<typeof Expires.body>, { time }: AgentCall): void {
  const end = (): void => close({ mode: 'cut', reason: 'expired' })
  if (time.now() < value.at_ms) {
    open()
    at(value.at_ms, end)
  } else end()
}

export default {
  name: 'expiry',
  agent: '^1.1.0',
  capabilities: { [capability.id]: capability.since },
  messages: [Expires],
  fields: [defineField({ key, message: Expires, opened: decide, changed: decide })]
} satisfies AgentPlugin
