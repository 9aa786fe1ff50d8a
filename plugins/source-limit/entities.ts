import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { ruleKey } from '../rules/exports.ts'

export const SourceLimit = defineEntity({
  name: 'SourceLimit',
  tableName: 'source_limit',
  properties: {
    rule: ruleKey(),
    connections: p.integer().nullable(),
    newConnections: p.integer().nullable(),
    withinSecs: p.integer().nullable()
  }
})
export type SourceLimit = InferEntity<typeof SourceLimit>
