// What rules adds to users: a field of the row, and what goes when a user does.
import { Type } from 'typebox'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Removal, RowField } from '../users/slots.ts'
import { Rule } from './entities.ts'
import type { Rules } from './rules.ts'

export const ruleCount: RowField = {
  key: 'rule_count',
  schema: Type.Integer({ minimum: 0, description: 'Of any state.' }),
  otherwise: 0,
  async load(userIds, em) {
    const where = { owner: { $in: [...userIds] } }
    return new Map(Object.entries(await em.countBy(Rule, 'owner', { where })))
  }
}

export const ownersRules = ({
  rules,
  control
}: Pick<Kernel, 'control'> & { readonly rules: Rules }): Removal => ({
  key: 'removed_rule_ids',
  async remove({ id: owner }, em) {
    const removed = await rules.removeAll({ owner }, em, 'cut')
    const clientIds = new Set(removed.map(({ clientId }) => clientId))
    return {
      ids: removed.map(({ ruleId }) => ruleId),
      after() {
        for (const clientId of clientIds) control.held.wake(clientId)
      }
    }
  }
})
