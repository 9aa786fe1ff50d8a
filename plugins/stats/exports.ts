import type { EntityManager } from '@mikro-orm/sql'
import { defineSlot } from '../../kernel/slot.ts'

/** Payload bytes that were delivered, and are now booked for the first time. */
export interface CommittedBytes {
  readonly clientId: string
  readonly owner: string
  readonly ruleId: string
  /** Start of the span in which they were delivered: Unix seconds of the server's clock. */
  readonly startSecs: number
  readonly span: 'minute' | 'hour'
  readonly bytesIn: number
  readonly bytesOut: number
}

/** To be said once the transaction has been committed. */
export type AfterCommit = () => void

type Sink = (differences: readonly CommittedBytes[], em: EntityManager) => Promise<readonly AfterCommit[]>

/** Who else keeps books of bytes: in the ledger's transaction, so that none counts twice or forgets. */
export const committedSlot = defineSlot<Sink>('stats.committed')
