import type { EntityManager } from '@mikro-orm/sql'
import { defineSlot } from '../../kernel/slot.ts'

/** A quota that has used `percent` of its size in the period. */
export interface Level {
  readonly userId: string
  readonly clientId: string
  readonly percent: number // 80 or 100
  readonly bytesUsed: number
  readonly monthlyBytes: number
  readonly periodEnd: number // Unix seconds
}

/** Called in the transaction in which a quota reaches a level: once for each period and level. */
export const levelSlot = defineSlot<(level: Level, em: EntityManager) => Promise<void>>('quota.level')
