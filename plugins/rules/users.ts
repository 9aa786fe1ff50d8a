// Rules in the row of a user, and their removal with the user.
import { Type } from 'typebox'
import type { Removal, RowField } from '../users/exports.ts'
import { Rule } from './entities.ts'
import type { Rules } from './service.ts'

export const ruleCount: RowField = {
  key: 'rule_count',
  schema: Type.Integer({ minimum: 0, description: 'In any state.' }),
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
