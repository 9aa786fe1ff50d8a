// The rule field `weekly_hours`, for server and agent.
import { type DeclaredField, type Static, Type } from 'sluice/agent-plugin'

const Time = Type.String({ pattern: '^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$', maxLength: 5 })
const Day = Type.Enum(['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'])
const Window = Type.Object(
  { days: Type.Array(Day, { minItems: 1, maxItems: 7 }), from: Time, to: Time },
  {
    additionalProperties: false,
    description: 'Local times, "08:00" to "24:00"; hours across midnight need two windows.'
  }
)

const Schedule = Type.Object(
  {
    time_zone: Type.String({ maxLength: 64, description: 'IANA name: "Europe/Paris".' }),
    windows: Type.Array(Window, { minItems: 1, maxItems: 32 })
  },
  {
    description: 'Weekly hours of the rule.',
    examples: [{ time_zone: 'UTC', windows: [{ days: ['mon', 'fri'], from: '08:00', to: '18:00' }] }]
  }
)
export type Schedule = Static<typeof Schedule>

export const field = {
  key: 'weekly_hours',
  capability: { id: 'rule.weekly-hours', since: '1.0.0' },
  body: Schedule
} satisfies DeclaredField
