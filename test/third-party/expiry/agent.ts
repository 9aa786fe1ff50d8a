// The agent half: closes the rule at its end time, with or without the server.
import { type AgentCall, type AgentPlugin, defineField, type FieldRule } from 'sluice/agent-plugin'
import { type Expires, field } from './field.ts'

function decide({ value, at, open, close }: FieldRule<Expires>, { time }: AgentCall): void {
  const end = (): void => close({ mode: 'cut', reason: 'expired' })
  if (time.now() < value.at_ms) {
    open()
    at(value.at_ms, end)
  } else end()
}

export default {
  name: 'expiry',
  agent: '^1.5.0',
  fields: [defineField({ ...field, opened: decide, changed: decide })]
} satisfies AgentPlugin
