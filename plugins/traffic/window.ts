// Parses a query into a window of samples.
import { timestamp } from '../../kernel/base/clock.ts'
import { defineCode, Fault, invalidTimeRange } from '../../kernel/base/errors.ts'

export const invalidBucket = defineCode('invalid_bucket', 400, 3)
export const outOfRetention = defineCode('quota_bucket_out_of_retention', 422, 3)

type Bucket = '1m' | '1h'

const daySecs = 86_400
export const bucketSecs: Readonly<Record<Bucket, number>> = { '1m': 60, '1h': 3600 }
export const retentionSecs: Readonly<Record<Bucket, number>> = { '1m': 7 * daySecs, '1h': 90 * daySecs }

/** Hours are visible one minute after their end, because reports may be late. */
const lateReportSecs = 60

export interface Query {
  readonly from: number
  readonly to: number
  readonly bucket?: Bucket
}

export interface Window {
  readonly bucket: Bucket
  readonly spanSecs: number
  /** from <= ts < to, Unix seconds. */
  readonly from: number
  readonly to: number
}

export function parseWindow({ from, to, bucket: given }: Query, nowSecs: number): Window {
  if (from >= to) throw new Fault(invalidTimeRange, 'from must be before to; both are Unix seconds')
  const fitsMinutes = to - from <= daySecs && from >= nowSecs - retentionSecs['1m']
  const bucket = given ?? (fitsMinutes ? '1m' : '1h')
  const oldest = nowSecs - retentionSecs[bucket]
  if (from < oldest)
    throw new Fault(
      outOfRetention,
      `samples of ${bucket} are kept for ${retentionSecs[bucket] / daySecs} days: from must be ${oldest} ` +
        `(${timestamp(oldest * 1000)}) or later${bucket === '1m' ? ', or ask for 1h' : ''}`
    )
  const spanSecs = bucketSecs[bucket]
  const end = bucket === '1h' ? Math.floor((nowSecs - lateReportSecs) / spanSecs) * spanSecs : to
  return { bucket, spanSecs, from, to: Math.min(to, end) }
}
