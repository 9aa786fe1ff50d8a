import { Type } from 'typebox'
import { invalidTimeRange, notOwner } from '../../kernel/base/errors.ts'
import { defineList } from '../http/exports.ts'
import { ruleNotFound } from '../rules/exports.ts'
import type { Journal } from './journal.ts'
import { EntryRow, Query } from './schema.ts'

interface Deps {
  readonly journal: Journal
}

const list = defineList({
  url: '/v1/rules/:rule_id/journal',
  action: 'rule.journal',
  access: 'user',
  summary: 'Lists the events of a rule and their causes.',
  description: 'Newest first: states, failovers, targets, limits, quotas, its edge host, and changes.',
  schema: () => ({
    params: Type.Object({
      rule_id: Type.String({ description: 'ULID of a rule.', examples: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NB'] })
    }),
    query: Query,
    row: EntryRow,
    errors: [ruleNotFound, notOwner, invalidTimeRange]
  }),
  run: ({ journal }: Deps, { params, query, principal }) => journal.list(params.rule_id, query, principal)
})

export const routes = [list]
