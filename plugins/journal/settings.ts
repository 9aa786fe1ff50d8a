import { Type } from 'typebox'

export const keys = Type.Object({
  journal_retention_days: Type.Integer({
    minimum: 1,
    maximum: 3650,
    default: 30,
    hot: true,
    description: 'Older entries of the journals of rules are deleted.'
  }),
  journal_max_entries: Type.Integer({
    minimum: 10,
    maximum: 100_000,
    default: 1000,
    hot: true,
    description:
      'Entries of one rule, of one client, and of one owner on a client; beyond it the oldest are deleted.'
  })
})
