import { defineSlot } from '../slot.ts'

/** SQL that repeats on a restored store what was revoked after its backup. No plugin runs on that store yet. */
export interface Revocation {
  readonly table: string // the statement is skipped where a store has no such table
  readonly sql: string // the lost store is attached as `old`; `?` is the time, Unix ms
  readonly title?: string // printed before the `name`s that the statement returns: 'deleted grants of'
  /** Runs without the lost store, too: what it deletes may have been revoked or used since. */
  readonly isUnconditional?: true
}

/** Read by commands: fill it with bare values. */
export const revocationSlot = defineSlot<Revocation>('kernel.revocation')
