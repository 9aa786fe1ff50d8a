// The order in which rules of one port open: out of order, a connection could go to the wrong rule.
import type { EntityManager } from '@mikro-orm/sql'
import type { ManagedObject } from '../../kernel/control/managed-objects.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { Rule } from './entities.ts'
import { portSharingSlot } from './slots.ts'

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
