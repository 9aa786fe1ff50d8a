// Pure functions over the usage of a quota. The API, the ledger and the messages to the agent share them.
import type { CommittedBytes } from '../stats/exports.ts'
import type { Quota } from './entities.ts'
import { firstOfMonth, type Period, periodAt } from './period.ts'

export function newQuota(
  ids: Pick<Quota, 'userId' | 'clientId'>,
  anchor: number | undefined,
  nowMs: number
): Quota {
  const secs = Math.floor(nowMs / 1000)
  const begin = anchor ?? firstOfMonth(secs)
  const terms = {
    monthlyBytes: 0,
    anchor: begin,
    holdSecs: 0,
    enforced: false,
    instanceId: null,
    createdAt: nowMs,
    updatedAt: nowMs
  }
  return { ...ids, ...terms, ...noUsage(periodAt(begin, secs)) }
}

const noUsage = ({ start }: Period) => ({
  periodStart: start,
  used: 0,
  credit: 0,
  exhaustedAt: null,
  levelNotified: null
})

export const netUsage = ({ used, credit }: Pick<Quota, 'used' | 'credit'>): number => used - credit

/** Returns the period at `nowMs`. Periods never go back, even if the clock does. */
export const currentPeriod = ({ anchor, periodStart }: Quota, nowMs: number): Period =>
  periodAt(anchor, Math.max(Math.floor(nowMs / 1000), periodStart))

/** Returns the quota in its current period. A new period begins without usage or credit. */
export function rollOver(quota: Quota, nowMs: number): Quota {
  const period = currentPeriod(quota, nowMs)
  if (period.start === quota.periodStart) return quota
  return withExhaustion({ ...quota, ...noUsage(period) }, period.start * 1000)
}

/** Sets `exhaustedAt` to now if the quota has just become exhausted, and to null if it is not. */
export const withExhaustion = (quota: Quota, nowMs: number): Quota => ({
  ...quota,
  exhaustedAt: netUsage(quota) < quota.monthlyBytes ? null : (quota.exhaustedAt ?? nowMs)
})

/**
 * Bytes count after this time, in Unix seconds. If the clock was set back to before the period, all new bytes
 * count in that period.
 */
export const countedSince = ({ periodStart, createdAt }: Quota, nowMs: number): number =>
  Math.min(Math.max(periodStart, Math.floor(createdAt / 1000)), Math.floor(nowMs / 1000))

const spanSecs = { minute: 60, hour: 3600 } as const

/**
 * Adds committed bytes to a quota in its current period. A minute or hour counts in the period of its end, as on the
 * agent.
 */
export function withCommitted(quota: Quota, committed: readonly CommittedBytes[], nowMs: number): Quota {
  const since = countedSince(quota, nowMs)
  const added = committed
    .filter(({ startSecs, span }) => startSecs + spanSecs[span] > since)
    .reduce((sum, { bytesIn, bytesOut }) => sum + bytesIn + bytesOut, 0)
  const used = Math.min(Number.MAX_SAFE_INTEGER, quota.used + added) // it is sent to the agent as an integer
  return withExhaustion({ ...quota, used }, nowMs)
}
