import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { ruleKey } from '../rules/exports.ts'

export const Balance = defineEntity({
  name: 'Balance',
  tableName: 'balance',
  properties: { rule: ruleKey(), algorithm: p.string().length(17) }
})
export type Balance = InferEntity<typeof Balance>
