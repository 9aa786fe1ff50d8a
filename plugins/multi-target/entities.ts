import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { ruleKey } from '../rules/exports.ts'

export const HealthInterval = defineEntity({
  name: 'HealthInterval',
  tableName: 'multi_target_health_intervals',
  properties: { rule: ruleKey, secs: p.integer() }
})
export type HealthInterval = InferEntity<typeof HealthInterval>
