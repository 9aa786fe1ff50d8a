import type { EntityManager } from '@mikro-orm/sql'
import type { Log } from '../../kernel/base/log.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { withoutVeto } from '../http/exports.ts'
import type { Quota } from './entities.ts'
import { levelSlot } from './exports.ts'
import { currentPeriod, netUsage } from './usage.ts'

const levels = [80, 100] as const

/** Calls the fillers of `quota.level` for each newly reached level of the period, and sets `levelNotified`. They cannot prevent it. */
export async function notifyLevels(
  quota: Quota,
  { nowMs, filled, log }: { readonly nowMs: number; readonly filled: SlotReader; readonly log: Log },
  em: EntityManager
): Promise<Quota> {
  const { userId, clientId, monthlyBytes, levelNotified } = quota
  const bytesUsed = netUsage(quota)
  const reached = levels.filter(
    percent => bytesUsed >= (monthlyBytes * percent) / 100 && percent > (levelNotified ?? 0)
  )
  const { end: periodEnd } = currentPeriod(quota, nowMs)
  for (const percent of reached)
    for (const { by: plugin, value: onLevel } of filled(levelSlot))
      await withoutVeto(
        em,
        em => onLevel({ userId, clientId, percent, bytesUsed, monthlyBytes, periodEnd }, em),
        error => {
          const message = `plugin ${plugin} failed to handle that a quota reached ${percent} %`
          log.error('quota.listener_failed', message, { user: userId, client: clientId, plugin, error })
        }
      )
  return { ...quota, levelNotified: reached.at(-1) ?? levelNotified ?? null }
}
