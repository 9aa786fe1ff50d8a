// The rule fields not_before, expires_at, schedule and at_end, which may change while the rule runs.
import type { EntityManager } from '@mikro-orm/sql'
import { type Static, type TSchema, Type } from 'typebox'
import { timestamp } from '../../kernel/base/clock.ts'
import { defineCode, type ErrorCode, Fault } from '../../kernel/base/errors.ts'
import { closed } from '../../kernel/http/schema.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Message } from '../../kernel/wire/message.ts'
import { type FieldCall, fieldUnsupported, type HotField, ruleField } from '../rules/exports.ts'
import { RuleTimes } from './entities.ts'
import type { Expiry } from './expiry.ts'
import { formatOf, type Hours } from './schedule.ts'
import { AtEnd, capability, ExpiresAt, keys, maxWindows, NotBefore, WeeklyHours } from './wire.ts'

export const invalidSchedule = defineCode('validation.schedule', 400, 3)
export const invalidTimeZone = defineCode('validation.time_zone', 400, 3)
export const expiresInPast = defineCode('validation.expires_in_past', 400, 3)
export const scheduleMissing = defineCode('validation.schedule_missing', 400, 3)
export const codes = [invalidSchedule, invalidTimeZone, expiresInPast, scheduleMissing]

export interface Deps extends Kernel {
  readonly expiry: Expiry
}

const refusal = (code: ErrorCode, field: string, reason: string, why: string): Fault =>
  new Fault(code, `${field} ${why}`, { details: { field, reason } })

type Column = 'notBefore' | 'expiresAt' | 'schedule' | 'atEnd'

/** Stores the field in its column. `V` is its value there. */
function column<V>(name: Column, saved: (deps: Deps) => void = () => {}) {
  const set = (rule: string, value: V | null, em: EntityManager) =>
    em.upsert(RuleTimes, { rule, [name]: value } as never)
  return {
    save: async (rule: string, value: V, em: EntityManager, { deps }: FieldCall<Deps>) => {
      await set(rule, value, em)
      saved(deps)
    },
    clear: async (rule: string, em: EntityManager) => {
      await set(rule, null, em)
    },
    async load(ids: readonly string[], em: EntityManager): Promise<ReadonlyMap<string, V>> {
      const rows = await em.find(RuleTimes, { rule: { $in: [...ids] } })
      return new Map(rows.flatMap(row => (row[name] == null ? [] : [[row.rule, row[name] as V] as const])))
    }
  }
}

type Parts<B extends TSchema, W extends TSchema> = Pick<
  HotField<B, W, Deps>,
  'key' | 'body' | 'message' | 'parse' | 'check' | 'save' | 'clear' | 'load' | 'encode' | 'absent'
>

const timeField = <B extends TSchema, W extends TSchema>(parts: Parts<B, W>) =>
  ruleField<B, W, Deps>({
    ...parts,
    change: 'hot',
    unlessGiven: 'stays',
    updateEmpty: scheduleMissing,
    errors: codes,
    requires: { capability, refusal: fieldUnsupported }
  })

/** A field with an instant: RFC 3339 in requests, ms in the store and on the wire. */
function instant(
  key: string,
  name: 'notBefore' | 'expiresAt',
  more: {
    readonly description: string
    readonly message: Message<typeof NotBefore.body>
    readonly saved?: (deps: Deps) => void
    readonly check?: (ms: number, deps: Deps) => void
    readonly parse?: (ms: number, body: Readonly<Record<string, unknown>>) => void
  }
) {
  const stored = column<number>(name, more.saved)
  return timeField({
    key,
    body: Type.String({
      format: 'date-time',
      maxLength: 64,
      code: invalidSchedule.code,
      description: more.description,
      examples: ['2099-01-01T00:00:00Z']
    }),
    message: more.message,
    parse(text, _rule, body) {
      const ms = Date.parse(text)
      if (!(ms >= 0)) throw refusal(invalidSchedule, `/${key}`, 'format', `${text} is no time since 1970`)
      more.parse?.(ms, body)
      return timestamp(ms)
    },
    async check(text, _rule, _em, { deps }) {
      more.check?.(Date.parse(text), deps)
    },
    save: (rule, text, em, call) => stored.save(rule, Date.parse(text), em, call),
    clear: stored.clear,
    load: async (ids, em) =>
      new Map([...(await stored.load(ids, em))].map(([id, ms]) => [id, timestamp(ms)])),
    encode: text => ({ at_ms: Date.parse(text) })
  })
}

