// The rule field `weekly_hours`, which may change while the rule runs.
import { defineCode, definePlugin, Fault, rules } from 'sluice/plugin'
import { RuleSchedule } from './entities.ts'
import { WeeklyHours0001 } from './migrations/0001-weekly-hours.ts'
import { capability, Hours, key, Schedule } from './wire.ts'

const invalid = defineCode('validation.weekly_hours', 400, 3)
const missing = defineCode('validation.weekly_hours_missing', 400, 3)

function refuse(field: string, why: string): never {
  throw new Fault(invalid, `${field} ${why}`, { details: { field, reason: 'weekly_hours' } })
}

function isTimeZone(timeZone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone }) !== null
  } catch {
    return false
  }
}

const field = rules.ruleField({
  key,
  change: 'hot',
  updateEmpty: missing,
  body: Schedule,
  requires: { capability, refusal: rules.fieldUnsupported },
  message: Hours,
  parse(schedule) {
    const { time_zone, windows } = schedule
    if (!isTimeZone(time_zone)) refuse(`/${key}/time_zone`, `${time_zone} is unknown; "UTC" is a time zone`)
    const backward = windows.findIndex(({ from, to }) => from >= to)
    if (backward >= 0) refuse(`/${key}/windows/${backward}`, 'ends before it begins; make it two windows')
    return schedule
  },
  async check() {},
  async save(rule, schedule, em) {
    await em.upsert(RuleSchedule, { rule, schedule })
  },
  async clear(rule, em) {
    await em.nativeDelete(RuleSchedule, { rule })
  },
  async load(ids, em) {
    const rows = await em.find(RuleSchedule, { rule: { $in: [...ids] } })
    return new Map(rows.map(({ rule, schedule }) => [rule, schedule]))
  },
  encode: schedule => schedule
})

export default definePlugin({
  name: 'weekly-hours',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { rules: '^1.0.0' },
  codes: [invalid, missing],
  store: { entities: [RuleSchedule], migrations: [{ name: '0001-weekly-hours', class: WeeklyHours0001 }] },
  fills: [field],
  messages: [Hours]
})
