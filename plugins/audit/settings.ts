import { Type } from 'typebox'

export const keys = Type.Object({
  audit_retention_days: Type.Integer({
    minimum: 1,
    maximum: 3650,
    default: 90,
    description: 'Older entries are deleted.'
  }),
  audit_max_rows: Type.Integer({
    minimum: 1,
    maximum: 100_000_000,
    default: 1_000_000,
    description: 'Beyond this, entries are deleted: denials first, then the oldest.'
  })
})
