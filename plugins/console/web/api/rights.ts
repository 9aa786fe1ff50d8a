// The rights of the signed-in user, as the server judges them by role. Pages hide what would be refused.
import { type Me, useMe } from './me.ts'

/**
 * `seesAll`: what belongs to others. `managesAll`: clients, and rules and limits of everybody. `managesUsers`: also grants and
 * settings.
 */
export type Right = 'changesRules' | 'seesAll' | 'managesAll' | 'managesUsers'

const rights: Readonly<Record<Me['role'], readonly Right[]>> = {
  user: ['changesRules'],
  viewer: ['seesAll'],
  operator: ['changesRules', 'seesAll', 'managesAll'],
  superadmin: ['changesRules', 'seesAll', 'managesAll', 'managesUsers']
}

export const hasRight = ({ role }: Pick<Me, 'role'>, right: Right): boolean => rights[role].includes(right)

/** False until the user is known. */
export function useRight(right: Right): boolean {
  const me = useMe().data
  return me != null && hasRight(me, right)
}
