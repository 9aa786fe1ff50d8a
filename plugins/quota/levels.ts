import type { EntityManager } from '@mikro-orm/sql'
import type { SlotReader } from '../../kernel/slot.ts'
import type { Quota } from './entities.ts'
import { levelSlot } from './exports.ts'
import { currentPeriod, netUsage } from './usage.ts'

const levels = [80, 100] as const

/** Calls the fillers of `quota.level` for each newly reached level of the period, and sets `levelNotified`. */
export async function notifyLevels(
  quota: Quota,
  { nowMs, filled }: { readonly nowMs: number; readonly filled: SlotReader },
  em: EntityManager
): Promise<Quota> {
  const { userId, clientId, monthlyBytes, levelNotified } = quota
  const bytesUsed = netUsage(quota)
  const reached = levels.filter(
    percent => bytesUsed >= (monthlyBytes * percent) / 100 && percent > (levelNotified ?? 0)
  )
  const { end: periodEnd } = currentPeriod(quota, nowMs)
  for (const percent of reached)
    for (const { value: onLevel } of filled(levelSlot))
      await onLevel({ userId, clientId, percent, bytesUsed, monthlyBytes, periodEnd }, em)
  return { ...quota, levelNotified: reached.at(-1) ?? levelNotified ?? null }
}
