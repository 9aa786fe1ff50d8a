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

/** Samples with from <= ts < to, Unix seconds. */
export interface Span {
  readonly spanSecs: number
  readonly from: number
  readonly to: number
}

export interface Window extends Span {
  readonly bucket: Bucket
}

export function parseWindow({ from, to, bucket: given }: Query, nowSecs: number): Window {
  requireOrder(from, to)
  const fitsMinutes = to - from <= daySecs && from >= nowSecs - retentionSecs['1m']
  const bucket = given ?? (fitsMinutes ? '1m' : '1h')
  requireRetained(bucket, from, nowSecs)
  const spanSecs = bucketSecs[bucket]
  const end = bucket === '1h' ? Math.floor((nowSecs - lateReportSecs) / spanSecs) * spanSecs : to
  return { bucket, spanSecs, from, to: Math.min(to, end) }
}

/** Returns the spans to add up: whole hours, and the minutes at both ends while they are kept. */
export function parseTopWindow({ from, to }: Pick<Query, 'from' | 'to'>, nowSecs: number): readonly Span[] {
  requireOrder(from, to)
  requireRetained('1h', from, nowSecs)
  const hour = bucketSecs['1h']
  const oldestMinute = nowSecs - retentionSecs['1m']
  const firstHour = from >= oldestMinute ? Math.ceil(from / hour) * hour : from
  const lastHour = Math.floor(to / hour) * hour
  const hoursEnd = lastHour >= oldestMinute ? lastHour : to
  const minutes = bucketSecs['1m']
  if (firstHour >= hoursEnd && from >= oldestMinute) return [{ spanSecs: minutes, from, to }]
  const spans = [
    { spanSecs: minutes, from, to: firstHour },
    { spanSecs: hour, from: firstHour, to: hoursEnd },
    { spanSecs: minutes, from: hoursEnd, to }
  ]
  return spans.filter(span => span.from < span.to)
}

/** Returns the hours that a window touches: targets have no minutes. */
export const hoursOf = (spans: readonly Span[]): readonly Span[] => {
  const hour = bucketSecs['1h']
  const from = Math.min(...spans.map(span => span.from))
  return [
    { spanSecs: hour, from: Math.floor(from / hour) * hour, to: Math.max(...spans.map(span => span.to)) }
  ]
}

function requireOrder(from: number, to: number): void {
  if (from >= to) throw new Fault(invalidTimeRange, 'from must be before to; both are Unix seconds')
}

function requireRetained(bucket: Bucket, from: number, nowSecs: number): void {
  const oldest = nowSecs - retentionSecs[bucket]
  if (from < oldest)
    throw new Fault(
      outOfRetention,
      `samples of ${bucket} are kept for ${retentionSecs[bucket] / daySecs} days: from must be ${oldest} ` +
        `(${timestamp(oldest * 1000)}) or later${bucket === '1m' ? ', or ask for 1h' : ''}`
    )
}
