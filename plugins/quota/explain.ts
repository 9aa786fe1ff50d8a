import { timestamp } from '../../kernel/base/clock.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { type Explainer, explainSlot } from '../rules/exports.ts'
import { Quota } from './entities.ts'
import { toRow } from './quota-reader.ts'

/** Explains the quota of the rule's owner. */
export const explains = explainSlot.fillWith(
  ({ clock }: Kernel): Explainer => ({
    async explain({ rule: { owner: userId }, clientId }, em) {
      const quota = await em.findOne(Quota, { userId, clientId })
      if (!quota) return []
      const { bytes_used, monthly_bytes, period_end, exhausted } = toRow(quota, '', clock.now())
      const step = { kind: 'quota', id: `${userId}/${clientId}` } as const
      const text = `${bytes_used} of ${monthly_bytes} bytes of ${userId} are used, until ${timestamp(period_end * 1000)}`
      if (!exhausted) return [{ ...step, verdict: 'pass', reason: null, text }]
      return [
        { ...step, verdict: 'stop', reason: 'traffic_quota_exhausted', text: `the quota is used up: ${text}` }
      ]
    }
  })
)
