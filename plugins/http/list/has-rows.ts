import type { EntityManager } from '@mikro-orm/sql'
import type { Kernel } from '../../../kernel/plugin.ts'

interface Table {
  readonly meta: { readonly tableName: string }
}

/** Returns a function that tells if a table has rows. It asks the store again only after a change of the table. */
export function openHasRows(
  store: Pick<Kernel['store'], 'remembered'>,
  { meta: { tableName } }: Table
): (em: EntityManager) => Promise<boolean> {
  const hasRows = store.remembered([tableName], async (_, em) => {
    const found = await em.execute(`select 1 from ${tableName} limit 1`)
    return found.length > 0
  })
  return em => hasRows('', em)
}
