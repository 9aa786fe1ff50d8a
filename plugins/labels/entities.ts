import { defineEntity, p } from '@mikro-orm/core'

export type Kind = 'client' | 'user' | 'grant' | 'rule' | 'link'

/** Has ids instead of foreign keys: slots delete the labels with the records of other plugins. */
export const Label = defineEntity({
  name: 'Label',
  tableName: 'labels',
  indexes: [{ name: 'labels_value_index', properties: ['kind', 'key', 'value', 'recordId'] }],
  properties: {
    kind: p.string().length(8).$type<Kind>().primary(),
    recordId: p.string().length(32).primary(),
    key: p.string().length(317).primary(),
    value: p.string().length(63),
    setAt: p.bigint('number') // ms since 1970, UTC
  }
})
