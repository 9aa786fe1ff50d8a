import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { ruleKey } from '../rules/exports.ts'

export const SniPattern = defineEntity({
  name: 'SniPattern',
  tableName: 'sni_patterns',
  properties: { rule: ruleKey, pattern: p.string().length(255) }
})
export type SniPattern = InferEntity<typeof SniPattern>

export const SniFallback = defineEntity({
  name: 'SniFallback',
  tableName: 'sni_fallbacks',
  properties: { rule: ruleKey }
})
