import { defineEntity, p, rules } from 'sluice/plugin'

export const Expiry = defineEntity({
  name: 'Expiry',
  tableName: 'expiry',
  properties: { rule: rules.ruleKey, at: p.bigint('number').index('expiry_at_index') } // ms since 1970
})
