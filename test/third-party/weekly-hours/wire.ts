// Shared by both halves: the key, the capability, and the value, which agents receive as requests have it.
import { type Capability, defineMessage, type Static, Type } from 'sluice/agent-plugin'

export const key = 'weekly_hours'
export const capability: Capability = { id: 'rule.weekly-hours', since: '1.0.0' }

const Time = Type.String({ pattern: '^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$', maxLength: 5 })
const Day = Type.Enum(['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'])
const strict = { additionalProperties: false }
const Window = Type.Object(
  { days: Type.Array(Day, { minItems: 1, maxItems: 7 }), from: Time, to: Time },
  { ...strict, description: 'Local times, "08:00" to "24:00"; hours past midnight are two windows.' }
)

export const Schedule = Type.Object(
  {
    time_zone: Type.String({ maxLength: 64, description: 'IANA name: "Europe/Paris".' }),
    windows: Type.Array(Window, { minItems: 1, maxItems: 32 })
  },
  {
    ...strict,
    description: 'Weekly hours of the rule.',
    examples: [{ time_zone: 'UTC', windows: [{ days: ['mon', 'fri'], from: '08:00', to: '18:00' }] }]
  }
)
export type Schedule = Static<typeof Schedule>

export const Hours = defineMessage({
  name: 'weekly_hours.Hours',
  proto: new URL('./weekly-hours.proto', import.meta.url),
  body: Schedule
})
