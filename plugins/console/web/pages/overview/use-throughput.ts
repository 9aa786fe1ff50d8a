import { useEffect, useState } from 'react'
import { type Reading, rateOf, withReading } from '../../parts/chart/points.ts'
import {
  bucketsOf,
  type Choice,
  type History,
  stepOf,
  useTrafficHistory
} from '../traffic/traffic-history.ts'
import type { Summary } from './use-summary.ts'

/**
 * Returns the bytes per second in and out of all visible rules. Before there are two readings, it is the average of the last
 * full minute; null while that is unknown, too.
 */
export function useThroughput(
  { bytes_in, bytes_out }: Summary,
  readAt: number,
  of: Omit<Choice, 'range'>
): readonly number[] | null {
  const [readings, setReadings] = useState<readonly Reading[]>([])
  const { data: history } = useTrafficHistory({ ...of, range: 'day' })
  useEffect(() => {
    setReadings(last =>
      last.at(-1)?.at === readAt ? last : withReading(last, { at: readAt, totals: [bytes_in, bytes_out] })
    )
  }, [bytes_in, bytes_out, readAt])
  return rateOf(readings) ?? (history ? lastMinute(history) : null)
}

function lastMinute(history: History): readonly number[] | null {
  const at = bucketsOf(history).at(-1)
  const last = history.samples.find(({ ts }) => ts === at)
  return last ? [last.bytes_in / stepOf(history), last.bytes_out / stepOf(history)] : null
}
