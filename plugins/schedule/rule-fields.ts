// The server half of the fields. They may change while the rule runs.
import type { EntityManager } from '@mikro-orm/sql'
import { timestamp } from '../../kernel/base/clock.ts'
import { defineCode, type ErrorCode, Fault } from '../../kernel/base/errors.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { parseTime } from '../http/exports.ts'
import { type FieldCall, ruleField } from '../rules/exports.ts'
import { RuleTimes } from './entities.ts'
import type { Expiry } from './expiry.ts'
import {
  atEnd,
  days,
  expiresAt,
  type Hours,
  type Instant,
  invalidSchedule,
  invalidTimeZone,
  notBefore,
  schedule
} from './fields.ts'
import { formatFor } from './weekly-hours.ts'

const expiresInPast = defineCode('validation.expires_in_past', 400, 3)
export const codes = [invalidSchedule, invalidTimeZone, expiresInPast]

export interface Deps extends Kernel {
  readonly expiry: Expiry
}

const refusal = (code: ErrorCode, field: string, reason: string, why: string): Fault =>
  new Fault(code, `${field} ${why}`, { details: { field, reason } })

/** All fields share a table: states need them together, and expiry needs an index. */
const shared = { change: 'hot', unlessGiven: 'stays', errors: codes } as const

type Column = 'notBefore' | 'expiresAt' | 'schedule' | 'atEnd'

/** Stores a field in its column, as a value of type `V`. */
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

/** Stores RFC 3339 text as milliseconds. */
function instantColumn(name: 'notBefore' | 'expiresAt', saved?: (deps: Deps) => void) {
  const { save, clear, load } = column<number>(name, saved)
  return {
    save: (rule: string, text: string, em: EntityManager, call: FieldCall<Deps>) =>
      save(rule, Date.parse(text), em, call),
    clear,
    load: async (ids: readonly string[], em: EntityManager) =>
      new Map([...(await load(ids, em))].map(([id, ms]) => [id, timestamp(ms)]))
  }
}

function parseInstant(text: string, key: string): number {
  const ms = parseTime(text)
  if (ms !== null && ms >= 0) return ms
  const why = `must be a time from 1970 to 9999 in UTC, such as 2026-12-31T18:00:00Z, got ${text}`
  throw refusal(invalidSchedule, `/${key}`, 'format', why)
}

const notBeforeField = ruleField<typeof notBefore.body, Instant, Deps>({
  ...notBefore,
  ...shared,
  ...instantColumn('notBefore'),
  parse: text => timestamp(parseInstant(text, notBefore.key)),
  encode: text => ({ at_ms: Date.parse(text) })
})

const expiresAtField = ruleField<typeof expiresAt.body, Instant, Deps>({
  ...expiresAt,
  ...shared,
  ...instantColumn('expiresAt', ({ expiry }) => expiry.reconsider()),
  parse(text, _rule, { [notBefore.key]: start }) {
    const ms = parseInstant(text, expiresAt.key)
    if (typeof start !== 'string' || !(Date.parse(start) >= ms)) return timestamp(ms)
    const why = `must be after /${notBefore.key}, or the rule never opens`
    throw refusal(invalidSchedule, `/${expiresAt.key}`, 'range', why)
  },
  async check(text, _rule, _em, { deps: { clock } }) {
    if (Date.parse(text) > clock.now()) return
    const why = `must be in the future, got ${text}; give a later time, or remove the rule`
    throw refusal(expiresInPast, `/${expiresAt.key}`, 'past', why)
  },
  encode: text => ({ at_ms: Date.parse(text) })
})

const scheduleField = ruleField({
  ...schedule,
  ...shared,
  ...column<Hours>('schedule'),
  parse(given) {
    const { time_zone: zone, windows } = given
    if (!isTimeZone(zone)) {
      const why = `must be an IANA time zone such as Europe/Paris or UTC, got ${zone}`
      throw refusal(invalidTimeZone, `/${schedule.key}/time_zone`, 'unknown', why)
    }
    const never = windows.findIndex(({ from, to }) => from >= to)
    if (never < 0) return { time_zone: inUsualCase(zone), windows: windows.map(sortDays) }
    const why = 'never opens: `to` must be later than `from`; write hours past midnight as two windows'
    throw refusal(invalidSchedule, `/${schedule.key}/windows/${never}`, 'range', why)
  }
})

const atEndField = ruleField({
  ...atEnd,
  ...shared,
  ...column<'keep' | 'drain' | 'cut'>('atEnd'),
  absent: 'drain',
  parse: mode => (mode === 'drain' ? null : mode)
})

export const ruleFields = [notBeforeField, expiresAtField, scheduleField, atEndField]

/** Returns the zone as the IANA writes it: `europe/paris` is valid, too. An alias stays. */
function inUsualCase(zone: string): string {
  const { timeZone } = formatFor(zone).resolvedOptions()
  return timeZone.toLowerCase() === zone.toLowerCase() ? timeZone : zone
}

const sortDays = (window: Hours['windows'][number]): Hours['windows'][number] => ({
  ...window,
  days: days.filter(day => window.days.includes(day))
})

function isTimeZone(zone: string): boolean {
  if (!/^[A-Za-z]/.test(zone)) return false // Intl also accepts offsets, but they have no rules
  try {
    return formatFor(zone) !== null
  } catch {
    return false
  }
}
