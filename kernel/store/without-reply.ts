import type { EntityManager } from '@mikro-orm/sql'

/** Options that send an `insert` or `nativeUpdate` without waiting. Ignore its result; if it fails, the change fails. */
export function withoutReply(em: EntityManager): { readonly ctx?: never } {
  const transaction: unknown = em.getTransactionContext()
  if (!(transaction instanceof Object && 'unanswered' in transaction)) return {} // SQLite answers at once
  return { ctx: transaction.unanswered as never }
}
