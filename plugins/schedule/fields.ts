// The rule fields not_before, expires_at, schedule and at_end.
import type { Static } from 'typebox'
import { Type } from '../../agent/wire/field-schema.ts'
import type { DeclaredField } from '../../agent/wire/rule-field.ts'
import { defineCode } from '../../kernel/base/errors.ts'

export const invalidSchedule = defineCode('validation.schedule', 400, 3)
export const invalidTimeZone = defineCode('validation.time_zone', 400, 3)

const capability = { id: 'rule.schedule', since: '2.1.0' }

/** Why a rule is closed, on the agent and in its record. */
export const reasons = { expired: 'expired', outside: 'outside_schedule' } as const

const instant = (description: string) =>
  Type.String({
    format: 'date-time',
    maxLength: 64,
    code: invalidSchedule.code,
    description,
    examples: ['2099-01-01T00:00:00Z']
  })

/** Milliseconds since 1970, by the server's time. */
const Instant = Type.Object({ at_ms: Type.Integer({ minimum: 0, maximum: 8_640_000_000_000_000 }) })
export type Instant = typeof Instant

export const notBefore = {
  key: 'not_before',
  capability,
  body: instant('The rule is closed until then (RFC 3339).'),
  sent: Instant
} satisfies DeclaredField

export const expiresAt = {
  key: 'expires_at',
  capability,
  body: instant('The rule is closed from then on (RFC 3339), and removed expired_rules_keep_secs later.'),
  sent: Instant
} satisfies DeclaredField

const Time = (description: string, example: string) =>
  Type.String({
    pattern: '^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$',
    maxLength: 5,
    description,
    examples: [example]
  })

export const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
const Day = Type.Union([
  Type.Literal('mon'),
  Type.Literal('tue'),
  Type.Literal('wed'),
  Type.Literal('thu'),
  Type.Literal('fri'),
  Type.Literal('sat'),
  Type.Literal('sun')
])

const maxWindows = 32

const Hours = Type.Object(
  {
    time_zone: Type.String({
      maxLength: 64,
      code: invalidTimeZone.code,
      description: 'IANA name.',
      examples: ['Europe/Paris']
    }),
    windows: Type.Array(
      Type.Object(
        {
          days: Type.Array(Day, {
            minItems: 1,
            maxItems: 7,
            description: 'mon to sun.',
            examples: [['mon', 'fri']]
          }),
          from: Time('Local time when the window opens.', '08:00'),
          to: Time('Local time when it closes, at most 24:00.', '18:00')
        },
        { additionalProperties: false }
      ),
      {
        minItems: 1,
        maxItems: maxWindows,
        description: `1 to ${maxWindows}; write hours past midnight as two windows.`
      }
    )
  },
  { code: invalidSchedule.code, description: 'Weekly hours; the rule is closed outside them.' }
)
export type Hours = Static<typeof Hours>

export const schedule = { key: 'schedule', capability, body: Hours } satisfies DeclaredField

export const atEnd = {
  key: 'at_end',
  capability,
  body: Type.Union([Type.Literal('keep'), Type.Literal('drain'), Type.Literal('cut')], {
    description: 'What happens to live connections when the rule closes by its times.',
    examples: ['drain']
  })
} satisfies DeclaredField
