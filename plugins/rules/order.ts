// Rules of one port never open in the wrong order: a name would go where it should not.
import type { EntityManager } from '@mikro-orm/sql'
import type { HeldRow } from '../../kernel/control/held.ts'
import type { FilledBy } from '../../kernel/slot.ts'
import { Rule } from './entities.ts'
import { sharingSlot } from './slots.ts'

export const openOrder =
  (filled: FilledBy) =>
  async (rows: readonly HeldRow[], em: EntityManager): Promise<readonly HeldRow[]> => {
    const [sharing] = filled(sharingSlot)
    if (!sharing) return rows
    const ranks = await sharing.value.ranks(
      await em.find(Rule, { id: { $in: rows.map(({ id }) => id) } }),
      em
    )
    const rankOf = ({ id }: HeldRow): number => ranks.get(id) ?? 0
    return rows.toSorted((a, b) => rankOf(a) - rankOf(b))
  }
