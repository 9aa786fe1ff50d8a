// What a change does in memory when it is committed: its body may run again, and a part of it may be undone.
import type { EntityManager } from '@mikro-orm/sql'

const callsOf = new WeakMap<object, (() => void)[]>() // of a transaction that is under way

/** Calls `work` once the change of this `em` is committed, before `change` returns; never if it, or this part of it, is undone. */
export function afterCommit(em: EntityManager, work: () => unknown): void {
  noted(em.getTransactionContext<object>()).push(work)
}

/** Returns what is to be called when the transaction is committed; what undoes a part of it takes away what that has added. */
export function noted(transaction: object | undefined): (() => void)[] {
  if (!transaction) throw new TypeError('there is no change')
  const calls = callsOf.get(transaction) ?? []
  callsOf.set(transaction, calls)
  return calls
}
