// What rules adds to users: a field of the row, and what goes when a user does.
import { Type } from 'typebox'
import type { Removal, RowField } from '../users/exports.ts'
import { Rule } from './entities.ts'
import type { Rules } from './rules.ts'

export const ruleCount: RowField = {
  key: 'rule_count',
  schema: Type.Integer({ minimum: 0, description: 'Of any state.' }),
  defaultValue: 0,
  async load(userIds, em) {
    const where = { owner: { $in: [...userIds] } }
    return new Map(Object.entries(await em.countBy(Rule, 'owner', { where })))
  }
}

export const ownersRules = ({ rules }: { readonly rules: Rules }): Removal => ({
  key: 'removed_rule_ids',
  remove: ({ id: owner }, em) => rules.removeAll({ owner }, em, 'cut')
})
