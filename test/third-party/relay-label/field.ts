// The property `relay` of targets, and the notice that the relay gets, for server and agent.
import { type DeclaredObject, type DeclaredTargetField, Type } from 'sluice/agent-plugin'

const Label = Type.String({ maxLength: 32, pattern: '^[A-Za-z0-9-]+$', description: 'Label of the path.' })

export const field = {
  key: 'relay',
  capability: { id: 'rule.relay-label', since: '1.0.0' },
  body: Type.Object(
    { client_id: Type.String({ maxLength: 26, description: 'The relay: another client.' }), label: Label },
    {
      description: 'The path to this target.',
      examples: [{ client_id: '01KCD3F0P7Q4Y6Z8V1T5S9R2NB', label: 'blue' }]
    }
  ),
  sent: Label
} satisfies DeclaredTargetField

export const notice = {
  kind: 'relay_notice',
  capability: field.capability,
  body: Type.Object({
    owner: Type.String({ maxLength: 32 }),
    labels: Type.Array(Label, { maxItems: 8 }) // one for each target
  })
} satisfies DeclaredObject
