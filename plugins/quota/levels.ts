import type { EntityManager } from '@mikro-orm/sql'
import type { SlotReader } from '../../kernel/slot.ts'
import type { Quota } from './entities.ts'
import { levelSlot } from './exports.ts'
import { bytesUsedOf, currentPeriod } from './usage.ts'

const levels = [80, 100] as const

/** Calls the fillers of `quota.level` for each level reached for the first time in the period, and sets `levelTold`. */
export async function notifyLevels(
  quota: Quota,
  { nowMs, filled }: { readonly nowMs: number; readonly filled: SlotReader },
  em: EntityManager
): Promise<Quota> {
  const { userId, clientId, monthlyBytes, levelTold } = quota
  const bytesUsed = bytesUsedOf(quota)
  const reached = levels.filter(
    percent => bytesUsed >= (monthlyBytes * percent) / 100 && percent > (levelTold ?? 0)
  )
  const { end: periodEnd } = currentPeriod(quota, nowMs)
  for (const percent of reached)
    for (const { value: onLevel } of filled(levelSlot))
      await onLevel({ userId, clientId, percent, bytesUsed, monthlyBytes, periodEnd }, em)
  return { ...quota, levelTold: reached.at(-1) ?? levelTold ?? null }
}
