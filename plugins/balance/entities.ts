import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { ruleKey } from '../rules/exports.ts'

export const Balance = defineEntity({
  name: 'Balance',
  tableName: 'balance',
  properties: { rule: ruleKey(), algorithm: p.string().length(17) }
})
export type Balance = InferEntity<typeof Balance>

/** What else a rule with a balance says; each column is a field of its own. */
export const BalanceOptions = defineEntity({
  name: 'BalanceOptions',
  tableName: 'balance_options',
  properties: {
    rule: ruleKey(),
    slowConnectMs: p.integer().nullable(),
    slowStartSecs: p.integer().nullable(),
    sourcePrefix: p.integer().nullable()
  }
})
export type BalanceOptions = InferEntity<typeof BalanceOptions>
