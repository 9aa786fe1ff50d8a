// What a quota's row says at a time: pure, so that reading, booking and telling the agent agree.
import type { CommittedBytes } from '../stats/exports.ts'
import type { Quota } from './entities.ts'
import { type Period, periodOf } from './period.ts'

type Standing = Pick<Quota, 'used' | 'credit' | 'monthlyBytes'>

export const bytesUsedOf = ({ used, credit }: Pick<Standing, 'used' | 'credit'>): number => used - credit

/** A clock that goes back does not bring a period back. */
export const currentPeriod = ({ anchor, periodStart }: Quota, nowMs: number): Period =>
  periodOf(anchor, Math.max(Math.floor(nowMs / 1000), periodStart))

/** The row as it stands now: a period that is over has taken usage and credit along. */
export function rolledOver(quota: Quota, nowMs: number): Quota {
  const { start } = currentPeriod(quota, nowMs)
  if (start === quota.periodStart) return quota
  const anew = { periodStart: start, used: 0, credit: 0, exhaustedAt: null, levelTold: null }
  return withExhaustion({ ...quota, ...anew }, start * 1000)
}

/** After a change: exhausted from this moment on, or from an earlier one, or not. */
export const withExhaustion = (quota: Quota, nowMs: number): Quota => ({
  ...quota,
  exhaustedAt: bytesUsedOf(quota) < quota.monthlyBytes ? null : (quota.exhaustedAt ?? nowMs)
})

/** From when on bytes count, Unix seconds. */
export const countedSince = ({ periodStart, createdAt }: Quota): number =>
  Math.max(periodStart, Math.floor(createdAt / 1000))

const spanSecs = { minute: 60, hour: 3600 } as const

/**
 * What is booked now, of the quota as it stands now. A span counts whole where its end does: the agent, which opens
 * the period by its own clock, counts the same.
 */
export function withCommitted(quota: Quota, differences: readonly CommittedBytes[], nowMs: number): Quota {
  const since = countedSince(quota)
  const added = differences
    .filter(({ startSecs, span }) => startSecs + spanSecs[span] > since)
    .reduce((sum, { bytesIn, bytesOut }) => sum + bytesIn + bytesOut, 0)
  return withExhaustion({ ...quota, used: quota.used + added }, nowMs)
}
