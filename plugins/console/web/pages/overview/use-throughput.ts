import { useEffect, useState } from 'react'
import { type Reading, rateOf, withReading } from '../../parts/chart/points.ts'
import type { Summary } from './use-summary.ts'

/** Returns the bytes per second in and out of all visible rules; null until there are two readings. */
export function useThroughput({ bytes_in, bytes_out }: Summary, readAt: number): readonly number[] | null {
  const [readings, setReadings] = useState<readonly Reading[]>([])
  useEffect(() => {
    setReadings(last =>
      last.at(-1)?.at === readAt ? last : withReading(last, { at: readAt, totals: [bytes_in, bytes_out] })
    )
  }, [bytes_in, bytes_out, readAt])
  return rateOf(readings)
}
