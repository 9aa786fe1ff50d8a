import type { EntityManager } from '@mikro-orm/sql'
import { defineSlot } from '../../kernel/slot.ts'

/** A quota with at least `percent` of its size used in the period. */
export interface Level {
  readonly userId: string
  readonly clientId: string
  readonly percent: number // 80 or 100
  readonly bytesUsed: number
  readonly monthlyBytes: number
  readonly periodEnd: number // Unix seconds
}

/** Called once per period and level, in the transaction that makes a quota reach the level. */
export const levelSlot = defineSlot<(level: Level, em: EntityManager) => Promise<void>>('quota.level')
