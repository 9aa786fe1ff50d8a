// The server half. The field can change while the rule runs.
import { defineCode, definePlugin, Fault, rules } from 'sluice/plugin'
import { field } from './field.ts'

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

const weeklyHours = rules.ruleField({
  ...field,
  change: 'hot',
  updateEmpty: missing,
  parse(schedule) {
    const { time_zone, windows } = schedule
    if (!isTimeZone(time_zone))
      refuse(
        `/${field.key}/time_zone`,
        `${time_zone} is not a time zone; give an IANA name such as "Europe/Paris"`
      )
    const backward = windows.findIndex(({ from, to }) => from >= to)
    if (backward >= 0) refuse(`/${field.key}/windows/${backward}`, 'ends before it starts; use two windows')
    return schedule
  }
})

export default definePlugin({
  name: 'weekly-hours',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { rules: '^1.0.0' },
  codes: [invalid, missing],
  fills: [weeklyHours]
})
