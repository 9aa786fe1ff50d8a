// Shared by both halves: the keys, the capability and the messages of the fields.
import { Type } from 'typebox'
import { type Capability, defineMessage } from '../../kernel/wire/message.ts'
import { days } from './schedule.ts'

const proto = new URL('./schedule.proto', import.meta.url)

export const keys = {
  notBefore: 'not_before',
  expiresAt: 'expires_at',
  schedule: 'schedule',
  atEnd: 'at_end'
} as const

export const capability: Capability = { id: 'rule.schedule', since: '2.1.0' }

/** Why a rule is closed, on the agent and in its record. */
export const reasons = { expired: 'expired', outside: 'outside_schedule' } as const

export const maxWindows = 32
const Ms = Type.Integer({ minimum: 0, maximum: 8_640_000_000_000_000 })
const Time = Type.String({ pattern: '^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$', maxLength: 5 })
const Day = Type.Union(days.map(day => Type.Literal(day)))

export const NotBefore = defineMessage({
  name: 'sluice.schedule.NotBefore',
  proto,
  body: Type.Object({ at_ms: Ms })
})

export const ExpiresAt = defineMessage({
  name: 'sluice.schedule.ExpiresAt',
  proto,
  body: Type.Object({ at_ms: Ms })
})

export const WeeklyHours = defineMessage({
  name: 'sluice.schedule.WeeklyHours',
  proto,
  body: Type.Object({
    time_zone: Type.String({ maxLength: 64 }),
    windows: Type.Array(
      Type.Object({ days: Type.Array(Day, { minItems: 1, maxItems: 7 }), from: Time, to: Time }),
      { minItems: 1, maxItems: maxWindows }
    )
  })
})

export const AtEnd = defineMessage({
  name: 'sluice.schedule.AtEnd',
  proto,
  body: Type.Object({
    mode: Type.Union([Type.Literal('keep'), Type.Literal('drain'), Type.Literal('cut')])
  })
})

export const messages = [NotBefore, ExpiresAt, WeeklyHours, AtEnd]
