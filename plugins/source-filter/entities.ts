import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { ruleKey } from '../rules/exports.ts'

/** Sources that a rule allows and denies, one column per field. Entries can name lists. */
export const SourceFilter = defineEntity({
  name: 'SourceFilter',
  tableName: 'source_filter',
  properties: {
    rule: ruleKey(),
    allow: p.json().$type<readonly string[]>().nullable(),
    deny: p.json().$type<readonly string[]>().nullable()
  }
})
export type SourceFilter = InferEntity<typeof SourceFilter>

/** A named list that rules share; `packed` is the form of packed-prefixes.ts, in base64. */
export const SourceList = defineEntity({
  name: 'SourceList',
  tableName: 'source_filter_list',
  properties: {
    name: p.string().length(64).primary(),
    packed: p.text(),
    bytes: p.integer(), // of `packed`
    entryCount: p.integer(),
    updatedAt: p.bigint('number')
  }
})
export type SourceList = InferEntity<typeof SourceList>
