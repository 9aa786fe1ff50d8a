// Rules of one port never open in the wrong order: a name would go where it should not.
import type { EntityManager } from '@mikro-orm/sql'
import type { ManagedObject } from '../../kernel/control/managed-objects.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { Rule } from './entities.ts'
import { portSharingSlot } from './exports.ts'

export const openOrder =
  (filled: SlotReader) =>
  async (rows: readonly ManagedObject[], em: EntityManager): Promise<readonly ManagedObject[]> => {
    const [sharing] = filled(portSharingSlot)
    if (!sharing) return rows
    const ranks = await sharing.value.ranks(
      await em.find(Rule, { id: { $in: rows.map(({ id }) => id) } }),
      em
    )
    const rankOf = ({ id }: ManagedObject): number => ranks.get(id) ?? 0
    return rows.toSorted((a, b) => rankOf(a) - rankOf(b))
  }
