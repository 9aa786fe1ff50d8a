import { defineEntity, p, rules } from 'sluice/plugin'
import type { Schedule } from './wire.ts'

export const RuleSchedule = defineEntity({
  name: 'RuleSchedule',
  tableName: 'schedule',
  properties: { rule: rules.ruleKey, schedule: p.json().$type<Schedule>() }
})
