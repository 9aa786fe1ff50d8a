import { timestamp } from '../../kernel/base/clock.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { type Explainer, type ExplainStep, explainSlot } from '../rules/exports.ts'
import { reasons } from './fields.ts'
import { closedBy, isExpired, loadTimes } from './states.ts'
import { nextChange } from './weekly-hours.ts'

/** Explains if the rule is open now, and until when. */
export const explains = explainSlot.fillWith(
  ({ clock }: Pick<Kernel, 'clock'>): Explainer => ({
    async explain({ rule }, em) {
      const [times] = await loadTimes([rule.rule_id], em)
      if (!times || !(times.notBefore ?? times.expiresAt ?? times.schedule)) return []
      const now = clock.now()
      const stop = (reason: string, text: string): ExplainStep[] => [
        { kind: 'schedule', id: rule.rule_id, verdict: 'stop', reason, text }
      ]
      if (isExpired(times, now))
        return stop(
          reasons.expired,
          `the rule expired at ${timestamp(times.expiresAt ?? now)}: set a later expires_at`
        )
      const closed = closedBy(times, now)
      if (closed !== null) return stop(reasons.outside, `the rule is closed at this time: ${closed}`)
      const ends = [times.expiresAt, times.schedule && nextChange(times.schedule, now)].filter(
        end => end != null
      )
      const text =
        ends.length === 0 ? 'the rule is open' : `the rule is open until ${timestamp(Math.min(...ends))}`
      return [{ kind: 'schedule', id: rule.rule_id, verdict: 'pass', reason: null, text }]
    }
  })
)
