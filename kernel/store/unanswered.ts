import type { EntityManager } from '@mikro-orm/sql'

/** Options by which a change sends an `insert` or `nativeUpdate` and goes on: what it returns says nothing; if it fails, so does the change. */
export function unanswered(em: EntityManager): { readonly ctx?: never } {
  const transaction: unknown = em.getTransactionContext()
  if (!(transaction instanceof Object && 'unanswered' in transaction)) return {} // a store that is a file answers at once
  return { ctx: transaction.unanswered as never }
}
