import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { ruleKey } from '../rules/exports.ts'

export const Amplification = defineEntity({
  name: 'Amplification',
  tableName: 'amplification',
  properties: { rule: ruleKey(), ratio: p.integer(), provenAfter: p.integer() }
})
export type Amplification = InferEntity<typeof Amplification>
