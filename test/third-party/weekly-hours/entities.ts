import { defineEntity, p, rules } from 'sluice/plugin'
import type { Schedule } from './wire.ts'

export const RuleSchedule = defineEntity({
  name: 'RuleSchedule',
  tableName: 'weekly_hours',
  properties: { rule: rules.ruleKey, schedule: p.json().$type<Schedule>() }
})
