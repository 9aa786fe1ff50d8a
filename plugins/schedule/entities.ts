import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { ruleKey } from '../rules/exports.ts'
import type { Hours } from './fields.ts'

const time = () => p.bigint('number').nullable() // ms since 1970, UTC

/** The times of a rule, one column per field. */
export const RuleTimes = defineEntity({
  name: 'RuleTimes',
  tableName: 'schedule',
  properties: {
    rule: ruleKey(),
    notBefore: time(),
    expiresAt: time().index('schedule_expires_at_index'),
    schedule: p.json().$type<Hours>().nullable(),
    atEnd: p.string().length(5).$type<'keep' | 'drain' | 'cut'>().nullable()
  }
})
export type RuleTimes = InferEntity<typeof RuleTimes>
