// What becomes of rules when users change: of their own, and of those that they placed for others.
import type { EntityManager } from '@mikro-orm/sql'
import type { User } from '../../kernel/identity/entities.ts'
import type { Removal } from '../users/exports.ts'
import type { openReconciliation } from './reconciliation.ts'
import type { openRemoval } from './remove.ts'
import { type AfterCommit, runAll } from './rule-states.ts'

type Operations = Pick<ReturnType<typeof openReconciliation>, 'refresh'> &
  Pick<ReturnType<typeof openRemoval>, 'removeAll'>

export function openUserChanges({ refresh, removeAll }: Operations) {
  /** Deletes the rules of a user together with the user. Those placed for others become theirs alone. */
  const userRemoval: Removal = {
    key: 'removed_rule_ids',
    async remove({ id }, em) {
      const { ids, afterCommit } = await removeAll({ owner: id }, em, 'cut')
      const placed: { id: string }[] = await em.execute('select id from rules where placed_by = ?', [id])
      await em.execute('update rules set placed_by = owner where placed_by = ?', [id])
      const refreshed = await refresh({ id: { $in: placed.map(rule => rule.id) } }, em)
      return { ids, afterCommit: () => runAll([afterCommit, refreshed]) }
    }
  }

  /** From a demotion on, grants limit what the user placed for others: without a grant, no target is allowed. */
  const roleChanged = ({ id }: User, em: EntityManager): Promise<AfterCommit> => refresh({ placedBy: id }, em)

  return { userRemoval, roleChanged }
}
