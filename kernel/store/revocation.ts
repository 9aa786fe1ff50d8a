import { defineSlot } from '../slot.ts'

/** SQL that repeats, on a restored store, revocations after its backup. It runs before any plugin. */
export interface Revocation {
  readonly table: string // the statement is skipped if the store lacks this table
  readonly sql: string // the lost store is attached as `old`; `?` is the time, Unix ms
  readonly title?: string // precedes the returned `name`s: 'deleted grants of'
  /** Also runs without the lost store: it deletes rows that may have been revoked or used since the backup. */
  readonly isUnconditional?: true
}

/** Read by commands: fill it with bare values. */
export const revocationSlot = defineSlot<Revocation>('kernel.revocation')
