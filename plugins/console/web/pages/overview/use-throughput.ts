import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import { call, type Reply } from '../../api/call.ts'
import { type Me, useMe } from '../../api/me.ts'
import { hasRight } from '../../api/rights.ts'
import { gapAt, type Point, type Reading, rateOf, withPoint, withReading } from '../../parts/chart/points.ts'
import type { Summary } from './use-summary.ts'

const historySecs = 900
const gapSecs = 12
const everyMs = 3000 // between two points of the chart

interface Throughput {
  readonly readings: readonly Reading[]
  readonly speed: readonly Point[]
  readonly connections: readonly Point[]
  readonly now: readonly number[] | null
}

const nothing: Throughput = { readings: [], speed: [], connections: [], now: null }

/** Returns the throughput of all visible rules: stored history by minute, then live values. */
export function useThroughput(summary: Summary, readAt: number) {
  const before = useHistory()
  const [live, setLive] = useState(nothing)
  useEffect(() => setLive(last => addReading(last, summary, readAt)), [summary, readAt])
  const speed = useMemo(() => join(before, live.speed), [before, live.speed])
  return { speed, connections: live.connections, now: live.now }
}

function join(before: readonly Point[], live: readonly Point[]): readonly Point[] {
  const last = before.at(-1)
  const first = live[0]
  const gap = last && first && first.at - last.at > 90 ? [gapAt(last.at + 31, 2)] : []
  return [...before, ...gap, ...live]
}

function addReading(
  last: Throughput,
  { bytes_in, bytes_out, active_connections }: Summary,
  readAt: number
): Throughput {
  if (last.readings.at(-1)?.at === readAt) return last
  const readings = withReading(last.readings, { at: readAt, totals: [bytes_in, bytes_out] })
  const now = rateOf(readings)
  const at = readAt / 1000
  const due = (points: readonly Point[]): boolean => at - (points.at(-1)?.at ?? 0) >= everyMs / 1000
  return {
    readings,
    now,
    speed: now && due(last.speed) ? withPoint(last.speed, { at, values: now }, gapSecs) : last.speed,
    connections: due(last.connections)
      ? withPoint(last.connections, { at, values: [active_connections] }, gapSecs)
      : last.connections
  }
}

function useHistory(): readonly Point[] {
  const me = useMe().data
  const { data } = useQuery({
    queryKey: ['history', me?.user_id],
    enabled: me != null,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchInterval: false,
    queryFn: () => readHistory(me as Me)
  })
  return useMemo(() => (data ? toMinutePoints(data) : []), [data])
}

function readHistory(me: Me): Promise<Reply<'GET /v1/traffic/global'>> {
  const to = Math.floor(Date.now() / 1000)
  const query = { from: to - historySecs, to, bucket: '1m' } as const
  if (hasRight(me, 'seesAll')) return call('GET /v1/traffic/global', { query })
  return call('GET /v1/users/{user_id}/traffic', { path: { user_id: me.user_id }, query })
}

/** Converts samples of a minute to rates at its middle. A minute without a sample is a gap. */
function toMinutePoints({ samples }: Pick<Reply<'GET /v1/traffic/global'>, 'samples'>): readonly Point[] {
  const ended = samples.filter(({ ts }) => ts + 60 <= Date.now() / 1000)
  return ended.flatMap(({ ts, bytes_in, bytes_out }, i) => {
    const last = ended[i - 1]
    const gap = last && ts - last.ts > 60 ? [gapAt(last.ts + 61, 2)] : []
    return [...gap, { at: ts + 30, values: [bytes_in / 60, bytes_out / 60] }]
  })
}
