// In-memory effects of changes. They run after the commit: a change can be retried, and parts of it rolled back.
import type { EntityManager } from '@mikro-orm/sql'

const callsOf = new WeakMap<object, (() => void)[]>() // by open transaction

/** Calls `work` after the commit, before `change` returns. Never calls it if the change, or this part of it, is rolled back. */
export function afterCommit(em: EntityManager, work: () => unknown): void {
  noted(em.getTransactionContext<object>()).push(work)
}

/** Returns the calls to make after the commit. A rollback to a savepoint removes those that were added since. */
export function noted(transaction: object | undefined): (() => void)[] {
  if (!transaction) throw new TypeError('there is no change')
  const calls = callsOf.get(transaction) ?? []
  callsOf.set(transaction, calls)
  return calls
}
