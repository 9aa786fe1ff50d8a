import { useState } from 'react'
import type { Reply } from '../../../api/call.ts'
import { useEvents } from '../../../api/use-events.ts'
import {
  gapAt,
  type Point,
  type Reading,
  rateOf,
  withPoint,
  withReading
} from '../../../parts/chart/points.ts'
import type { Rule } from '../queries.ts'

export type Stats = Reply<'GET /v1/rules/{rule_id}/stats'>

interface RuleStats {
  readonly stats: Stats | null
  readonly readings: readonly Reading[]
  readonly speed: readonly Point[]
  readonly connections: readonly Point[]
  readonly isRemoved: boolean
}

const nothing: RuleStats = { stats: null, readings: [], speed: [], connections: [], isRemoved: false }
const gapSecs = 12 // a little more than two events of the stream

/** Streams the counters of a rule, every 5 s. While its client is offline, the charts have a gap. */
export function useRuleStats({ rule_id, client_id, listen_port_end }: Rule, isOffline: boolean): RuleStats {
  const [live, setLive] = useState(nothing)
  const wanted = new URLSearchParams({
    per_target: 'true',
    ...(listen_port_end !== null && { per_port: 'true' }),
    ...(client_id === null && { per_client: 'true' })
  })
  useEvents<Stats>(`/v1/rules/${rule_id}/stats/stream?${wanted}`, ['stats', 'removed'], (stats, name) =>
    setLive(before =>
      name === 'removed' ? { ...before, isRemoved: true } : addStats(before, stats, isOffline)
    )
  )
  return live
}

function addStats(before: RuleStats, stats: Stats, isOffline: boolean): RuleStats {
  const now = Date.now()
  const at = now / 1000
  if (isOffline)
    return {
      ...before,
      stats,
      readings: [],
      speed: withPoint(before.speed, gapAt(at, 2), gapSecs),
      connections: withPoint(before.connections, gapAt(at, 1), gapSecs)
    }
  const readings = withReading(before.readings, { at: now, totals: [stats.bytes_in, stats.bytes_out] })
  const rates = rateOf(readings)
  return {
    ...before,
    stats,
    readings,
    speed: rates === null ? before.speed : withPoint(before.speed, { at, values: rates }, gapSecs),
    connections: withPoint(
      before.connections,
      { at, values: [stats.active_connections + stats.active_flows] },
      gapSecs
    )
  }
}