const notBefore = instant(keys.notBefore, 'notBefore', {
  description: 'The rule is closed until then (RFC 3339).',
  message: NotBefore
})

const expiresAt = instant(keys.expiresAt, 'expiresAt', {
  description: 'The rule is closed from then on (RFC 3339), and removed expired_rules_keep_secs later.',
  message: ExpiresAt,
  saved: ({ expiry }) => expiry.reconsider(),
  check(ms, { clock }) {
    if (ms > clock.now()) return
    throw refusal(
      expiresInPast,
      `/${keys.expiresAt}`,
      'past',
      `${timestamp(ms)} is past; give a later time, or remove the rule`
    )
  },
  parse(ms, body) {
    const start = body[keys.notBefore]
    if (typeof start !== 'string' || !(Date.parse(start) >= ms)) return
    throw refusal(
      invalidSchedule,
      `/${keys.expiresAt}`,
      'range',
      `is not after /${keys.notBefore}: the rule would never open`
    )
  }
})

const Time = (description: string) =>
  Type.String({ pattern: '^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$', description, examples: ['08:00'] })

export const Schedule = closed(
  {
    time_zone: Type.String({
      maxLength: 64,
      code: invalidTimeZone.code,
      description: 'IANA name.',
      examples: ['Europe/Paris']
    }),
    windows: Type.Array(
      closed({
        days: Type.Array(
          Type.Union(
            (['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const).map(day => Type.Literal(day))
          ),
          { minItems: 1, maxItems: 7, description: 'mon to sun.', examples: [['mon', 'fri']] }
        ),
        from: Time('Local time at which the window begins.'),
        to: Type.String({ ...Time('Local time at which it ends, at most 24:00.'), examples: ['18:00'] })
      }),
      {
        minItems: 1,
        maxItems: maxWindows,
        code: invalidSchedule.code,
        description: `1 to ${maxWindows}; one past midnight is two.`
      }
    )
  },
  { code: invalidSchedule.code, description: 'Weekly hours: outside of them the rule is closed.' }
)

const schedule = timeField({
  key: keys.schedule,
  body: Type.Unsafe<Hours>(Schedule),
  message: WeeklyHours,
  parse(given) {
    const { time_zone: zone, windows } = given
    if (!isTimeZone(zone))
      throw refusal(
        invalidTimeZone,
        `/${keys.schedule}/time_zone`,
        'unknown',
        `${zone} is no IANA time zone; Europe/Paris and UTC are some`
      )
    const never = windows.findIndex(({ from, to }) => from >= to)
    if (never >= 0)
      throw refusal(
        invalidSchedule,
        `/${keys.schedule}/windows/${never}`,
        'range',
        `never opens: \`to\` must be later than \`from\`; write one past midnight as two`
      )
    return given
  },
  async check() {},
  ...column<Hours>('schedule'),
  encode: given => given as Static<typeof WeeklyHours.body>
})

function isTimeZone(zone: string): boolean {
  if (!/^[A-Za-z]/.test(zone)) return false // Intl takes offsets, too: they have no rules
  try {
    return formatOf(zone) !== null
  } catch {
    return false
  }
}

const atEnd = timeField({
  key: keys.atEnd,
  body: Type.Unsafe<'keep' | 'drain' | 'cut'>(
    Type.Union(
      ['keep', 'drain', 'cut'].map(mode => Type.Literal(mode)),
      {
        description: 'What becomes of live connections when the rule closes by its times.',
        examples: ['drain']
      }
    )
  ),
  absent: 'drain',
  message: AtEnd,
  parse: mode => (mode === 'drain' ? null : mode),
  async check() {},
  ...column<'keep' | 'drain' | 'cut'>('atEnd'),
  encode: mode => ({ mode })
})

export const fields = [notBefore, expiresAt, schedule, atEnd]
