import type { EntityManager } from '@mikro-orm/sql'
import { defineSlot } from '../../kernel/slot.ts'

/** A quota of whose period so much is used. */
export interface Level {
  readonly userId: string
  readonly clientId: string
  readonly percent: number // 80 or 100
  readonly bytesUsed: number
  readonly monthlyBytes: number
  readonly periodEnd: number // Unix seconds
}

/** Told in the transaction in which a quota reaches a level: once a period and level, whatever is forgiven later. */
export const levelSlot = defineSlot<(level: Level, em: EntityManager) => Promise<void>>('quota.level')
